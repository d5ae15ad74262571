"""Start requests: the bodies of `POST /runs` for each kind of run that a person can start."""

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from allstop.auto.state import DecisionPolicy
from allstop.core import number_bounds
from allstop.core.board_specs import Target, TargetKind, target_in_words
from allstop.core.room_specs import TalkMode
from allstop.plans.plan_file import LARGEST_BYTES, Format
from allstop.plans.state import ErrorStrategy, PlanMode
from allstop.settings.model import Approvals

Positive: TypeAlias = Annotated[int, Meta(ge=1)]


class StartRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """The body of `POST /runs`; its tag is the kind of run."""

    @property
    def subject(self) -> str:
        """What the run is about, for a person who must approve it."""
        return ""


class StartBoard(StartRequest, frozen=True, tag="board"):
    """Start the board, or change how the running board continues."""

    mode: Literal["autopilot", "semi"] | None = None
    parallel: Annotated[int, Meta(ge=1, le=number_bounds.SLOTS)] | None = None
    count: Positive | None = None  # the most tasks to start; of the whole board, it is a sprint
    until: datetime | None = None  # start no task after this; of the whole board, it is a sprint
    budget_usd: Annotated[float, Meta(gt=0, le=number_bounds.DOLLARS)] | None = None
    tasks: tuple[str, ...] = ()  # work on these and on `prompts` only; by default on all tasks
    prompts: tuple[Annotated[str, Meta(min_length=1)], ...] = ()  # each becomes a new task
    agent: str | None = None

    @property
    def subject(self) -> str:
        return ", ".join([*self.tasks, *self.prompts])


class SprintTarget(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The end of a sprint: a number of tasks, hours, a time such as "07:00", or nothing ready."""

    type: TargetKind
    value: int | float | str | None = None


class SprintFilters(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The tasks of a sprint; empty fields take all."""

    include_operations: tuple[str, ...] = ()
    exclude_operations: tuple[str, ...] = ()
    include_tags: tuple[str, ...] = ()
    exclude_tags: tuple[str, ...] = ()


class StartSprint(StartRequest, frozen=True, tag="sprint"):
    """Start a sprint of the board; fields that are left out follow `[sprint]`."""

    target: SprintTarget | None = None
    filters: SprintFilters | None = None
    checkpoint_before: bool | None = None
    pause_on_error: bool | None = None
    pause_on_stuck: bool | None = None
    batch_review: bool | None = None
    parallel: Annotated[int, Meta(ge=1, le=number_bounds.SLOTS)] | None = None
    agent: str | None = None
    budget_usd: Annotated[float, Meta(gt=0, le=number_bounds.DOLLARS)] | None = None

    @property
    def subject(self) -> str:
        target = self.target
        return target_in_words(Target(type=target.type, value=target.value)) if target else ""


class SprintRequest(StartSprint, frozen=True, tag=False):
    """The same without its kind: a sprint that is forecast, not started."""


class StartTask(StartRequest, frozen=True, tag="task"):
    """Create a task for a prompt and start it at once."""

    prompt: Annotated[str, Meta(min_length=1)]
    agent: str | None = None

    @property
    def subject(self) -> str:
        return self.prompt


class StartRoom(StartRequest, frozen=True, tag="room"):
    """Start a session in a room's thread."""

    goal: Annotated[str, Meta(min_length=1)]
    thread: str = "default"
    mode: TalkMode = TalkMode.COLLABORATE
    agents: tuple[str, ...] = ()  # by default gpt and claude, or the first two configured
    first: str | None = None
    max_rounds: Positive | None = None
    respect_final: bool | None = None
    instead: bool = False  # end an interrupted session first

    @property
    def subject(self) -> str:
        return self.goal


class StartAuto(StartRequest, frozen=True, tag="auto"):
    """Start a Full Auto thread, which continues until its goal is reached."""

    goal: Annotated[str, Meta(min_length=1)]
    agent: str | None = None
    policy: DecisionPolicy | None = None
    approvals: Approvals | None = None

    @property
    def subject(self) -> str:
        return self.goal


class PlanOptions(
    Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    rename="camel",
    omit_defaults=True,
):
    """Settings for one plan, with the names of document 004; by default those of `[retry]`."""

    primary_agent: str | None = None
    fallback_agent: str | None = None
    error_strategy: ErrorStrategy | None = None
    max_retries: Annotated[int, Meta(ge=0, le=number_bounds.COUNT)] | None = None
    retry_base_ms: Annotated[int, Meta(ge=0, le=86_400_000)] | None = None
    max_rate_limit_retries: Annotated[int, Meta(ge=0, le=number_bounds.COUNT)] | None = None
    step_delay: Annotated[int, Meta(ge=0, le=86_400_000)] | None = None  # in milliseconds
    auto_commit: bool | None = None


class StartPlan(StartRequest, frozen=True, tag="plan"):
    """Start a plan: its steps in order, then one merge."""

    plan: Annotated[str, Meta(min_length=1, max_length=LARGEST_BYTES)]  # the text of its file
    format: Format = Format.MARKDOWN
    name: Annotated[str, Meta(max_length=200)] = "plan"
    mode: PlanMode = PlanMode.AUTOPILOT
    config: PlanOptions = PlanOptions()
    may_change: tuple[str, ...] = ()  # which tests its work may change

    @property
    def subject(self) -> str:
        return self.plan if self.name == "plan" else self.name


class StartDraft(StartRequest, frozen=True, tag="draft"):
    """Let an agent write a plan; nothing runs before a person starts it."""

    goal: Annotated[str, Meta(min_length=1)]
    agent: str | None = None
    asks: bool = True  # the agent may ask; otherwise it states assumptions

    @property
    def subject(self) -> str:
        return self.goal
