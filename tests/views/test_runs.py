"""The log line of every event and the view of every state."""

import re
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.core import run
from allstop.core.asks import Ask
from allstop.core.board_specs import BoardSpec
from allstop.core.brakes import Limits
from allstop.core.commands import Allstop, Equip, Pause, Permit, Raise, Resume, Say
from allstop.core.events import (
    Asked,
    CallReserved,
    ChildClosed,
    ChildRested,
    Closed,
    Commanded,
    Halted,
    Killed,
    MoveEnded,
    MoveStarted,
    Noted,
    Opened,
    Rested,
    ThreadOpened,
    WindowsSeen,
)
from allstop.core.gate import Check
from allstop.core.helm import Helm, Hold
from allstop.core.moves import (
    Change,
    CheckResult,
    ChecksDone,
    Deliver,
    Delivered,
    Failed,
    FailureKind,
    Finding,
    Finish,
    Item,
    Move,
    OpenWorkspace,
    Outcome,
    RunChecks,
    Spawn,
    Spawned,
    TakeTurn,
    TurnDone,
    Usage,
    Wait,
    WorkspaceOpen,
)
from allstop.core.prompt import prompt
from allstop.kinds import KINDS
from allstop.views import log, runs
from allstop.views.kind import Kind
from support.cases import for_each
from support.random_runs import SCENARIOS
from support.strategies import EVENTS, NOW, RESULTS, histories, some

HELMS = st.builds(Helm, hold=st.sampled_from(Hold))
MISCHIEF = "\x1b[31m\x1b]0;x\x07\x9b\u202e\u200b\nsecond line"
TURN = TakeTurn(agent="cli", prompt=prompt("go"))
STARTED = MoveStarted(at=NOW, id=1, move=TURN)
SPEC = {"task": "t", "goal": "g", "agents": ["cli"]}


def state_of(*events, limits=Limits()):  # noqa: B008 - it is frozen
    opened = Opened(at=NOW, kind="task", spec=SPEC, title="A title", limits=limits)
    return run.fold(SCENARIOS["task"].pilot, [opened, *events])


def kind_of(pilot):
    """The program's own kind of that name, or one for a pilot that only tests know."""
    if pilot.kind in KINDS:
        return KINDS[pilot.kind]
    kind = Kind()
    kind.pilot = pilot
    return kind


def view_of(*events, helm=Helm(), driven=True, seconds=0, queued=""):  # noqa: B008 - it is frozen
    return runs.view(
        "t",
        KINDS["task"],
        state_of(*events),
        helm=helm,
        now=NOW + timedelta(seconds=seconds),
        driven=driven,
        queued=queued,
    )


@given(EVENTS)
def test_every_event_has_its_lines(event):
    lines = log.lines(event)

    is_empty = (isinstance(event, Noted) and not event.items) or (
        isinstance(event, WindowsSeen) and not event.windows
    )
    is_empty |= isinstance(event, CallReserved)  # the call has a line when it has ended
    assert lines or is_empty
    assert all(line.at == event.at for line in lines)


@given(histories(), HELMS, st.booleans(), st.integers(0, 10**6))
def test_every_state_has_a_view(events, helm, driven, seconds):
    pilot = SCENARIOS[events[0].kind].pilot
    folded = run.fold(pilot, events)
    view = runs.view(
        "r",
        kind_of(pilot),
        folded,
        helm=helm,
        now=NOW + timedelta(seconds=seconds),
        driven=driven,
    )

    assert view.status
    takes_a_turn = re.search(r"(?<!next: )\b\w+ takes a turn$", view.reason)
    assert not (view.status == "running" and takes_a_turn and not folded.open_move)
    assert (view.outcome is not None) == (view.status == view.outcome)
    is_held = view.status in ("paused", "frozen", "stopped", "waiting", "interrupted")
    assert (view.wait is not None) >= is_held, "each wait can be changed"
    assert view.wait is None or (view.wait.on and view.wait.do.startswith("allstop "))


@given(some(Move))
def test_every_move_has_words(move):
    assert log.describe(move)


@given(RESULTS)
def test_every_result_has_words(result):
    assert log.describe_result(result)


