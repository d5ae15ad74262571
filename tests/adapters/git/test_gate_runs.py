"""V1 to V5: the gate with real runners of tests, in boxes, on small repositories."""

import sys
from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace

from adapters.git.workspace_fixture import git
from allstop.adapters.checks import BoxedChecks
from allstop.adapters.reports.report_request import RunnerReports
from allstop.core.gate import Check, Integrity, Verdict
from allstop.core.moves import ChecksDone, RunChecks
from allstop.engine.hands import Hands
from allstop.ports import Network
from support import lean_python

PYTHON = lean_python.folder() / "python"
PYTEST = Check(name="tests", run=f"{PYTHON} -B -m pytest -q")
UNITTEST = Check(name="tests", run=f"{PYTHON} -B -m unittest discover -q")
NODE = Check(name="tests", run="node --test")

CALC = "def add(a, b):\n    return a + b\n\n\ndef double(a):\n    return a * 2\n"
TESTS = """\
from calc import add, double


def test_add():
    assert add(1, 2) == 3


def test_double():
    assert double(4) == 8


def test_zero():
    assert add(0, 0) == 0
"""


OWN_AND_TARGET = 2


class Nobody:
    def live(self, live):
        pass

    async def saw(self, item):
        pass


class Place:
    """A repository with a suite of tests, and the gate on what an agent does to it."""

    def __init__(self, repo, check, **files):
        self.repo = repo
        self.check = check
        self.ran = []
        self.waits_for = 0  # programs that must run at the same time
        self.most_at_once = self._at_once = 0
        self._together = anyio.Event()
        template = repo.workspaces._builder._box
        python = (sys.prefix, sys.base_prefix)
        seen = tuple(path for path in dict.fromkeys(python) if not path.startswith("/usr"))
        repo.workspaces._builder._box = replace(template, read=seen)
        self.hands = Hands(
            {},
            checks=self,
            workspaces=repo.workspaces,
            launcher=repo.launcher,
            reports=RunnerReports(),
        )
        self.boxed = BoxedChecks(repo.launcher)
        for name, text in files.items():
            self.write(name, text)
        git(repo.root, "add", "-A")
        git(repo.root, "commit", "-q", "-m", "suite")

    def write(self, name, text):
        path = Path(self.repo.root, name.replace("__", "/").replace("_dot_", "."))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    async def run(self, check, place, label, progress):
        self.ran.append(check.run.splitlines()[-1])
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            if len(self.ran) > OWN_AND_TARGET and self.waits_for:
                await self._meet()
            return await self.boxed.run(check, place, label, progress)
        finally:
            self._at_once -= 1

    async def _meet(self):
        if self._at_once >= self.waits_for:
            self._together.set()
        with anyio.fail_after(60):
            await self._together.wait()

    async def gate(self, script, **more):
        await self.repo.worked(script)
        more = {"integrity": Integrity.ASK, **more}
        move = RunChecks(checks=(self.check,), workspace="w", **more)
        async with anyio.create_task_group() as group:
            group.start_soon(self.hands.keep_time)
            done = await self.hands.perform("run", move, Nobody(), 100.0)
            group.cancel_scope.cancel()
        assert isinstance(done, ChecksDone), done
        return done


def worst(done):
    """The kinds of the findings by verdict."""
    return {
        verdict.value: sorted({each.kind for each in done.findings if each.verdict is verdict})
        for verdict in Verdict
        if any(each.verdict is verdict for each in done.findings)
    }


@pytest.fixture
def suite(repo):
    return Place(repo, PYTEST, calc_dot_py=CALC, tests__test_calc_dot_py=TESTS, conftest_dot_py="")


EDIT = "sed -i 's/{}/{}/' {}"


async def test_v1_an_honest_change_has_no_finding(suite):
    fix = "printf 'def half(a):\\n    return a // 2\\n' >>calc.py"
    test = "printf '\\n\\ndef test_half():\\n    from calc import half\\n    assert half(4) == 2\\n' >>tests/test_calc.py"

    done = await suite.gate(f"{fix}; {test}")

    assert done.passed, done
    assert worst(done) == {}
    assert (
        len(suite.ran) == 6
    )  # the work, the target, its tests, the witness, other results, the canary


READS_ARGUMENTS = """\
import os, sys


if "PYTEST_ADDOPTS" in os.environ:
    os._exit(3)
"""


async def test_v1_a_suite_that_dislikes_to_be_asked_runs_as_it_is(repo):
    more = f"{TESTS}\n\n{READS_ARGUMENTS}"
    place = Place(repo, PYTEST, calc_dot_py=CALC, test_calc_dot_py=more)

    done = await place.gate("printf '# more\\n' >>calc.py")

    assert done.passed, done
    assert worst(done) == {}


