"""F3: an unsafe thread pauses with the reason and continues after a person's review."""

import pytest

from allstop.auto.state import Action
from allstop.core.asks import Ask
from allstop.core.brakes import Tally
from allstop.core.commands import Permit, Resume, Say
from allstop.core.events import Asked, ChildClosed
from allstop.core.helm import Helm
from allstop.core.moves import (
    Change,
    ChecksDone,
    FailureKind,
    Outcome,
    RunChecks,
    Spawn,
    TakeTurn,
    TurnDone,
    Wait,
)
from allstop.core.replay import differences
from allstop.views.auto import AutoLog, decisions, describe_decision, stop_condition
from support.auto_runs import DONE, AutoSteps, advice

CHECK = {"name": "Tests", "run": "pytest"}
WORKFLOW = {".github/workflows/ci.yml": "decides what CI runs"}
CHANGES = "unsafe: the work changes .github/workflows/ci.yml, which decides what CI runs"
BOXLESS = "codex needs a sandbox, and there is none: apt-get install bubblewrap"


def working(**more):
    return AutoSteps(name="a", target="main", **more)


def ask(auto, **about):
    auto.fold(Asked(at=auto.now, id=auto.run.open_move.id, ask=Ask(id="a1", **about)))


def test_f3_a_thread_without_a_sandbox_pauses_and_says_what_to_install():
    """F3: a person can repair the sandbox; then the turn is retried."""
    auto = working()
    auto.fail(FailureKind.UNSAFE, BOXLESS)

    unsafe = FailureKind.UNSAFE
    assert auto.move() == Wait(reason=f"unsafe: {BOXLESS}", for_person=True, failure=unsafe)
    assert auto.decision.overridden is Action.CONTINUE
    auto.say(Resume())
    assert isinstance(auto.move(), TakeTurn)


def test_f3_work_that_changes_what_steers_others_pauses():
    auto = working()
    auto.turn(guarded=WORKFLOW)

    assert auto.move() == Wait(reason=CHANGES, for_person=True)
    assert stop_condition(auto.run, Helm(), auto.now) == CHANGES
    assert f"pause (was continue), it has not said that it is done, overridden by {CHANGES}" in (
        describe_decision(auto.decision)
    )


def test_f3_what_a_person_has_looked_at_does_not_pause_again():
    auto = working()
    auto.turn(guarded=WORKFLOW)
    auto.say(Resume())
    auto.turn(guarded=WORKFLOW)
    assert auto.decision.action is Action.CONTINUE

    auto.turn(guarded={**WORKFLOW, "AGENTS.md": "steers agents"})

    assert auto.state.paused == "unsafe: the work changes AGENTS.md, which steers agents"


def test_f3_after_a_look_what_had_been_decided_is_carried_out():
    """F3, F9: a completed agent needs no further turn; the record names the reviewer."""
    auto = working(gate={"checks": [CHECK]})
    auto.turn(DONE, guarded=WORKFLOW)
    assert auto.decision.overridden is Action.STOP
    auto.say(Resume())

    assert isinstance(auto.move(), RunChecks)
    assert auto.decision.by == "rules, after a look by user"
    told = [each.decision.action for each in decisions(auto.pilot, auto.events)]
    assert told == [Action.PAUSE, Action.STOP]


def test_f9_after_a_look_it_is_still_reviewed():
    auto = working(review="end")
    auto.turn(DONE, guarded=WORKFLOW)
    auto.say(Resume())

    assert auto.decision.action is Action.REVIEW


def test_f3_a_word_of_a_person_who_was_called_is_a_look_as_well():
    auto = working()
    auto.turn(guarded=WORKFLOW)
    auto.say(Say(text="That is fine."))
    auto.turn(guarded=WORKFLOW)

    assert "That is fine." in auto.prompts[-1]
    assert auto.decision.action is Action.CONTINUE


def test_f3_a_file_that_the_goal_names_needs_no_look():
    auto = working(goal="Mend .github/workflows/ci.yml and write an AGENTS.md.")
    auto.turn(guarded={**WORKFLOW, "docs/AGENTS.md": "steers agents"})

    assert auto.decision.action is Action.CONTINUE


