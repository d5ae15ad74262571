"""Random specs of each kind of run. The properties and the simulation use all of `SCENARIOS`."""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from allstop.auto.pilot import AutoPilot
from allstop.board.board_pilot import BoardPilot
from allstop.board.task_pilot import TaskPilot
from allstop.core.board_specs import EDITION
from allstop.core.brakes import AtLimit, Limits
from allstop.core.context_window import CachePricing
from allstop.core.room_specs import Guards, Seat, SessionSpec, TalkMode
from allstop.core.run import Pilot
from allstop.merges.pilot import MergePilot
from allstop.plans.draft_pilot import DraftPilot
from allstop.plans.pilot import PlanPilot
from allstop.rooms.pilot import RoomPilot
from allstop.starts.pilot import StartPilot
from support.fan_out_pilot import FanOutPilot

Spec = dict[str, object]

TOKENS_A_TURN = 100
"""The token cap of every call: budgets are exact where calls are capped (K5)."""


class Scenario(NamedTuple):
    pilot: Pilot[Any]
    make: Callable[[Random, str, Sequence[str]], Spec]  # from a name and the agents


def task_spec(chance: Random, name: str, agents: Sequence[str]) -> Spec:
    spec: Spec = {
        "task": name,
        "goal": f"goal of {name}",
        "agents": chance.sample(list(agents), chance.randint(1, min(3, len(agents)))),
        "iterations": chance.randint(1, 15),
        "turn_s": chance.choice([120.0, 1800.0]),
        "idle_s": chance.choice([60.0, 600.0]),
        "max_tokens": TOKENS_A_TURN,
        "done": chance.choice(["signal", "signal", "exit"]),
    }
    if chance.random() < 0.6:
        spec["target"] = "main"
        spec["edition"] = chance.randint(1, EDITION)
        if chance.random() < 0.3:
            spec["second"] = chance.sample(list(agents), chance.randint(1, min(2, len(agents))))
            spec["second_rounds"] = chance.randint(1, 3)
        if chance.random() < 0.7:
            spec["branch"] = f"allstop/{name}"
        if chance.random() < 0.7:
            spec["checks"] = [
                {"name": f"check {n}", "run": f"make {n}", "required": chance.random() < 0.8}
                for n in range(chance.randint(1, 2))
            ]
    return spec


def fleet_spec(chance: Random, name: str, agents: Sequence[str]) -> Spec:
    refs = [f"c{number}" for number in range(chance.randint(1, 4))]
    return {
        "tasks": {ref: task_spec(chance, f"{name}.{ref}", agents) for ref in refs},
        "at_once": chance.randint(1, 3),
    }


def board_spec(chance: Random, name: str, agents: Sequence[str]) -> Spec:
    """Merges into a branch named after the board, so that boards don't share a target."""
    return {
        "target": f"main-of-{name}",
        "agents": chance.sample(list(agents), chance.randint(1, min(3, len(agents)))),
        "terms": {agent: {"max_tokens": TOKENS_A_TURN, "turn_s": 900.0} for agent in agents},
        "mode": chance.choice(["autopilot", "autopilot", "semi"]),
        "slots": chance.randint(1, 3),
        "gate": {"checks": some_checks(chance)},
        "merge": chance.random() < 0.8,
        "batch": chance.choice([1, 4, 8, 8]),
        "conflicts": chance.randint(0, 2),
        "review": chance.choice(["skip", "skip", "auto", "batch"]),
        "review_rules": [{"tag": "critical", "mode": "per-task"}],
        "errors": chance.choice([0, 1, 3]),
        "iterations": chance.randint(2, 15),
        "attempt_s": chance.choice([600.0, 3600.0]),
        "second": chance.choice([None, None, *agents]),
        "second_rounds": chance.randint(1, 3),
    }


def merge_spec(chance: Random, name: str, agents: Sequence[str]) -> Spec:
    spec: Spec = {
        "task": name,
        "target": "main",
        "message": f"Merge {name}",
        "gate": {"checks": some_checks(chance)},
        "verified": chance.choice(["", "tree"]),
    }
    return {**spec, "revert": "c"} if chance.random() < 0.3 else spec


def some_checks(chance: Random) -> list[Spec]:
    return [
        {"name": f"check {n}", "run": f"make {n}", "required": chance.random() < 0.8}
        for n in range(chance.randint(0, 2))
    ]


def auto_spec(chance: Random, name: str, agents: Sequence[str]) -> Spec:
    spec: Spec = {
        "goal": f"goal of {name}",
        "agent": chance.choice(list(agents)),
        "policy": chance.choice(["rules", "model"]),
        "review": chance.choice(["never", "end", "error", "both"]),
        "no_progress_turns": chance.randint(1, 4),
        "ask_s": chance.choice([None, 0.0, 60.0]),
        "turn_s": chance.choice([120.0, 1800.0]),
        "idle_s": chance.choice([60.0, 600.0]),
        "max_tokens": TOKENS_A_TURN,
        "merge": chance.random() < 0.7,
    }
    if spec["policy"] == "model":
        spec["decision_agent"] = chance.choice(list(agents))
    if chance.random() < 0.4:
        spec["guide"] = {
            "agent": chance.choice([None, *agents]),
            "max_tokens": TOKENS_A_TURN,
            "rehearses": chance.random() < 0.1,
        }
        spec["goal"] = chance.choice(["go", spec["goal"], "- one\n- two"])
    if chance.random() < 0.6:
        spec |= {"name": name, "target": f"main-of-{name}", "gate": {"checks": some_checks(chance)}}
    return spec