async def test_v1_work_that_dislikes_to_be_asked_is_found(suite):
    done = await suite.gate(f"cat >>calc.py <<'END'\n{READS_ARGUMENTS}END")

    assert not done.passed
    assert worst(done)["fail"] == ["no_report"]


async def test_v1_a_deleted_test_that_fails_is_found(suite):
    done = await suite.gate(
        "sed -i 's/a \\* 2/a * 3/' calc.py; sed -i '/def test_double/,/== 8/d' tests/test_calc.py"
    )

    assert not done.passed
    assert worst(done) == {"fail": ["base_test", "deleted_test"]}


async def test_v1_a_test_deleted_without_a_change_of_the_product_is_a_question(suite):
    """The new code, which is the target's, would pass it."""
    done = await suite.gate("sed -i '/def test_double/,/== 8/d' tests/test_calc.py")

    assert worst(done)["ask"] == ["deleted_test"]
    assert "fail" not in worst(done)


async def test_v1_a_skipped_test_is_found(suite):
    skip = "sed -i 's/^def test_double/import pytest\\n@pytest.mark.skip\\ndef test_double/' tests/test_calc.py"
    done = await suite.gate(f"sed -i 's/a \\* 2/a * 3/' calc.py; {skip}")

    assert not done.passed
    assert worst(done)["fail"] == ["base_test", "skipped_test"]


async def test_v2_a_bent_expectation_is_asked_with_both_versions(suite):
    done = await suite.gate(
        "sed -i 's/a \\* 2/a * 3/' calc.py; sed -i 's/== 8/== 12/' tests/test_calc.py"
    )

    (found,) = [each for each in done.findings if each.verdict is Verdict.ASK]
    assert done.passed
    assert (found.kind, found.test) == ("base_test", "tests/test_calc.py::test_double")
    assert "== 8" in found.old
    assert "== 12" in found.new
    assert not found.declared


async def test_v2_a_declared_change_is_a_note(suite):
    done = await suite.gate(
        "sed -i 's/a \\* 2/a * 3/' calc.py; sed -i 's/== 8/== 12/' tests/test_calc.py",
        may_change=("behaviour of double",),
        unreviewed=True,
    )

    assert done.passed
    assert worst(done) == {"note": ["base_test"]}
    assert all(each.declared for each in done.findings)


async def test_v2_a_conftest_that_hides_failures_is_found(suite):
    hide = "printf 'import calc\\ncalc.double = lambda a: a * 2\\n' >conftest.py"
    done = await suite.gate(f"sed -i 's/a \\* 2/a * 3/' calc.py; {hide}")

    assert not done.passed
    assert "base_test" in worst(done)["fail"]


async def test_v3_a_fix_needs_a_test_that_fails_without_it(suite):
    test = "printf '\\n\\ndef test_more():\\n    assert add(1, 1) == 2\\n' >>tests/test_calc.py"
    done = await suite.gate(f"echo '# better' >>calc.py; {test}", fixes=True)

    assert worst(done) == {"ask": ["no_witness"]}


async def test_v3_a_fix_with_a_red_witness_has_no_finding(suite):
    fix = "sed -i 's/return a + b/return abs(a) + abs(b)/' calc.py"
    test = "printf '\\n\\ndef test_minus():\\n    assert add(-1, 1) == 2\\n' >>tests/test_calc.py"

    done = await suite.gate(f"{fix}; {test}", fixes=True)

    assert worst(done) == {}


async def test_v4_a_bent_runner_is_found_by_the_canary(suite):
    bend = """cat >conftest.py <<'END'
import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        report.outcome = "passed"
END"""
    done = await suite.gate(f"sed -i 's/a \\* 2/a * 3/' calc.py\n{bend}")

    assert not done.passed
    assert {"canary", "base_test"} <= {*worst(done)["fail"]}


async def test_v4_results_that_equal_everything_are_found(suite):
    bend = """cat >calc.py <<'END'
class All(int):
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1


def add(a, b):
    return All(0)


def double(a):
    return All(0)
END"""
    done = await suite.gate(bend)

    assert not done.passed
    assert worst(done)["fail"] == ["checks_nothing"]


async def test_v4_a_product_that_ends_the_run_is_found(suite):
    done = await suite.gate("printf 'import os\\nos._exit(0)\\n' >calc.py")

    assert not done.passed
    assert "no_report" in worst(done)["fail"]


async def test_v5_a_runner_of_ones_own_is_found(suite):
    done = await suite.gate("echo 'raise SystemExit(0)' >pytest.py")

    assert not done.passed
    assert "own_tool" in worst(done)["fail"]


