"""What can be begun: work on the board, one task, a talk in a room, a thread of full auto."""

from __future__ import annotations

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
    """Work on the tasks; on a board that is at work already, in this way from now on."""

    mode: Literal["autopilot", "semi"] | None = None
    parallel: Annotated[int, Meta(ge=1, le=bounds.SLOTS)] | None = None
    count: Positive | None = None  # start no more than so many
    until: datetime | None = None  # start none after this
    budget_usd: Annotated[float, Meta(gt=0, le=bounds.DOLLARS)] | None = None


class StartTask(StartRequest, frozen=True, tag="task"):
    """A task of its own for a prompt, begun at once."""

    prompt: Annotated[str, Meta(min_length=1)]
    agent: str | None = None


class StartRoom(StartRequest, frozen=True, tag="room"):
    """A session in a thread of the room."""

    goal: Annotated[str, Meta(min_length=1)]
    thread: str = "default"
    mode: TalkMode = TalkMode.COLLABORATE
    agents: tuple[str, ...] = ()  # else gpt and claude, or the first two there are
    first: str | None = None
    max_rounds: Positive | None = None
    respect_final: bool | None = None
    instead: bool = False  # of a session that was interrupted


class StartAuto(StartRequest, frozen=True, tag="auto"):
    """A thread that is kept going until its goal is reached."""

    goal: Annotated[str, Meta(min_length=1)]
    agent: str | None = None
    policy: DecisionPolicy | None = None
    approvals: Approvals | None = None