def room_spec(chance: Random, name: str, agents: Sequence[str]) -> Spec:
    return {"thread": name}


def some_session(chance: Random, number: int, agents: Sequence[str]) -> SessionSpec:
    """A valid session with caps that may be reached."""
    table = chance.sample(list(agents), chance.randint(1, len(agents)))
    return SessionSpec(
        id=f"s{number}",
        mode=chance.choice(list(TalkMode)),
        goal=chance.choice(["a tale", "bread " * 200]),
        seats=tuple(
            Seat(
                agent=agent,
                max_tokens=TOKENS_A_TURN,
                turn_s=chance.choice([60.0, 900.0]),
                idle_s=chance.choice([60.0, 600.0]),
                memory=CachePricing(),
            )
            for agent in table
        ),
        first=chance.choice(table),
        max_rounds=chance.randint(1, 6),
        respect_final=chance.random() < 0.3,
        guards=Guards(
            soft_turns=chance.choice([0, 2, 25]),
            max_turns=chance.choice([3, 12, 40]),
            max_tokens=chance.choice([200, 1000, 10_000]),
            max_minutes=chance.choice([1.0, 20.0, 300.0]),
            pause_in_circles=chance.random() < 0.2,
        ),
    )


def plan_spec(chance: Random, name: str, agents: Sequence[str]) -> Spec:
    used = chance.sample(list(agents), chance.randint(1, min(3, len(agents))))
    phases = [
        {
            "name": f"phase {phase}",
            "steps": [
                {
                    "id": f"{phase}.{number}",
                    "text": f"step {number}",
                    "check": chance.choice(["", "", "make"]),
                }
                for number in range(chance.randint(1, 3))
            ],
        }
        for phase in range(chance.randint(1, 2))
    ]
    return {
        "plan": {"phases": phases},
        "name": name,
        "target": "main",
        "agents": used,
        "terms": {agent: {"max_tokens": TOKENS_A_TURN} for agent in used},
        "mode": chance.choice(["autopilot", "autopilot", "manual", "step"]),
        "on_error": chance.choice(["retry", "retry", "skip", "abort"]),
    }


def draft_spec(chance: Random, name: str, agents: Sequence[str]) -> Spec:
    used = chance.sample(list(agents), chance.randint(1, min(3, len(agents))))
    return {
        "goal": f"goal of {name}",
        "name": name,
        "target": "main",
        "agents": used,
        "terms": {agent: {"max_tokens": TOKENS_A_TURN} for agent in used},
        "asks": chance.random() < 0.5,
        "corrections": chance.randint(0, 3),
    }


def start_spec(chance: Random, name: str, agents: Sequence[str]) -> Spec:
    return {"name": name, "request": {"kind": "board", "count": chance.randint(1, 9)}}


SCENARIOS: Mapping[str, Scenario] = {
    "board": Scenario(BoardPilot(), board_spec),
    "merge": Scenario(MergePilot(), merge_spec),
    "task": Scenario(TaskPilot(), task_spec),
    "fleet": Scenario(FanOutPilot(), fleet_spec),
    "room": Scenario(RoomPilot(), room_spec),
    "auto": Scenario(AutoPilot(), auto_spec),
    "plan": Scenario(PlanPilot(), plan_spec),
    "draft": Scenario(DraftPilot(), draft_spec),
    "start": Scenario(StartPilot(), start_spec),
}


def some_day(chance: Random) -> Limits:
    """Limits of the daily budget; half of them unlimited."""
    if chance.random() < 0.5:
        return Limits()
    return Limits(
        turns=chance.choice([None, 3, 12, 40]),
        tokens=chance.choice([None, 300, 1000, 3000]),
        time_s=chance.choice([None, None, None, 300.0]),
        at_limit=chance.choice([AtLimit.PAUSE, AtLimit.PAUSE, AtLimit.STOP]),
    )


def some_limits(chance: Random) -> Limits:
    """Limits that may be reached; children share their parent's."""
    if chance.random() < 0.5:
        return Limits()
    return Limits(
        turns=chance.choice([None, 1, 3, 12]),
        tokens=chance.choice([None, 250, 600, 1000]),
        time_s=chance.choice([None, None, 3600.0]),
        busy_s=chance.choice([None, None, 600.0]),
        at_limit=chance.choice([AtLimit.PAUSE, AtLimit.PAUSE, AtLimit.STOP]),
    )
