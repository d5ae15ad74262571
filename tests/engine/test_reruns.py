"""V11: failing tests are run again alone, before the real gate with real runners."""

import pytest

from allstop.gate.flaky_tests import flaky_tests
from support.flaky_work import FIRST, FlakyWork, kinds


@pytest.fixture
def work(tmp_path):
    return FlakyWork(tmp_path)


def python(**bodies):
    return "\n\n".join(f"def {name}():\n    {body}\n" for name, body in bodies.items())


def test_v11_a_test_that_failed_and_passed_alone_and_with_the_others_is_a_note(work):
    text = python(test_flaky=work.fails_in(FIRST), test_ok="pass")
    base = work.commit("Begin", test_a_dot_py=text)
    commit = work.commit("Work", a_dot_py="A = 1\n")

    done = work.judge(base, commit)

    assert done.passed
    [result] = done.results
    assert result.run == "pytest -q"
    assert result.passed
    assert kinds(done) == [("flaky_test", "test_a.py::test_flaky", "note")]
    [command] = work.receipt(done).commands
    assert command.tests == {"test_a.py::test_flaky": "passed", "test_a.py::test_ok": "passed"}
    assert [(each.alone, each.passed, each.tests) for each in command.others] == [
        (False, False, {"test_a.py::test_flaky": "failed"}),
        (True, True, {"test_a.py::test_flaky": "passed"}),
    ]
    [flaky] = flaky_tests([work.receipt(done)])
    assert (flaky.id, flaky.failed, flaky.passed) == ("test_a.py::test_flaky", 1, 2)
    assert not flaky.passes_alone


def test_v11_a_test_that_fails_again_alone_fails_the_gate(work):
    base = work.commit("Begin", test_a_dot_py=python(test_ok="pass"))
    text = python(test_bad="assert False", test_ok="pass")
    commit = work.commit("Work", test_a_dot_py=text)

    done = work.judge(base, commit)

    [result] = done.results
    assert (done.passed, result.confirmed, result.code) == (False, True, 1)
    assert [run.partition("running ")[2][:12] for run in work.runs] == [
        "(0s / 300s)",
        "1 failing te",
        f"on {base[:9]}",
    ]
    assert kinds(done) == []
    assert [each.alone for each in work.receipt(done).commands[0].others] == [True]


def test_v11_a_test_that_the_work_added_is_asked_about_if_it_is_flaky(work):
    base = work.commit("Begin", test_a_dot_py=python(test_ok="pass"))
    added = python(test_ok="pass", test_new=work.fails_in(FIRST))
    commit = work.commit("Work", test_a_dot_py=added)

    done = work.judge(base, commit)

    assert done.passed
    assert ("flaky_test", "test_a.py::test_new", "ask") in kinds(done)


def test_v11_where_nobody_reviews_a_new_flaky_test_fails(work):
    base = work.commit("Begin", test_a_dot_py=python(test_ok="pass"))
    added = python(test_ok="pass", test_new=work.fails_in(FIRST))
    commit = work.commit("Work", test_a_dot_py=added)

    done = work.judge(base, commit, unreviewed=True)

    assert not done.passed
    [fatal] = [each for each in done.findings if each.fatal]
    assert fatal.to_agent.startswith("test_a.py::test_new passes only sometimes")


NODE = """\
import test, { describe, it } from 'node:test';
import assert from 'node:assert';
import { readFileSync } from 'node:fs';

test('ok', () => {});
describe('shop', () => { it('sells (once)', () => {
  assert.ok(!readFileSync(SHOWN, 'utf8').endsWith(FIRST));
}); });
"""


