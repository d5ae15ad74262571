"""Full Auto runs without agents: tests pass results to the pilot directly."""

import json
from datetime import UTC, datetime, timedelta

from allstop.auto.pilot import AutoPilot
from allstop.auto.state import EDITION
from allstop.core import run
from allstop.core.events import Commanded, MoveEnded, MoveStarted, Noted, Opened
from allstop.core.moves import (
    Change,
    Excerpt,
    Failed,
    Item,
    OpenWorkspace,
    Spawn,
    Spawned,
    Survey,
    Surveyed,
    TakeTurn,
    TurnDone,
    Usage,
    Wait,
    WorkspaceOpen,
    without_prompt_text,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
DONE = "All is done.\n<promise>COMPLETE</promise>"


class AutoSteps:
    """Asks the pilot for moves and folds their results, as the drive does."""

    def __init__(self, **spec):
        self.pilot = AutoPilot()
        self.now = NOON
        self.commits = 0
        given = {
            "goal": "Write a parser.",
            "agent": "codex",
            "cooldown_s": 0.0,
            "review": "never",
            "edition": EDITION,
            "guards_files": True,
        }
        opened = Opened(at=NOON, kind="auto", spec={**given, **spec})
        self.events = [opened]
        self.run = run.begin(self.pilot, opened)
        self.prompts = []

    @property
    def state(self):
        return self.run.pilot

    @property
    def decision(self):
        return self.state.decision

    def fold(self, event):
        self.events.append(event)
        self.run = run.evolve(self.pilot, self.run, event)

    def say(self, command):
        self.fold(Commanded(at=self.now, command=command))

    def move(self):
        move = run.choose(self.pilot, self.run, self.now)
        while isinstance(move, Wait) and move.until is not None:
            self.now = move.until
            move = run.choose(self.pilot, self.run, self.now)
        return move

    def begin(self):
        move = self.move()
        if isinstance(move, OpenWorkspace):
            self.started(move)
            self.ended(WorkspaceOpen(base="base"))
            move = self.move()
        self.started(move)
        if isinstance(move, TakeTurn):
            self.prompts.append(move.prompt.whole)
        if isinstance(move, Spawn):
            self.ended(Spawned(run="r/merge1"))
        return move

    def started(self, move):
        self.fold(MoveStarted(at=self.now, id=self.run.moves + 1, move=without_prompt_text(move)))

    def ended(self, result):
        self.now += timedelta(seconds=10)
        self.fold(MoveEnded(at=self.now, id=self.run.open_move.id, result=result))

    def guidance(self, answer):
        """What the guide's model answers to the question of the next stage."""
        move = self.begin()
        assert isinstance(move, TakeTurn), move
        assert move.workspace is None
        text = answer if isinstance(answer, str) else json.dumps(answer)
        self.ended(TurnDone(text=text, thread="guide", usage=Usage(input=10)))
        return move

    def survey(self, commit="base"):
        move = self.begin()
        assert isinstance(move, Survey), move
        files = (Excerpt(path="README.md", text="# Parsnip\nA parser."),)
        self.ended(Surveyed(commit=commit, paths=("README.md", "src/"), files=files))
        return move

    def turn(self, text="Going on.", *, changes=True, items=(), tokens=100, guarded=None):
        move = self.begin()
        assert isinstance(move, TakeTurn), move
        if items:
            noted = tuple(Item(kind=kind, text=words) for kind, words in items)
            self.fold(Noted(at=self.now, id=self.run.open_move.id, items=noted))
        self.commits += changes
        change = Change(
            head=f"c{self.commits}",
            commits=self.commits,
            files=self.commits,
            guarded=guarded or {},
        )
        usage = Usage(input=tokens)
        if move.workspace is None:
            change = None
        self.ended(TurnDone(text=text, thread="t", usage=usage, change=change))
        return move

    def fail(self, kind, message="no", **more):
        self.begin()
        self.ended(Failed(kind=kind, message=message, **more))


def advice(action="continue", reason="it goes well", confidence=0.9, **more):
    return json.dumps({"action": action, "reason": reason, "confidence": confidence, **more})
