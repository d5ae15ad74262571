"""B16: changes that weaken the gate are found, and fail it only if configured."""

from fnmatch import fnmatchcase
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.core.gate import Gate, Integrity, Protection, Verdict
from allstop.core.moves import Finding
from allstop.gate.change_findings import findings, is_skip
from allstop.gate.composition import MAX_FINDINGS, settle
from allstop.gate.path_kinds import is_test, matches
from allstop.gate.runner_settings import differ
from allstop.settings.model.tasks import PROTECTED as DEFAULT
from support.cases import for_each

PROTECTED = ("tests/**", "**/__tests__/**", ".github/**", "allstop.toml", "src/*/ci-?.yml")


class Changed(NamedTuple):
    path: str
    status: str = "M"
    added: tuple[str, ...] = ()
    tests_differently: bool = False


@for_each(
    ("path", "pattern"),
    [
        ("tests/test_a.py", "tests/**"),
        ("tests/deep/er/x", "tests/**"),
        ("tests", "tests/**"),  # a link or a file in the place of the folder
        ("tests/x", "tests/"),
        ("tests/x/y", "tests"),
        ("web/src/__tests__/a.ts", "**/__tests__/**"),
        ("__tests__/a.ts", "**/__tests__/**"),
        ("allstop.toml", "allstop.toml"),
        ("a/b/c.yml", "a/**/c.yml"),
        ("a/c.yml", "a/**/c.yml"),
        ("x/conftest.py", "**/conftest.py"),
        ("src/a/ci-1.yml", "src/*/ci-?.yml"),
        ("a1.txt", "a[0-9].txt"),
        ("ab.txt", "a[!0-9].txt"),
        ("new\nline/x", "new*/x"),
        ("./x".removeprefix("./"), "./x"),
    ],
)
def test_a_pattern_names_a_path_or_a_folder_above_it(path, pattern):
    assert matches(path, (pattern,))


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("mytests/a", "tests/**"),
        ("src/tests/a", "tests/**"),
        ("sub/allstop.toml", "allstop.toml"),
        ("allstop.toml.bak", "allstop.toml"),
        ("src/a/b/ci-1.yml", "src/*/ci-?.yml"),
        ("a/x", "a[!0-9]x"),
        ("axb", "a.b"),
    ],
)
def test_a_pattern_names_nothing_else(path, pattern):
    assert not matches(path, (pattern,))


SEGMENTS = st.text(alphabet="ab.-_", min_size=1, max_size=4).filter(lambda name: name.strip("."))


@given(st.lists(SEGMENTS, min_size=1, max_size=4), st.lists(SEGMENTS, max_size=3))
def test_a_folder_holds_all_below_it(folder, rest):
    top = "/".join(folder)
    path = "/".join([*folder, *rest])

    assert matches(path, (f"{top}/**",))
    assert matches(f"x/{path}", (f"**/{top}",))
    assert not matches(f"x{path}", (top,))


@given(st.text(alphabet="ab.*?", min_size=1, max_size=6), st.text(alphabet="ab.", max_size=6))
def test_within_one_folder_it_is_what_shells_do(pattern, name):
    if "**" not in pattern:
        assert matches(name, (pattern,)) == fnmatchcase(name, pattern)


@given(st.text(max_size=12), st.text(max_size=12))
def test_any_pattern_is_one(pattern, path):
    matches(path, (pattern,))


TESTS = [
    "tests/test_a.py", "test_a.py", "pkg/a_test.go", "src/a.test.tsx", "a.spec.js", "spec/a_spec.rb",
    "src/test/java/ATest.java", "web/__tests__/x.ts", "tests/helpers.py", "AppTests.cs", "e2e/login.ts",
    "tests/suite.bats", "t/basic.t", "test/a_test.exs",
]  # fmt: skip
NO_TESTS = [
    "src/a.py", "tests/data.json", "tests/__init__.py", "tests/conftest.py", "README.md", "latest.py",
    "contest.go", "src/attest.rs", "src/testing_guide.md", "pyproject.toml",
]  # fmt: skip