def test_v11_a_flaky_test_of_node_is_a_note_and_one_that_fails_again_is_not(work):
    shown = f"'{work.shown / 'run'}'"
    text = NODE.replace("SHOWN", shown).replace("FIRST", f"'{FIRST}'")
    base = work.commit("Begin", shop_dot_test_dot_mjs=text)
    good = work.commit("Work", a_dot_mjs="export const A = 1;\n")
    bad = work.commit("Work", shop_dot_test_dot_mjs=text.replace("ok(!", "ok(1 > 2 &&"))

    passed = work.judge(base, good, run="node --test")
    failed = work.judge(base, bad, run="node --test")

    assert passed.passed
    assert kinds(passed) == [("flaky_test", "shop.test.mjs::shop > sells (once)", "note")]
    assert not failed.passed
    assert failed.results[0].confirmed


ORDER = """\
import shop

def test_first():
    shop.sell()

def test_second():
    assert shop.stock() == 3
"""


def test_v11_work_that_makes_a_test_depend_on_the_one_before_it_fails(work):
    """It passes whenever it runs alone, and fails whenever all tests run."""
    shop = "def sell(): pass\n\ndef stock(): return 3\n"
    base = work.commit("Begin", test_a_dot_py=ORDER, shop_dot_py=shop)
    leaks = "SOLD = []\n\ndef sell(): SOLD.append(1)\n\ndef stock(): return 3 - len(SOLD)\n"
    commit = work.commit("Work", shop_dot_py=leaks)

    done = work.judge(base, commit)

    [result] = done.results
    assert (done.passed, result.confirmed, result.failed_before) == (False, True, False)
    assert "pass when only they run, and fail together with the others" in result.output
    [listed] = flaky_tests([work.receipt(done)])
    assert (listed.id, listed.passes_alone) == ("test_a.py::test_second", True)


def test_v11_what_a_run_leaves_behind_does_not_help_the_next_one(work):
    """Each run has a clean clone and a clean home."""
    base = work.commit("Begin", test_a_dot_py="import shop\n\ndef test_a(): shop.trick()\n")
    trick = """\
from pathlib import Path

def trick():
    files = [Path("mark"), Path.home() / "mark", Path("/tmp/mark-of-the-gate")][:2]
    found = any(file.exists() for file in files)
    for file in files:
        file.write_text("x")
    assert found
"""
    commit = work.commit("Work", shop_dot_py=trick)

    done = work.judge(base, commit)

    assert not done.passed
    assert done.results[0].confirmed


def test_v11_a_failure_that_is_not_the_test_s_still_fails(work):
    """A session that fails for another reason passes no gate, though its failing test passes."""
    hook = "def pytest_sessionfinish(session):\n    session.exitstatus = 1\n"
    text = python(test_flaky=work.fails_in(FIRST))
    base = work.commit("Begin", test_a_dot_py=text)
    commit = work.commit("Work", conftest_dot_py=hook)

    done = work.judge(base, commit)

    assert not done.passed
    assert work.runs[2].endswith("once more")


def test_v11_only_a_command_that_is_nothing_but_the_runner_is_run_again(work):
    text = python(test_flaky=work.fails_in(FIRST))
    base = work.commit("Begin", test_a_dot_py=text)
    commit = work.commit("Work", a_dot_py="A = 1\n")

    done = work.judge(base, commit, run="true && pytest -q")

    [result] = done.results
    assert (done.passed, result.confirmed) == (False, False)
    assert len(work.runs) == 2  # the second one is on the target
    assert work.receipt(done).commands[0].others == ()


def test_v11_checks_before_it_run_again_in_the_clone_of_the_second_run(work):
    text = python(test_flaky=work.fails_in(FIRST), test_built="assert open('built').read()")
    base = work.commit("Begin", test_a_dot_py=text)
    commit = work.commit("Work", a_dot_py="A = 1\n")

    done = work.judge(base, commit, before="echo yes >built")

    assert done.passed
    assert [result.name for result in done.results] == ["First", "Tests"]


def test_v11_the_target_s_tests_on_the_new_code_may_be_flaky_as_well(work):
    """Without a second try, an honest change would be asked about."""
    text = python(test_flaky=work.fails_in("with the target's tests"), test_ok="pass")
    base = work.commit("Begin", test_a_dot_py=text, shop_dot_py="A = 1\n")
    commit = work.commit("Work", shop_dot_py="A = 2\n", test_a_dot_py=f"{text}\nNAMES = 1\n")

    done = work.judge(base, commit)

    assert done.passed
    assert any("with the target's tests" in run for run in work.runs)
    assert kinds(done) == []