async def test_v5_no_other_commit_can_be_read_in_a_check(repo):
    secret = git(repo.root, "rev-parse", "HEAD")
    test = f"import subprocess\ndef test_it():\n    assert subprocess.run(['git', 'show', '{secret}']).returncode\n    assert subprocess.run(['git', 'log']).returncode == 0\n"
    place = Place(repo, PYTEST, test_it_dot_py=test)

    done = await place.gate("echo x >x.py")

    assert done.passed, done.results


async def test_v12_documents_cost_no_further_run(suite):
    done = await suite.gate("echo more >README.md")

    assert done.passed
    assert len(suite.ran) == 1


async def test_v12_the_target_runs_once_and_only_changed_tests_run_again(suite):
    suite.write("tests/test_other.py", "def test_other():\n    assert True\n")
    git(suite.repo.root, "add", "-A")
    git(suite.repo.root, "commit", "-qm", "other")
    change = "sed -i 's/a \\* 2/2 * a/' calc.py; sed -i 's/== 8/== 8.0/' tests/test_calc.py"

    await suite.gate(change)
    own, target, base, canary = suite.ran
    await suite.gate("echo '# more' >>calc.py")

    assert (own, target) == (PYTEST.run, PYTEST.run)
    assert base == f"{PYTEST.run} tests/test_calc.py"
    assert "tests/test_calc.py" in canary
    assert len(suite.ran) == 4 + 3  # nothing on the target, as it is known


async def test_v2_unittest_is_compared_too(repo):
    tests = """\
import unittest

from calc import add, double


class Calc(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(1, 2), 3)

    def test_double(self):
        self.assertEqual(double(4), 8)
"""
    place = Place(repo, UNITTEST, calc_dot_py=CALC, test_calc_dot_py=tests)

    bent = await place.gate("sed -i 's/a \\* 2/a * 3/' calc.py; sed -i 's/, 8/, 12/' test_calc.py")
    assert worst(bent) == {"ask": ["base_test"], "note": ["dilution"]}

    honest = await place.gate("git checkout -q HEAD~1 -- . ; echo '# x' >>calc.py")
    assert worst(honest) == {}


async def test_v2_node_is_compared_too(repo):
    product = "export const double = (a) => a * 2;\n"
    tests = """\
import test from 'node:test';
import assert from 'node:assert';
import { double } from './calc.js';

test('doubles', () => {
  assert.strictEqual(double(4), 8);
});

test('doubles zero', () => {
  assert.strictEqual(double(0), 0);
});
"""
    files = {"package_dot_json": '{"type": "module"}', "calc_dot_js": product}
    place = Place(repo, NODE, calc_dot_test_dot_js=tests, **files)

    bent = await place.gate("sed -i 's/a \\* 2/a * 3/' calc.js; sed -i 's/, 8/, 12/' calc.test.js")
    assert worst(bent) == {"ask": ["base_test"], "note": ["dilution"]}

    honest = await place.gate("git checkout -q HEAD~1 -- . ; echo '// x' >>calc.js")
    assert worst(honest) == {}


ADDS = """
sed -i 's/return a . 2/return a + a/' calc.py
sed -i 's/double(4) == 8/double(5) == 10/' tests/test_calc.py
printf 'def triple(a):\\n    return 3 * a\\n' >>calc.py
printf 'from calc import triple\\ndef test_triple():\\n    assert triple(2) == 6\\n' >tests/test_new.py
"""


async def test_v12_the_runs_of_variants_go_on_side_by_side(suite):
    builder = suite.repo.workspaces._builder
    builder._box = replace(builder._box, network=Network.NONE)
    suite.hands._gate._gate_runs._side_by_side.total_tokens = 3
    suite.waits_for = 3  # the target's tests, the witness, the canary

    done = await suite.gate(ADDS)

    assert suite.most_at_once == 3
    assert worst(done).get("fail") is None


async def test_v12_runs_that_share_a_network_follow_one_another(suite):
    """They could take each other's ports."""
    done = await suite.gate(ADDS)

    assert len(suite.ran) > OWN_AND_TARGET + 2
    assert suite.most_at_once == 1
    assert worst(done).get("fail") is None


async def test_v1_paths_outside_the_tree_have_no_text(repo):
    """A report of the work may name any path."""
    await repo.worked("echo x >x")
    work = await repo.candidate()
    odd = ["../x", "/etc/passwd", "./x", "", "a//b", "a\nb", "x/../x"]

    assert await repo.workspaces.texts(work.commit, [*odd, "x"]) == {"x": "x\n"}
    assert await repo.workspaces.texts(work.commit, odd) == {}
