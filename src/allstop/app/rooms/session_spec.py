"""The spec of a room's session, from a person's request and the settings."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from allstop.app.agents import registry
from allstop.app.agents.keys import key_identity, key_name
from allstop.app.agents.prompt_cache import cache_pricing
from allstop.app.board.board_spec import agent_terms, backoff, limit_patience
from allstop.app.start_requests import StartRoom
from allstop.core.context_window import WindowSpec
from allstop.core.errors import AllstopError
from allstop.core.ids import AgentName
from allstop.core.room_specs import Guards, Seat, SessionSpec, TalkMode
from allstop.settings.loader import FILE_NAME
from allstop.settings.model import STANDARD_KEY, Agent

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.settings.model import Settings


class SessionRequest(NamedTuple):
    """A person's choices for a session; None uses the settings."""

    goal: str
    mode: TalkMode = TalkMode.COLLABORATE
    agents: Sequence[str] = ()
    first: str | None = None
    max_rounds: int | None = None
    respect_final: bool | None = None


def start_request(thread: str, spec: SessionSpec) -> StartRoom:
    """The request that starts this session later."""
    return StartRoom(
        goal=spec.goal,
        thread=thread,
        mode=spec.mode,
        agents=spec.agents,
        first=spec.first,
        max_rounds=spec.max_rounds,
        respect_final=spec.respect_final,
    )


def session_spec(project: Project, request: SessionRequest) -> SessionSpec:
    """Raises AllstopError if the goal is empty, or the agents don't fit."""
    settings = project.settings
    names = tuple(AgentName(name) for name in request.agents) or default_agents(settings)
    _validate(project, request, names)
    room = settings.room
    cost = room.cost_usd
    return SessionSpec(
        id=uuid.uuid4().hex,
        mode=request.mode,
        goal=request.goal.strip(),
        seats=tuple(_seat(project, name) for name in names),
        first=AgentName(request.first) if request.first else names[0],
        max_rounds=request.max_rounds or room.max_rounds,
        respect_final=(
            room.respect_final if request.respect_final is None else request.respect_final
        ),
        window=WindowSpec(
            policy=room.window,
            items=room.window_items,
            items_max=room.window_items_max,
            tokens=room.window_tokens,
            tokens_max=room.window_tokens_max,
            edition=2,
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
        endurance=limit_patience(project),
        edition=2,
    )


def default_agents(settings: Settings) -> tuple[AgentName, ...]:
    """The agents of a room if none is named: gpt and claude, or the first two configured."""
    names = tuple(AgentName(name) for name in settings.agents)
    pair = tuple(AgentName(name) for name in ("gpt", "claude") if name in settings.agents)
    return pair if len(pair) == 2 else names[:2]


EXAMPLE = '[agents.gpt] with driver = "openai", [agents.claude] with driver = "anthropic"'


def _how_to_add(project: Project) -> str:
    """`allstop init` is for repositories, and writes no file over another one."""
    if project.root is not None and not (project.root / FILE_NAME).exists():
        how = "`allstop init` proposes agents whose keys are set or that are installed"
    else:
        how = f"add [agents.NAME] to {FILE_NAME}, such as {EXAMPLE}"
    return f"{registry.configured_names(project)}; {how}"


def _validate(project: Project, request: SessionRequest, names: tuple[AgentName, ...]) -> None:
    if not request.goal.strip():
        hint = "say what the agents are to talk about"
        raise AllstopError("there is no goal", hint, code="goal_missing")
    if request.max_rounds is not None and request.max_rounds < 1:
        hint = "use a whole number from 1 on; Autopilot has no rounds"
        raise AllstopError("a session needs at least 1 round", hint, code="too_few_rounds")
    for name in (*names, *([request.first] if request.first else [])):
        registry.require_agent(project, name)
    listed = ", ".join(names)
    if len(set(names)) < len(names):
        raise AllstopError("an agent is named twice", f"named: {listed}", code="agent_twice")
    least = 1 if request.mode is TalkMode.SINGLE else 2
    if len(names) < least:
        raise AllstopError(
            f"a room needs {least} agents", _how_to_add(project), code="too_few_agents"
        )
    if request.first and request.first not in names:
        message = f"{request.first!r} is not in the room"
        raise AllstopError(message, f"in it: {listed}", code="agent_not_in_room")


def _seat(project: Project, name: AgentName) -> Seat:
    agent = project.settings.agents[name]
    terms = agent_terms(project, agent)
    return Seat(
        agent=name,
        turn_s=terms.turn_s,
        idle_s=terms.idle_s,
        max_tokens=terms.max_tokens,
        memory=cache_pricing(agent),
        account=_account(agent),
    )


def _account(agent: Agent) -> str:
    """A name that agents share if a limit of their provider applies to all of them."""
    if agent.driver not in STANDARD_KEY:
        return ""
    host = urlsplit(agent.base_url or "").hostname or ""
    return " ".join(filter(None, [agent.driver, host, key_identity(agent) or key_name(agent)]))