# --- red on the target as well ---


def test_v11_tests_that_fail_on_the_target_are_not_the_work_s(work):
    text = python(test_old="assert 1 == 2", test_ok="pass")
    base = work.commit("Begin", test_a_dot_py=text)
    commit = work.commit("Work", a_dot_py="A = 1\n")

    done = work.judge(base, commit)

    [result] = done.results
    assert (done.passed, result.failed_before) == (False, True)
    assert result.fails_on_target == ("test_a.py::test_old",)


def test_v11_a_test_that_the_work_broke_is_its_own_although_others_were_red(work):
    text = "import shop\n" + python(test_old="assert 1 == 2", test_ok="assert shop.A")
    base = work.commit("Begin", test_a_dot_py=text, shop_dot_py="A = 1\n")
    commit = work.commit("Work", shop_dot_py="A = 0\n")

    done = work.judge(base, commit)

    [result] = done.results
    assert (result.failed_before, result.fails_on_target) == (False, ("test_a.py::test_old",))


def test_v11_another_failure_of_the_same_test_is_the_work_s(work):
    text = "import shop\n" + python(test_old="assert shop.A == 'x'")
    base = work.commit("Begin", test_a_dot_py=text, shop_dot_py="A = 'y'\n")
    commit = work.commit("Work", shop_dot_py="\n")

    done = work.judge(base, commit)

    [result] = done.results
    assert (result.failed_before, result.fails_on_target) == (False, ())


# --- quarantine ---


def test_v11_a_quarantined_test_may_fail_and_is_a_note(work):
    text = python(test_old="assert 1 == 2", test_ok="pass")
    base = work.commit("Begin", test_a_dot_py=text)
    commit = work.commit("Work", a_dot_py="A = 1\n")

    done = work.judge(base, commit, quarantine=["test_a.py::test_old"])

    assert done.passed
    assert kinds(done) == [("quarantined_test", "test_a.py::test_old", "note")]
    receipt = work.receipt(done)
    assert receipt.quarantine == ("test_a.py::test_old",)
    assert receipt.commands[0].tests == {
        "test_a.py::test_ok": "passed",
        "test_a.py::test_old": "failed",
    }


def test_v11_quarantine_covers_no_other_test(work):
    """Not even one whose id only begins like that of a quarantined one."""
    text = python(test_old="assert 1 == 2", test_older="import shop; assert shop.A")
    base = work.commit("Begin", test_a_dot_py=text, shop_dot_py="A = 1\n")
    good = work.commit("Good work", other_dot_py="A = 1\n")
    bad = work.commit("Bad work", shop_dot_py="A = 0\n")

    failed = work.judge(base, bad, quarantine=["test_a.py::test_old"])
    passed = work.judge(base, good, quarantine=["test_a.py::test_old"])

    assert not failed.passed
    assert failed.results[0].confirmed
    assert passed.passed
    ran = work.receipt(passed).commands[0].tests
    assert ran == {"test_a.py::test_old": "failed", "test_a.py::test_older": "passed"}


def test_v11_the_work_cannot_quarantine_a_test_for_its_own_gate(work):
    text = python(test_ok="import shop; assert shop.A")
    base = work.commit("Begin", test_a_dot_py=text, shop_dot_py="A = 1\n")
    line = "[verification]\nquarantine = ['test_a.py::test_ok']\n"
    commit = work.commit("Work", shop_dot_py="A = 0\n", allstop_dot_toml=line)

    done = work.judge(base, commit)

    assert not done.results[0].passed
    assert ("quarantine", "", "ask") in kinds(done)
    [told] = [each.text for each in done.findings if each.kind == "quarantine"]
    assert told == "quarantines 1 test: test_a.py::test_ok"
