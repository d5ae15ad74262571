"""Who sits in a room, and under which terms."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from allstop.app.agents import registry
from allstop.app.agents.prompt_cache import memory_of
from allstop.app.board.board_spec import backoff, endurance, terms
from allstop.core.context_window import WindowSpec
from allstop.core.errors import AllstopError
from allstop.core.ids import AgentName
from allstop.core.room_specs import Guards, Seat, SessionSpec, TalkMode

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.settings.model import Settings


class Wish(NamedTuple):
    """What a person asks of a session; None leaves it to the settings."""

    goal: str
    mode: TalkMode = TalkMode.COLLABORATE
    agents: Sequence[str] = ()
    first: str | None = None
    max_rounds: int | None = None
    respect_final: bool | None = None


def session_spec(project: Project, wish: Wish) -> SessionSpec:
    """How the settings would have such a session.

    Raises:
        AllstopError: it can't be had.
    """
    settings = project.settings
    names = tuple(AgentName(name) for name in wish.agents) or usual(settings)
    _refuse(project, wish, names)
    room = settings.room
    cost = room.cost_usd
    return SessionSpec(
        id=uuid.uuid4().hex,
        mode=wish.mode,
        goal=wish.goal.strip(),
        seats=tuple(_seat(project, name) for name in names),
        first=AgentName(wish.first) if wish.first else names[0],
        max_rounds=wish.max_rounds or room.max_rounds,
        respect_final=room.respect_final if wish.respect_final is None else wish.respect_final,
        window=WindowSpec(
            policy=room.window,
            items=room.window_items,
            items_max=room.window_items_max,
            tokens=room.window_tokens,
            tokens_max=room.window_tokens_max,
        ),
        guards=Guards(
            soft_turns=room.soft_turns,
            soft_tokens=room.soft_tokens,
            max_turns=room.max_turns,
            max_tokens=room.max_tokens,
            max_minutes=float(room.max_minutes),
            cost_microusd=None if cost is None else int(cost * 1_000_000),
            pause_in_circles=room.pause_in_circles,
        ),
        backoff=backoff(project),
        endurance=endurance(project),
    )


def usual(settings: Settings) -> tuple[AgentName, ...]:
    """Who sits in a room if nobody is named: gpt and claude, or the first two there are."""
    names = tuple(AgentName(name) for name in settings.agents)
    pair = tuple(AgentName(name) for name in ("gpt", "claude") if name in settings.agents)
    return pair if len(pair) == 2 else names[:2]


def _refuse(project: Project, wish: Wish, names: tuple[AgentName, ...]) -> None:
    if not wish.goal.strip():
        raise AllstopError("there is no goal", "say what the agents are to talk about")
    for name in (*names, *([wish.first] if wish.first else [])):
        registry.known(project, name)
    if len(set(names)) < len(names):
        raise AllstopError("an agent is named twice", f"named: {', '.join(names)}")
    least = 1 if wish.mode is TalkMode.SINGLE else 2
    if len(names) < least:
        hint = f"{registry.configured(project)}; add [agents.NAME] to allstop.toml"
        raise AllstopError(f"a room needs {least} agents", hint)
    if wish.first and wish.first not in names:
        raise AllstopError(f"{wish.first!r} is not in the room", f"in it: {', '.join(names)}")


def _seat(project: Project, name: AgentName) -> Seat:
    agent = project.settings.agents[name]
    how = terms(project, agent)
    return Seat(
        agent=name,
        turn_s=how.turn_s,
        idle_s=how.idle_s,
        max_tokens=how.max_tokens,
        memory=memory_of(agent),
    )
