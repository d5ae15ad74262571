"""Start requests: the bodies of `POST /runs` for the board, a task, a room and Full Auto."""

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from allstop.auto.state import DecisionPolicy
from allstop.core import bounds
from allstop.core.room_specs import TalkMode
from allstop.settings.model import Approvals

Positive: TypeAlias = Annotated[int, Meta(ge=1)]


class StartRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """The body of `POST /runs`; its tag is the kind of run."""


class StartBoard(StartRequest, frozen=True, tag="board"):
    """Start the board, or change how the running board continues."""

    mode: Literal["autopilot", "semi"] | None = None
    parallel: Annotated[int, Meta(ge=1, le=bounds.SLOTS)] | None = None
    count: Positive | None = None  # the maximum number of tasks to start
    until: datetime | None = None  # start no task after this
    budget_usd: Annotated[float, Meta(gt=0, le=bounds.DOLLARS)] | None = None


class StartTask(StartRequest, frozen=True, tag="task"):
    """Create a task for a prompt and start it at once."""

    prompt: Annotated[str, Meta(min_length=1)]
    agent: str | None = None


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


class StartAuto(StartRequest, frozen=True, tag="auto"):
    """Start a Full Auto thread, which continues until its goal is reached."""

    goal: Annotated[str, Meta(min_length=1)]
    agent: str | None = None
    policy: DecisionPolicy | None = None
    approvals: Approvals | None = None