@pytest.mark.parametrize(
    "event",
    [
        ThreadOpened(at=NOW, id=1, thread=MISCHIEF),
        Noted(at=NOW, id=1, items=(Item(kind=MISCHIEF, text=MISCHIEF),)),
        Asked(at=NOW, id=1, ask=Ask(id=MISCHIEF, text=MISCHIEF)),
        Asked(at=NOW, id=1, ask=Ask(id="1", argv=("rm", MISCHIEF))),
        MoveEnded(at=NOW, id=1, result=TurnDone(text=MISCHIEF)),
        MoveEnded(at=NOW, id=1, result=Failed(kind=FailureKind.CRASHED, message=MISCHIEF)),
        Commanded(at=NOW, command=Say(text=MISCHIEF)),
        Commanded(at=NOW, command=Permit(ask=MISCHIEF, allow=True)),
        Closed(at=NOW, outcome=Outcome.BLOCKED, note=MISCHIEF),
        ChildClosed(at=NOW, ref="c", run="r/c", outcome=Outcome.FAILED, tally={}, note=MISCHIEF),
        Opened(at=NOW, kind="task", spec={}, title=MISCHIEF),
    ],
    ids=lambda event: type(event).__name__,
)
def test_k22_no_word_of_an_agent_steers_the_terminal_that_shows_the_log(event):
    for line in log.lines(event):
        assert not set(line.text) & set("\x1b\x07\x9b\u202e\u200b\n")


@pytest.mark.parametrize(
    "said",
    ["<promise>PENDING: {}</promise>", "<promise>BLOCKED: {}</promise>"],
)
def test_k22_no_word_of_an_agent_steers_the_terminal_that_shows_where_a_run_stands(said):
    mischief = MISCHIEF.replace("\n", "")
    turn = MoveEnded(at=NOW, id=1, result=TurnDone(text=said.format(mischief)))
    asked = Asked(at=NOW, id=1, ask=Ask(id="1", text=mischief))
    closed = Closed(at=NOW, outcome=Outcome.BLOCKED, note=mischief)

    for view in (view_of(STARTED, turn), view_of(STARTED, asked), view_of(closed)):
        assert not set(view.reason) & set("\x1b\x07\x9b\u202e\u200b\n")


@pytest.mark.parametrize(
    ("events", "options", "standing"),
    [
        ([], {}, ("queued", "next: cli takes a turn", False)),
        ([], {"queued": "waits for a free slot"}, ("queued", "waits for a free slot", False)),
        ([STARTED], {"queued": "of before"}, ("running", "cli takes a turn", False)),
        (
            [Commanded(at=NOW, command=Pause())],
            {"queued": "waits for a free slot"},
            ("paused", "", False),
        ),
        ([STARTED], {}, ("running", "cli takes a turn", False)),
        ([STARTED, Commanded(at=NOW, command=Pause())], {}, ("pausing", "cli takes a turn", False)),
        ([Commanded(at=NOW, command=Pause())], {}, ("paused", "", False)),
        ([Commanded(at=NOW, command=Allstop())], {}, ("stopped", "", False)),
        (
            [Commanded(at=NOW, command=Pause())],
            {"helm": Helm(hold=Hold.STOPPED)},
            ("stopped", "", False),
        ),
        ([], {"helm": Helm(hold=Hold.FROZEN)}, ("frozen", "", False)),
        (
            [STARTED, Asked(at=NOW, id=1, ask=Ask(id="1", argv=("rm", "x")))],
            {},
            ("waiting", "asks: rm x", True),
        ),
        (
            [
                STARTED,
                MoveEnded(at=NOW, id=1, result=TurnDone(text="<promise>PENDING: how?</promise>")),
            ],
            {},
            ("waiting", "asks: how?", True),
        ),
        ([Closed(at=NOW, outcome=Outcome.DONE, note="n")], {}, ("done", "n", False)),
    ],
)
def test_f6_a_view_says_where_a_run_stands_and_whether_it_needs_somebody(events, options, standing):
    """Also that a turn which has not begun is none: it may wait for a slot."""
    view = view_of(*events, **options)

    assert (view.status, view.reason, view.needs_you) == standing


def test_p7_a_run_that_nobody_drives_says_so():
    view = view_of(STARTED, driven=False)

    assert (view.status, view.needs_you, view.driven) == ("interrupted", True, False)


@pytest.mark.parametrize(
    ("move", "words"),
    [
        (TURN, "cli takes a turn"),
        (
            RunChecks(
                checks=(Check(name="Lint", run="l"), Check(name="Tests", run="t")), workspace="w"
            ),
            "runs Lint, Tests",
        ),
        (OpenWorkspace(workspace="w", target="main"), "opens a workspace from main"),
        (Deliver(workspace="w", branch="b"), "delivers the work to b"),
        (Spawn(kind="task", ref="a", spec={}), "starts task a"),
        (Wait(reason="paused"), "waits: paused"),
        (Finish(outcome=Outcome.DONE), "ends: done"),
        (Finish(outcome=Outcome.BLOCKED, note="no key"), "ends: blocked (no key)"),
    ],
)
def test_moves_in_words(move, words):
    assert log.describe(move) == words


