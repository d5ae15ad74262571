"""V11: what runs of failing tests mean, and what a reviewer is told."""

from allstop.core.gate import Verdict
from allstop.gate.facts import Case, CaseStatus, ChangedFile, CheckFacts, Facts, Report, Run
from allstop.gate.failed_tests import reruns
from allstop.gate.failed_tests.quarantine import findings as quarantine_findings
from allstop.gate.failed_tests.reruns import Alone, failures, is_green, is_same_failure, judge_alone

PASSED, FAILED, ERROR, SKIPPED = CaseStatus
FILE = "tests/test_a.py"


def case(name, status=PASSED, message="", file=FILE):
    return Case(id=f"{file}::{name}", status=status, file=file, message=message)


def run(*cases, passed=None, **more):
    passed = not any(each.is_red for each in cases) if passed is None else passed
    return Run(passed=passed, code=0 if passed else 1, report=Report(cases=cases), **more)


RED = case("test_x", FAILED, "assert 1 == 2")
FIRST = run(RED, case("test_y"))
FAILURES = failures(FIRST, ())


def test_v11_only_a_failed_run_with_known_tests_has_failures():
    assert failures(run(case("test_x")), ()) is None
    assert failures(run(case("test_x"), passed=False), ()) is None
    assert failures(run(RED, timed_out=True), ()) is None
    assert failures(Run(passed=False), ()) is None
    assert failures(FIRST, (RED.id,)).quarantined == (RED,)


def test_v11_the_same_failure_again_is_certain_and_only_a_pass_is_a_pass():
    again = case("test_x", FAILED, "assert 3 == 2")

    assert judge_alone(FAILURES, run(again)) is Alone.FAIL
    assert judge_alone(FAILURES, run(case("test_x"))) is Alone.PASS
    assert judge_alone(FAILURES, run(case("test_x", SKIPPED))) is Alone.UNKNOWN
    assert judge_alone(FAILURES, run(case("test_x", ERROR, "no module"))) is Alone.UNKNOWN
    assert judge_alone(FAILURES, run(case("test_y"))) is Alone.UNKNOWN
    assert judge_alone(FAILURES, Run(passed=True)) is Alone.UNKNOWN


def test_v11_one_certain_failure_decides_though_others_passed_alone():
    both = failures(run(RED, case("test_y", FAILED)), ())

    assert judge_alone(both, run(RED, case("test_y"))) is Alone.FAIL


def test_v11_failures_are_the_same_whatever_their_numbers_and_addresses_are():
    one = case("test_x", ERROR, "KeyError: <a.B object at 0x7f3a>, 12 of 13 in 0.3s")
    other = case("test_x", ERROR, "KeyError: <a.B object at 0xee01>, 9 of 13 in 12.5s")

    assert is_same_failure(one, other)
    assert not is_same_failure(one, case("test_x", ERROR, "NameError: 12 of 13"))
    assert not is_same_failure(one, case("test_x"))


def test_m3_only_a_passed_run_of_all_tests_is_green():
    green = run(case("test_x"), case("test_y"))

    assert is_green(FIRST, FAILURES, green)
    assert not is_green(FIRST, FAILURES, run(case("test_x"), case("test_y"), passed=False))
    assert not is_green(FIRST, FAILURES, run(case("test_x"))), "one that had passed did not run"
    assert not is_green(FIRST, FAILURES, run(case("test_x", SKIPPED), case("test_y")))
    assert not is_green(FIRST, FAILURES, Run(passed=True))


def test_v11_quarantined_tests_are_the_only_ones_that_may_be_missing():
    quarantined = failures(FIRST, (RED.id,))

    assert is_green(FIRST, quarantined, run(case("test_y")))
    assert not is_green(FIRST, quarantined, run())


# --- findings ---


def told(*changes, case=RED, elsewhere=0):
    own = run(case, passed=True, flaky=(case,))
    facts = Facts(
        changes=changes,
        checks=(CheckFacts(name="Tests", run="pytest", own=own),),
        flaky_elsewhere={case.id: elsewhere} if elsewhere else {},
    )
    [finding] = reruns.findings(facts)
    return finding.verdict, finding.text


BEFORE = "def test_x():\n    assert f() == 2\n\n\ndef test_y():\n    pass\n"


def test_v11_a_flaky_test_that_the_work_left_alone_is_a_note():
    product = ChangedFile(path="shop.py", before="a", after="b")
    other = ChangedFile(path=FILE, before=BEFORE, after=BEFORE + "\n\ndef test_z():\n    pass\n")

    text = "test_x failed and passed when run again"
    assert told(product) == (Verdict.NOTE, f"{text}, which is not known of it")
    assert told(product, elsewhere=3) == (Verdict.NOTE, f"{text}, as on 3 other trees")
    assert told(other)[0] is Verdict.NOTE


def test_v11_nobody_has_history_for_a_test_that_the_work_added_or_edited():
    edited = ChangedFile(path=FILE, before=BEFORE, after=BEFORE.replace("2", "3"))
    added = ChangedFile(path=FILE, before=None, after=BEFORE)

    assert told(edited)[0] is Verdict.ASK
    assert told(edited)[1].endswith("this work has edited it")
    assert told(added)[1].endswith("this work has added it")
    assert told(added)[0] is Verdict.ASK


def test_v11_a_test_whose_text_cannot_be_told_apart_counts_as_edited_with_its_file():
    made = ChangedFile(path=FILE, before="for n in 1, 2: make(n)", after="for n in 1, 3: make(n)")

    assert told(made)[0] is Verdict.ASK


def test_v11_what_tests_share_makes_them_new_as_well():
    shared = ChangedFile(path="tests/conftest.py", before="a", after="b")

    verdict, text = told(shared)

    assert verdict is Verdict.ASK
    assert "tests/conftest.py, which it may depend on" in text


def test_v11_a_test_of_go_is_found_in_the_files_that_may_have_it():
    go = Case(id="example.com/a::TestSum", status=FAILED)
    before = "func TestSum(t *testing.T) {\n\tcheck(1)\n}\n"
    change = ChangedFile(path="a/a_test.go", before=before, after=before.replace("1", "2"))
    other = ChangedFile(path="a/b_test.go", before="x", after="func TestOther() {\n}\n")

    assert told(change, case=go)[0] is Verdict.ASK
    assert told(other, case=go)[0] is Verdict.NOTE


def test_v11_judges_see_no_failure_of_a_quarantined_test():
    own = run(RED, case("test_y"), passed=True)
    facts = Facts(checks=(CheckFacts(name="Tests", run="pytest", own=own, target=FIRST),))

    [seen] = reruns.without_quarantined(facts, (RED.id,)).checks

    assert [each.is_red for each in seen.own.report.cases] == [False, False]
    assert [each.is_red for each in seen.target.report.cases] == [False, False]


def test_v11_more_quarantined_tests_in_the_settings_are_asked_about():
    before = "[verification]\nquarantine = ['a::b']\n"
    after = "[verification]\nquarantine = ['a::b', 'a::c', 'a::d']\n"

    [found] = quarantine_findings("allstop.toml", before, after)

    assert (found.verdict, found.text) == (Verdict.ASK, "quarantines 2 tests: a::c, a::d")
    [marked] = quarantine_findings("allstop.toml", before, f"\ufeff{after}")
    assert marked == found
    assert list(quarantine_findings("allstop.toml", after, before)) == []
    assert list(quarantine_findings("allstop.toml", before, "a = " + "[" * 5000)) == []
    assert list(quarantine_findings("allstop.toml", "", "[verification")) == []