def test_tests_are_known_by_their_names_and_folders():
    assert [path for path in TESTS if not is_test(path)] == []
    assert [path for path in NO_TESTS if is_test(path)] == []


SKIPS = {
    "tests/test_a.py": [
        "@pytest.mark.skip", "    @pytest.mark.skipif(True, reason='x')", "@pytest.mark.xfail",
        "pytestmark = pytest.mark.skip", "    pytest.skip('later')", "@unittest.skip('x')", "@skipIf(1, '')",
        "self.skipTest('x')", "raise unittest.SkipTest", "@mark.xfail(strict=False)", "__test__ = False",
        "@unittest.expectedFailure", "pytest.importorskip('x')",
    ],
    "tests/conftest.py": ["collect_ignore = ['test_a.py']"],
    "a.test.ts": [
        "it.skip('x', () => {", "test.only('x'", "describe.skip(", "xit('x'", "xdescribe('x'", "fit('x', f)",
        "it.todo('x')", "test.concurrent.skip('x'", "test.skip.each([1])('x'", "fdescribe('x'", "test.fixme('x'",
        "test('x', { skip: true }, f)", "it.failing('x'",
    ],
    "src/test/ATest.java": ["@Ignore", "@Disabled(\"x\")", "@DisabledOnOs(LINUX)"],
    "a_test.go": ["\tt.Skip(\"x\")", "\tt.SkipNow()", "\tb.Skipf(\"x\")"],
    "src/lib.rs": ["#[ignore]", "    #[ignore = \"slow\"]", "#[cfg_attr(miri, ignore)]"],
    "tests/it.rs": ["#[ignore]"],
    "spec/a_spec.rb": ["  skip", "  skip 'later'", "  pending 'x'", "  it 'x', skip: true do", "  xit 'x' do"],
    "tests/ATest.php": ["$this->markTestSkipped('x');"],
    "AppTests.cs": ["[Fact(Skip = \"x\")]", "[Ignore(\"x\")]"],
    "AppTests.swift": ["throw XCTSkip(\"x\")"],
    "tests/a_test.cc": ["GTEST_SKIP() << 1;", "TEST(A, DISABLED_b) {"],
    "test/a_test.exs": ["@tag :skip", "@moduletag :skip"],
    "test/runtests.jl": ["@test_skip f(x)", "@test_broken f(x)"],
    "pyproject.toml": ['addopts = "--deselect tests/test_a.py"', 'addopts = "-k \'not slow\'"'],
    "package.json": ['"testPathIgnorePatterns": ["a"]'],
}  # fmt: skip
NO_SKIPS = {
    "tests/test_a.py": ["def test_skips_a_line():", "skipped = 3", "x = skip_header(y)", "assert it.only_one"],
    "a.test.ts": ["it('skips', () => {", "expect(list.only).toBe(1)", "const fits = fit2(x)"],
    "src/a.py": ["pytest.skip('not a test file')"],
    "a_test.go": ["r.Skipped()"],
    "src/lib.rs": ["let ignore = true;"],
    "pyproject.toml": ["[tool.x]", "ignore = ['E501']"],
}  # fmt: skip


def test_lines_that_skip_a_test_are_known():
    assert [(p, line) for p, lines in SKIPS.items() for line in lines if not is_skip(p, line)] == []
    assert [(p, line) for p, lines in NO_SKIPS.items() for line in lines if is_skip(p, line)] == []


