"""Rooms without agents: tests pass replies to the pilot directly."""

import json
from datetime import UTC, datetime, timedelta

from allstop.core import run
from allstop.core.commands import Resume, StartSession
from allstop.core.events import Commanded, MoveEnded, MoveStarted, Opened
from allstop.core.helm import Helm
from allstop.core.moves import Failed, TakeTurn, TurnDone, Usage, without_prompt_text
from allstop.core.room_specs import Guards, Seat, SessionSpec, TalkMode
from allstop.rooms.pilot import RoomPilot

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def envelope(message="hi", to=None, task="go on", final=None):
    found = {"message": message}
    if to is not None:
        found["handoff"] = {"to": to, "task": task}
    if final is not None:
        found["final"] = final
    return json.dumps(found)


def session_spec(mode=TalkMode.AUTOPILOT, agents=("gpt", "claude"), **more):
    guards = {k: more.pop(k) for k in list(more) if k in Guards.__struct_fields__}
    return SessionSpec(
        **{
            "id": "s1",
            "mode": mode,
            "goal": "Write a fairy tale.",
            "seats": tuple(Seat(agent=agent) for agent in agents),
            "first": agents[0],
            "guards": Guards(**guards),
            **more,
        }
    )


class RoomSteps:
    def __init__(self, mode=TalkMode.AUTOPILOT, agents=("gpt", "claude"), **more):
        self.pilot = RoomPilot()
        self.now = NOON
        self.events = []
        self.notices = []
        self.speakers = []
        self.prompts = []
        self.helm = Helm()
        opened = Opened(at=NOON, kind="room", spec={"thread": "default"})
        self.run = run.begin(self.pilot, opened)
        self.events.append(opened)
        self.start(session_spec(mode, agents, **more))

    @property
    def state(self):
        return self.run.pilot

    @property
    def session(self):
        return self.run.pilot.session

    def start(self, spec, **more):
        self.say(Resume())
        self.say(StartSession(session=spec, **more))

    def fold(self, event):
        self.events.append(event)
        self.run = run.evolve(self.pilot, self.run, event)
        self.notices += [(notice.kind.value, notice.text) for notice in self.state.news]

    def say(self, command):
        self.fold(Commanded(at=self.now, command=command))

    def move(self):
        return run.choose(self.pilot, self.run, self.now, self.helm)

    def begin(self):
        move = self.move()
        assert isinstance(move, TakeTurn), move
        self.prompts.append(move.prompt)
        self.fold(MoveStarted(at=self.now, id=self.run.moves + 1, move=without_prompt_text(move)))
        return move

    def end(self, result, takes_s=1.0, held_s=0.0):
        self.now += timedelta(seconds=takes_s)
        move_id = self.run.open_move.id
        self.fold(MoveEnded(at=self.now, id=move_id, result=result, held_s=held_s))

    def turn(self, text=None, takes_s=1.0, usage=None, held_s=0.0, **more):
        """One turn; whose it was."""
        move = self.begin()
        text = text if text is not None else envelope(**more)
        usage = usage if usage is not None else Usage(input=100, output=20)
        self.end(TurnDone(text=text, usage=usage), takes_s, held_s)
        self.speakers.append(move.agent)
        return move.agent

    def fail(self, kind, **more):
        self.begin()
        self.end(Failed(kind=kind, **more))

    def told(self, kind):
        return [text for notice, text in self.notices if notice == kind]

    @property
    def ending(self):
        return self.state.last.reason if self.state.last and self.session is None else None