def test_f3_a_file_that_a_person_allowed_needs_no_look():
    auto = working()
    auto.begin()
    ask(auto, kind="edit", paths=("/elsewhere/a/.github/workflows/ci.yml",))
    auto.say(Permit(ask="a1", allow=True))
    change = Change(head="c1", commits=1, files=1, guarded=WORKFLOW)
    auto.ended(TurnDone(text="Going on.", change=change))

    assert auto.decision.action is Action.CONTINUE


def test_f3_a_question_that_was_open_when_the_turn_ended_pauses():
    """F3: the agent may have continued without an answer."""
    auto = working()
    auto.begin()
    ask(auto, argv=("make", "install"), text="make install")
    auto.ended(TurnDone(text="Installed."))

    assert auto.state.paused == ("unsafe: the turn ended before anybody had answered: make install")
    assert auto.state.summary.pending == ("make install",)


def test_f3_a_question_that_was_answered_does_not():
    auto = working()
    auto.begin()
    ask(auto, argv=("make", "install"), text="make install")
    auto.say(Permit(ask="a1", allow=False))
    auto.ended(TurnDone(text="Then not."))

    assert auto.decision.action is Action.CONTINUE


@pytest.mark.parametrize(
    ("denied", "pauses"),
    [
        (("sudo ls (takes over the machine)",) * 2, False),
        (("sudo ls (takes over the machine)",) * 3, True),
        (("nobody to ask: make install",) * 9, False),
        (("make install (approvals = never)",) * 9, False),
    ],
)
def test_f3_an_agent_that_tries_on_what_rules_deny_pauses(denied, pauses):
    auto = working()
    auto.turn(items=[("denied", each) for each in denied])

    assert bool(auto.state.paused) is pauses
    if pauses:
        assert "rules denied what it tried 3 times, at last sudo ls" in auto.state.paused


@pytest.mark.parametrize("says", ["BLOCKED: no key", "PENDING: which one?"])
def test_f3_a_model_can_not_end_what_the_agent_says_is_not_done(says):
    """F3: the work would be merged."""
    auto = working(policy="model", decision_agent="judge")
    auto.turn(f"<promise>{says}</promise>")
    auto.turn(advice(action="stop"))

    assert auto.decision.action is Action.PAUSE
    assert auto.decision.condition.startswith("unsafe: it would be over although codex")


def test_f3_hard_stops_win_over_a_pause_for_a_look():
    auto = working()
    auto.turn(items=[("unanswered", "rm -rf /")], guarded=WORKFLOW)

    assert auto.decision.action is Action.STOP


def test_f3_the_log_tells_of_it():
    auto = working()
    auto.turn(guarded=WORKFLOW)
    story = AutoLog(auto.pilot)

    shown = [line.text for event in auto.events for line in story.take(event)]

    assert any(f"overridden by {CHANGES}" in line for line in shown)


def test_q20_a_run_of_older_rules_is_decided_as_it_was():
    """Q20, F12: runs of the first edition have no safety pauses."""
    auto = working(edition=1, guards_files=False)
    auto.turn(guarded=WORKFLOW, items=[("denied", "sudo ls (never)")] * 3)
    assert auto.decision.action is Action.CONTINUE
    auto.fail(FailureKind.UNSAFE, BOXLESS)

    assert auto.move().outcome is Outcome.FAILED


def test_f7_a_merge_that_is_refused_leaves_a_receipt():
    """F7: the receipt names the stop that won over the decision."""
    auto = working()
    auto.turn(DONE)
    auto.begin()
    auto.ended(ChecksDone())
    assert isinstance(auto.begin(), Spawn)
    closed = {"ref": "merge1", "run": "r/merge1", "outcome": Outcome.CONFLICT, "tally": Tally()}
    auto.fold(ChildClosed(at=auto.now, note="same.txt", **closed))

    last = decisions(auto.pilot, auto.events)[-1].decision
    assert (last.action, last.overridden) == (Action.PAUSE, Action.STOP)
    assert last.condition == "it could not be merged: same.txt"


def test_q20_a_record_with_a_look_replays_the_same():
    auto = working(gate={"checks": [CHECK]})
    auto.turn(DONE, guarded=WORKFLOW)
    auto.say(Resume())
    auto.begin()

    assert differences(auto.pilot, auto.events) == []