def test_everything_is_told_and_nothing_fails_where_it_is_only_reported():
    changes = [
        Changed("allstop.toml"),
        Changed("tests/test_a.py", "D"),
        Changed("tests/test_b.py", "A", ("@pytest.mark.skip",)),
        Changed("src/a.py", "M", ("x = 1",)),
    ]

    found = settle(
        findings(changes, PROTECTED, Integrity.REPORT), Integrity.REPORT, unreviewed=True
    )
    assert [(f.kind, f.path, f.text, f.verdict, f.fatal) for f in found] == [
        ("deleted_test", "tests/test_a.py", "", Verdict.ASK, False),
        ("skipped_test", "tests/test_b.py", "@pytest.mark.skip", Verdict.ASK, False),
        ("protected", "allstop.toml", "changed", Verdict.NOTE, False),
        ("protected", "tests/test_a.py", "deleted", Verdict.NOTE, False),
    ]


def test_what_is_protected_fails_the_gate_where_the_setting_says_so():
    changes = [Changed("tests/test_a.py", "D"), Changed("other_test.go", "D")]

    found = findings(changes, PROTECTED, Integrity.FAIL)

    assert [(f.kind, f.path, f.verdict) for f in found] == [
        ("protected", "tests/test_a.py", Verdict.FAIL),
        ("deleted_test", "tests/test_a.py", Verdict.ASK),
        ("deleted_test", "other_test.go", Verdict.ASK),
    ]
    assert all(f.fatal for f in settle(found, Integrity.FAIL, unreviewed=False))


@for_each(
    ("strictness", "unreviewed", "fatal"),
    [
        (Integrity.REPORT, True, []),
        (Integrity.ASK, False, ["fail"]),
        (Integrity.ASK, True, ["fail", "ask"]),
        (Integrity.FAIL, False, ["fail", "ask"]),
    ],
)
def test_v10_what_each_verdict_does(strictness, unreviewed, fatal):
    """V10: `ask` is a person's decision; where nobody reviews the work it counts as `fail`."""
    found = [Finding(kind="x", path=verdict, verdict=verdict) for verdict in Verdict]

    settled = settle(found, strictness, unreviewed=unreviewed)

    assert [f.path for f in settled if f.fatal] == fatal


def test_v10_an_integrity_that_is_unset_is_that_of_the_earlier_setting():
    """V10: gates in old records keep their meaning."""
    assert Gate().strictness is Integrity.REPORT
    assert Gate(protection=Protection.RESTORE).strictness is Integrity.ASK
    assert Gate(protection=Protection.FAIL, integrity=Integrity.REPORT).strictness == "report"


@pytest.mark.parametrize(
    ("new", "kinds"), [("tests/test_b.py", []), ("attic/b.txt", ["deleted_test"])]
)
def test_a_test_that_is_moved_is_deleted_only_if_it_no_longer_is_one(new, kinds):
    changes = [Changed("tests/test_a.py", "D"), Changed(new, "R")]

    assert [f.kind for f in findings(changes, (), Integrity.REPORT)] == kinds


def test_b17_markers_of_our_own_merge_fail_the_gate():
    ours = ("<<<<<<< HEAD", "=======", f">>>>>>> {'a' * 40}")
    somebodys = ("<<<<<<< ours", "=======", ">>>>>>> theirs")
    heading = ("Title", "=======")

    found = findings(
        [Changed("a", "M", ours), Changed("b", "M", somebodys), Changed("c", "M", heading)],
        (),
        Integrity.REPORT,
    )

    settled = settle(found, Integrity.REPORT, unreviewed=False)
    assert [(f.kind, f.path, f.fatal) for f in settled] == [
        ("conflict_markers", "a", True),
        ("conflict_markers", "b", False),
    ]


def test_a_flood_of_findings_does_not_drown_the_fatal_ones():
    changes = [Changed(f"a{n}_test.go", "D") for n in range(500)]
    changes.append(Changed("b", "M", ("<<<<<<< HEAD", f">>>>>>> {'a' * 40}")))

    found = settle(findings(changes, (), Integrity.REPORT), Integrity.REPORT, unreviewed=False)

    assert len(found) == MAX_FINDINGS
    assert found[0].fatal


