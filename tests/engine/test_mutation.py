"""Mutants of changed lines: how they are run, and which of them are pointed out."""

import anyio

from allstop.core.gate import Check, Verdict
from allstop.core.moves import CheckResult
from allstop.engine.mutation import Timed, try_mutants
from allstop.gate.facts import ChangedFile
from allstop.ports import Box, Candidate

BEFORE = "def total(a, b):\n    return a\n"
AFTER = "def total(a, b):\n    return a + b\n"
CHANGE = ChangedFile(path="shop/prices.py", before=BEFORE, after=AFTER)
UNIT = Check(name="Unit", run="pytest", timeout_s=300.0)
CANDIDATE = Candidate(Box(home="/home", workspace="/work", env={"A": "1"}), "b", "c", "t")


class FakeRuns:
    """Runs the mutant that it is given, as its own tests would."""

    def __init__(self, *, notices=lambda text: False, takes_s=0.0):
        self.notices = notices
        self.takes_s = takes_s
        self.ran = []

    async def __call__(self, check, candidate):
        await anyio.sleep(self.takes_s)
        self.ran.append((check, candidate.box.env))
        passed = not self.notices(candidate.box.env["ALLSTOP_MUTANT"])
        return CheckResult(name=check.name, run=check.run, passed=passed)


async def test_v7_a_mutant_that_no_test_notices_is_a_note_with_its_line():
    tests = FakeRuns(notices=lambda text: "None" in text)

    tried = await try_mutants([CHANGE], [Timed(UNIT, 2.0)], CANDIDATE, tests)

    assert [(each.kind, each.path, each.text, each.verdict) for each in tried.findings] == [
        ("survivor", "shop/prices.py", "line 2: + → -", Verdict.NOTE)
    ]
    assert tried.words == "2 mutants tried, 1 noticed by no test"


async def test_v7_each_mutant_is_written_in_the_box_and_the_last_one_is_mended():
    other = ChangedFile(path="shop/it's.py", before="", after="def two():\n    return 2\n")
    tests = FakeRuns()

    await try_mutants([CHANGE, other], [Timed(UNIT, 2.0)], CANDIDATE, tests)

    commands = [check.run for check, _ in tests.ran]
    assert commands[0].splitlines() == [
        'printf %s "$ALLSTOP_MUTANT" >./shop/prices.py || exit 125',
        "unset ALLSTOP_MUTANT ALLSTOP_BEFORE",
        "pytest",
    ]
    assert commands[1].splitlines()[:2] == [
        'printf %s "$ALLSTOP_BEFORE" >./shop/prices.py || exit 125',
        """printf %s "$ALLSTOP_MUTANT" >'./shop/it'"'"'s.py' || exit 125""",
    ]
    assert tests.ran[1][1]["ALLSTOP_BEFORE"] == AFTER
    assert tests.ran[0][1]["PYTHONDONTWRITEBYTECODE"] == "1"
    assert tests.ran[0][0].timeout_s == 16.0


async def test_v7_at_most_twenty_five_mutants_are_tried_and_their_time_is_bounded():
    long = "".join(f"def f{n}(a):\n    return a + {n}\n" for n in range(100))
    change = ChangedFile(path="many.py", after=long)

    quick, slow = FakeRuns(), FakeRuns(takes_s=20.0)
    many = await try_mutants([change], [Timed(UNIT, 1.0)], CANDIDATE, quick)
    few = await try_mutants([change], [Timed(UNIT, 20.0)], CANDIDATE, slow)

    assert many.tried == len(quick.ran) == 25
    assert few.tried == 2  # twice the time of the checks


async def test_v7_without_tests_and_for_tests_themselves_there_are_no_mutants():
    test = ChangedFile(path="tests/test_a.py", before="", after="def test_a():\n    assert 1 + 1\n")

    assert (await try_mutants([CHANGE], [], CANDIDATE, FakeRuns())).tried == 0
    assert (await try_mutants([test], [Timed(UNIT, 1.0)], CANDIDATE, FakeRuns())).tried == 0