@for_each(
    ("result", "words"),
    [
        (TurnDone(text=""), "(no text)"),
        (TurnDone(text="Not COMPLETE"), "Not COMPLETE"),
        (
            TurnDone(text="a\nCOMPLETE\n"),
            "COMPLETE (not a signal; the format is <promise>COMPLETE</promise>)",
        ),
        (
            TurnDone(text="<promise>done</promise>"),
            "<promise>done</promise> (not a signal; the format is <promise>COMPLETE</promise>)",
        ),
        (
            TurnDone(text="BLOCKED: no key"),
            "BLOCKED: no key (not a signal; the format is <promise>BLOCKED: …</promise>)",
        ),
        (
            TurnDone(
                text="did\nit",
                usage=Usage(output=1200),
                change=Change(head="h", commits=1, files=2),
            ),
            "it · 1,200 tokens · 1 commit, 2 files changed",
        ),
        (
            ChecksDone(
                results=(
                    CheckResult(name="a", run="a", passed=True),
                    CheckResult(name="b", run="b", passed=False, code=1),
                )
            ),
            "1 of 2 passed; b: exit code 1",
        ),
        (
            ChecksDone(
                results=(
                    CheckResult(name="a", run="a", passed=True),
                    CheckResult(name="b", run="b", passed=False, code=1, required=False),
                )
            ),
            "1 of 2 passed; warning: b: exit code 1 (not required)",
        ),
        (WorkspaceOpen(base="0123456789abcdef"), "from commit 0123456789"),
        (
            WorkspaceOpen(base="0123456789abcdef", stashed=True),
            "from commit 0123456789; uncommitted changes are in its git stash",
        ),
        (
            WorkspaceOpen(base="0123456789abcdef", conflicts=("a.txt", "b.txt")),
            "from commit 0123456789; conflicts in a.txt, b.txt",
        ),
        (Delivered(branch="b", commit="0123456789abcdef"), "b is at 0123456789"),
        (Spawned(run="r/c"), "started r/c"),
        (Failed(kind=FailureKind.RATE_LIMITED), "rate limited"),
        (Failed(kind=FailureKind.CRASHED, message="boom\nbang"), "crashed: boom bang"),
    ],
)
def test_results_in_words(result, words):
    assert log.describe_result(result) == words


def test_what_people_said_in_words():
    commands = [
        Say(text="use\ntabs"),
        Permit(ask="1", allow=True),
        Permit(ask="1", allow=False),
        Raise(limits=Limits()),
        Equip(spec=BoardSpec(target="main")),
        Resume(),
        Allstop(),
    ]
    lines = [
        line.text
        for command in commands
        for line in log.lines(Commanded(at=NOW, command=command, by="anna"))
    ]

    assert lines == [
        "anna: use tabs",
        "anna: allows 1",
        "anna: denies 1",
        "anna: raises the limits",
        "anna: applies the settings",
        "anna: resume",
        "anna: allstop",
    ]


def test_k4_a_stop_receipt_in_one_line():
    halted = Halted(
        at=NOW,
        asked_at=NOW,
        by="engine",
        took_ms=41.6,
        killed=(Killed(label="a", pid=1), Killed(label="b", pid=2)),
        discarded=("a: cli takes a turn",),
    )

    assert log.receipt(halted) == (
        "stopped in 42 ms by engine: 2 process trees killed, 1 turn discarded"
    )


def test_b16_a_gate_that_fails_by_what_was_found_says_so():
    found = Finding(kind="protected", path="tests/test_a.py", fatal=True)
    ended = MoveEnded(at=NOW, id=1, result=ChecksDone(findings=(found,)))

    assert [(line.mark, line.text) for line in log.lines(ended)] == [
        ("✗", "0 of 0 passed; protected: tests/test_a.py")
    ]


@pytest.mark.parametrize(
    ("later", "words"),
    [
        (timedelta(seconds=12), "for 12 s"),
        (timedelta(minutes=5), f"until {(NOW + timedelta(minutes=5)).astimezone():%H:%M}"),
        (timedelta(days=2), f"until {(NOW + timedelta(days=2)).astimezone():%Y-%m-%d %H:%M}"),
    ],
)
def test_p5_what_waits_for_a_limit_says_when_it_tries_again(later, words):
    """P5: with the time at which it will try again."""
    until = NOW + later
    own = Rested(at=NOW, reason="every agent is at its limit", until=until)
    child = ChildRested(at=NOW, ref="T1.1", run="board/T1.1", reason=own.reason, until=until)

    assert [line.text for line in log.lines(own)] == [f"waits: {own.reason}, {words}"]
    assert [line.text for line in log.lines(child)] == [f"board/T1.1 waits: {own.reason}, {words}"]


@pytest.mark.parametrize(
    ("hold", "actions"),
    [
        (Hold.NONE, ("pause", "stop")),
        (Hold.PAUSED, ("resume",)),
        (Hold.FROZEN, ("resume", "stop")),
        (Hold.STOPPED, ("resume",)),
    ],
)
def test_u2_a_run_says_which_commands_it_accepts(hold, actions):
    assert (
        Kind().actions(None, "running" if hold is Hold.NONE else hold.value, Helm(), NOW) == actions
    )