LINES = st.sampled_from(["@pytest.mark.skip", "x = 1", "<<<<<<< HEAD", ">>>>>>> b", "it.only('x')"])
CHANGES = st.lists(
    st.builds(
        Changed,
        st.sampled_from([*TESTS, *NO_TESTS]) | st.text(max_size=10),
        st.sampled_from("AMDR"),
        st.lists(LINES | st.text(max_size=30), max_size=4).map(tuple),
    ),
    max_size=6,
)


@given(CHANGES, st.sampled_from(Integrity))
def test_a_changed_protected_path_fails_only_where_the_setting_says_so(changes, strictness):
    for finding in findings(changes, PROTECTED, strictness):
        if finding.kind == "protected":
            assert (finding.verdict is Verdict.FAIL) == (strictness is Integrity.FAIL)
            assert matches(finding.path, PROTECTED)


@given(CHANGES)
def test_no_change_of_a_protected_path_goes_unseen(changes):
    found = {
        f.path for f in findings(changes, PROTECTED, Integrity.REPORT) if f.kind == "protected"
    }

    assert found == {
        c.path
        for c in changes
        if matches(c.path, PROTECTED) and not (c.status == "A" and "tests" in c.path)
    }


@pytest.mark.parametrize(
    "path",
    ["tests/test_new.py", "tests/data/new.json", "web/__tests__/new.ts", "tests/__init__.py"],
)
def test_b16_an_added_test_or_fixture_is_no_finding(path):
    assert findings([Changed(path, "A")], PROTECTED, Integrity.FAIL) == ()
    assert findings([Changed(path, "M")], PROTECTED, Integrity.FAIL) != ()


@pytest.mark.parametrize("status", ["A", "M", "D"])
@pytest.mark.parametrize(
    "path",
    ["conftest.py", "tests/conftest.py", "pytest.ini", "tests/pytest.ini", "tox.ini", "pytest.py",
     "web/jest.config.ts", "vitest.config.mts", ".mocharc.json", ".coveragerc"],
)  # fmt: skip
def test_b16_files_of_test_runners_are_protected(path, status):
    (found, *_) = findings([Changed(path, status)], DEFAULT, Integrity.FAIL)

    assert (found.kind, found.verdict) == ("protected", Verdict.FAIL)


@pytest.mark.parametrize("path", ["pyproject.toml", "a/setup.cfg", "web/package.json", "Makefile"])
def test_b16_only_the_test_settings_of_shared_files_are_protected(path):
    assert findings([Changed(path)], DEFAULT, Integrity.FAIL) == ()
    (found,) = findings([Changed(path, tests_differently=True)], DEFAULT, Integrity.FAIL)
    assert found.verdict is Verdict.FAIL


SHARED = {
    "pyproject.toml": (
        '[project]\nname = "a"\n[tool.pytest.ini_options]\naddopts = "-q"\n',
        ('"-q"', '"--co"'),
        ('"a"', '"b"'),
    ),
    "setup.cfg": (
        "[metadata]\nname = a\n[tool:pytest]\naddopts = -q\n",
        ("-q", "--ignore=tests"),
        ("= a", "= b"),
    ),
    "package.json": (
        '{"name": "a", "scripts": {"test": "jest", "build": "tsc"}}',
        ("jest", "true"),
        ("tsc", "vite"),
    ),
    "Makefile": (
        "build:\n\tcc x.c\ntest: build\n\tpytest\n\nclean:\n\trm x\n",
        ("pytest", "true"),
        ("rm x", "rm y"),
    ),
}


@pytest.mark.parametrize("path", SHARED)
def test_b16_test_settings_are_told_from_others(path):
    text, tests, other = SHARED[path]
    old = text.encode()

    assert differ(path, old, text.replace(*tests).encode())
    assert not differ(path, old, text.replace(*other).encode())
    assert differ(path, old, b"")
    assert differ(path, old, b"\xff")
    assert not differ("other.toml", old, b"")
