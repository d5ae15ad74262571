"""B7: signals of a tool and of the final message; a contradiction is a question."""

import pytest

from allstop.core.moves import TurnDone
from allstop.core.signals import Signal, SignalClaim

COMPLETE = SignalClaim(signal=Signal.COMPLETE)
BLOCKED = SignalClaim(signal=Signal.BLOCKED, text="no access")
QUESTION = SignalClaim(signal=Signal.PENDING, text="Which?")


@pytest.mark.parametrize(
    ("text", "signals", "said"),
    [
        ("Done.", (), SignalClaim(signal=Signal.NONE)),
        ("Done.", (COMPLETE,), COMPLETE),
        ("Done.\n<promise>COMPLETE</promise>", (COMPLETE,), COMPLETE),
        ("Half.\n<promise>PROGRESS: 50%</promise>", (COMPLETE,), COMPLETE),
        ("Hm.\n<promise>BLOCKED: no key</promise>", (BLOCKED,), SignalClaim(signal=Signal.BLOCKED, text="no key")),
        ("Hm.", (BLOCKED, BLOCKED), BLOCKED),
    ],
)  # fmt: skip
def test_b7_signals_that_agree_are_one(text, signals, said):
    """B7: from the tool or from the message."""
    assert TurnDone(text=text, signals=signals).claim == said


@pytest.mark.parametrize(
    ("text", "signals", "names"),
    [
        ("Done.\n<promise>COMPLETE</promise>", (BLOCKED,), "BLOCKED and COMPLETE"),
        ("Hm.\n<promise>BLOCKED: no key</promise>", (COMPLETE,), "COMPLETE and BLOCKED"),
        ("Done.", (QUESTION, COMPLETE), "PENDING and COMPLETE"),
    ],
)
def test_b7_signals_that_differ_are_a_question_for_a_person(text, signals, names):
    """B7: a task that is also reported as blocked is not done."""
    said = TurnDone(text=text, signals=signals).claim

    assert said.signal is Signal.PENDING
    assert f"it said {names}; which one holds?" in said.text
