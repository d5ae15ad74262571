"""The spec of a room's session, its notices, and the fixed texts of its prompts."""

from enum import StrEnum
from functools import lru_cache

from msgspec import Struct

from allstop.core.context_window import NO_CACHING, CachePricing, WindowSpec
from allstop.core.ids import AgentName
from allstop.core.retries import Backoff, LimitPatience

YOU = "you"
ROUTER = "router"
ALL = "all"

STOPPED = "Collaboration stopped by user (Allstop)."
CANCELED = "Collaboration canceled by user."
RUNNING = "Autopilot running. Say ‘Allstop’ to end."
SUGGESTS = "Agent suggests finish — press ALLSTOP to end or let them continue."
RETRY_HINT = "send any message to try again, or @NAME to ask another agent"
JSON_ONLY = "Return JSON only per schema—no extra text."


class TalkMode(StrEnum):
    SINGLE = "single"  # one answer, and one handoff from it
    COLLABORATE = "collaborate"  # a fixed number of rounds
    AUTOPILOT = "autopilot"  # until a person stops it


AUTOPILOT = TalkMode.AUTOPILOT


class Ending(StrEnum):
    """Why a session ended."""

    FINAL = "final"
    NO_HANDOFF = "no_handoff"
    CAP_REACHED = "cap_reached"
    MALFORMED = "malformed"
    STOPPED_BY_USER = "stopped_by_user"
    CANCELED_BY_USER = "canceled_by_user"
    EMERGENCY_CAP = "emergency_cap"
    AGENT_FAILED = "agent_failed"
    INTERRUPTED = "interrupted"


class Guards(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """Limits of a session: soft limits show a reminder, the others end it."""

    soft_turns: int = 25
    soft_tokens: int = 50_000
    max_turns: int = 200
    max_tokens: int = 200_000
    max_minutes: float = 20.0
    cost_microusd: int | None = None
    pause_in_circles: bool = False  # a session that repeats itself waits for a person


class Seat(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """One agent of a session, with the limits of its turns."""

    agent: AgentName
    turn_s: float = 600.0
    idle_s: float = 600.0
    max_tokens: int | None = None
    memory: CachePricing = NO_CACHING
    account: str = ""  # agents with the same one share its provider's limits


class SessionSpec(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    id: str
    mode: TalkMode
    goal: str
    seats: tuple[Seat, ...]  # in the order of speaking
    first: AgentName
    max_rounds: int = 6
    respect_final: bool = False
    window: WindowSpec = WindowSpec()
    guards: Guards = Guards()
    backoff: Backoff = Backoff()
    endurance: LimitPatience | None = None  # None: wait for limited agents forever
    edition: int = 1  # of the rules; from 2: a wait for each agent, and cut calls are charged

    @property
    def agents(self) -> tuple[AgentName, ...]:
        return tuple(seat.agent for seat in self.seats)

    def seat(self, agent: str) -> Seat | None:
        for seat in self.seats:
            if seat.agent == agent:
                return seat
        return None


class NoticeKind(StrEnum):
    NOTICE = "notice"
    REMINDER = "reminder"
    SUGGESTION = "suggestion"  # an agent would like to finish
    WARNING = "warning"
    ENDED = "ended"
    SUMMARY = "summary"
    CUT = "cut"  # the unfinished text of a call that a stop cut off; no agent gets it


class Notice(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A message of the room itself."""

    kind: NoticeKind
    text: str


RULES = """\
1. You are collaborating with another assistant in a turn-based session managed by a router.
2. Return only strict JSON matching the provided schema: {message, handoff?, final?}.
3. If you want the other assistant to go next, include a concise handoff with `to` and a \
one-sentence `task`.
4. If the solution is complete, set final: true and omit handoff.
5. Be concise and move the task forward each turn."""


@lru_cache(maxsize=256)
def system_prompt(agent: str, agents: tuple[AgentName, ...]) -> str:
    """Identical for all turns of an agent, so that providers can cache it."""
    others = ", ".join(other for other in agents if other != agent) or "nobody else"
    return f"{RULES}\nYour name is `{agent}`. In the room with you: {others}."


def goal_part(goal: str) -> str:
    return f"Goal: {goal}"


def round_part(mode: TalkMode, number: int, most: int | None) -> str:
    if mode is AUTOPILOT or most is None:
        return f"Round: {number} (Autopilot)"
    return f"Round {number} of {most}"


def item_part(sender: str, text: str, target: str = "") -> str:
    return f"{sender} → {target}: {text}" if target else f"{sender}: {text}"
