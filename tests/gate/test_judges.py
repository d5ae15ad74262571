"""V1 to V5: the judges over made-up reports and changes."""

from msgspec.structs import replace

from allstop.core.gate import Verdict
from allstop.gate import (
    base_tests,
    canary,
    missing_tests,
    own_tools,
    red_witness,
    twisted_tests,
)
from allstop.gate.composition import judged
from allstop.gate.facts import (
    Case,
    CaseStatus,
    ChangedFile,
    CheckFacts,
    Facts,
    Intent,
    Report,
    Run,
    Runner,
)
from support.cases import for_each

P, F, E, S = CaseStatus.PASSED, CaseStatus.FAILED, CaseStatus.ERROR, CaseStatus.SKIPPED
FILE = "tests/test_a.py"
OLD = "from a import f, g\n\n\ndef test_f():\n    assert f() == 1\n\n\ndef test_g():\n    assert g(2) == 4\n"


def run(passed=True, **cases):
    """`test_f=P` is a test of FILE."""
    found = [Case(id=f"{FILE}::{name}", status=each, file=FILE) for name, each in cases.items()]
    return Run(passed=passed, code=int(not passed), report=Report(cases=tuple(found)))


def change(path=FILE, before=OLD, after=OLD, old_path=""):
    return ChangedFile(path=path, before=before, after=after, old_path=old_path)


PRODUCT = change("a.py", "def f(): return 1\n\n\ndef g(x): return x\n", "def f(): return 2\n")


def facts(*changes, may_change=(), fixes=False, **runs):
    runs = {"own": run(test_f=P, test_g=P), "target": run(test_f=P, test_g=P), **runs}
    check = CheckFacts(name="tests", run="pytest", runner=Runner.PYTEST, **runs)
    intent = Intent(may_change=may_change, fixes=fixes)
    return Facts(changes=changes, checks=(check,), intent=intent)


def verdicts(judge, given):
    return [(each.kind, each.verdict) for each in judge(given)]


# --- missing tests ---


def test_v1_nothing_is_said_where_every_test_still_runs():
    assert verdicts(judged, facts(PRODUCT)) == []


def test_v1_a_test_that_is_gone_fails():
    found = list(missing_tests.findings(facts(own=run(test_f=P))))

    assert [(each.kind, each.verdict, each.test) for each in found] == [
        ("deleted_test", Verdict.FAIL, f"{FILE}::test_g")
    ]
    assert found[0].text == "1 test no longer runs: test_g"


def test_v1_a_test_that_the_new_code_would_pass_is_a_question():
    given = facts(change(), own=run(test_f=P), base_tests=run(test_f=P, test_g=P))
    assert verdicts(missing_tests.findings, given) == [("deleted_test", Verdict.ASK)]


def test_v1_a_test_that_was_declared_is_a_note():
    given = facts(own=run(test_f=P), may_change=("test_g",))
    assert verdicts(missing_tests.findings, given) == [("deleted_test", Verdict.NOTE)]


def test_v1_a_newly_skipped_test_fails_and_an_old_one_does_not():
    given = facts(own=run(test_f=P, test_g=S), target=run(test_f=P, test_g=P, test_h=S))
    assert verdicts(missing_tests.findings, given) == [("skipped_test", Verdict.FAIL)]


def test_v1_a_missing_report_fails_only_where_the_target_makes_one():
    silent = Run(passed=True, code=0)

    assert verdicts(missing_tests.findings, facts(own=silent)) == [("no_report", Verdict.FAIL)]
    assert verdicts(missing_tests.findings, facts(own=silent, target=silent)) == []
    assert verdicts(missing_tests.findings, facts(own=silent, target=None)) == []


def test_v1_a_command_that_passes_with_failed_tests_fails():
    given = facts(own=run(test_f=F, test_g=P))
    assert verdicts(missing_tests.findings, given) == [("forced_pass", Verdict.FAIL)]
    always = facts(own=run(test_f=F, test_g=P), target=run(test_f=F, test_g=P))
    assert verdicts(missing_tests.findings, always) == []


def named(*names, file=FILE):
    cases = [Case(id=f"{file}::{name}", status=P, file=file) for name in names]
    return Run(passed=True, code=0, report=Report(cases=tuple(cases)))


@for_each(
    "own, target, changes",
    [
        (named("test_f", file="tests/test_b.py"), named("test_f"),
         [change("tests/test_b.py", OLD, OLD, FILE)]),  # the file was renamed
        (named("test_f", file="tests/new/test_a.py"), named("test_f"), [change()]),  # moved
        (named("test_f[a]", "test_f[c]"), named("test_f[a]", "test_f[b]"), [change()]),  # rows
        (named("test_other"), named("test_g"),
         [change(after=OLD.replace("test_g", "test_other"))]),  # its assertions are elsewhere
        (named("test_f"), named("test_f", "test_g"),
         [change("a.py", "def gone(x): return x\n", "\n"),
          change(before=OLD.replace("g(2)", "gone(2)"), after="")]),  # what it tests is gone
        (named("test_f"), named("test_f", "test_g"),
         [change("a.js", "class A {\n  static gone(x, y) {\n  }\n}\n", "class A {\n}\n"),
          change(before=OLD.replace("g(2)", "A.gone(2)"), after="")]),
    ],
)  # fmt: skip
def test_v1_a_test_may_be_gone_for_a_reason(own, target, changes):
    given = facts(*changes, own=own, target=target)
    assert verdicts(missing_tests.findings, given) == []


TABLE = "for (const [a, b] of ROWS) test(`${a} === ${b}`, () => expect(join(a)).toBe(b))\n"


def titled(*names):
    file = "a.test.ts"
    cases = [Case(id=f"{file} > {name}", status=P, file=file) for name in names]
    return Run(passed=True, code=0, report=Report(cases=tuple(cases)))


@for_each(
    "own, red, expected",
    [
        (titled("x === 1", "y === 3"), "y === 2", [Verdict.ASK]),  # a row has another title now
        (titled("x === 1"), "y === 2", [Verdict.ASK, Verdict.ASK]),  # a row is gone
        (titled(), "y === 2", [Verdict.FAIL, Verdict.FAIL]),  # the table is gone
    ],
)
def test_v1_v2_a_row_with_another_generated_name_is_a_question(own, red, expected):
    case = Case(id=f"a.test.ts > {red}", status=F, file="a.test.ts", message="expected 3 to be 2")
    given = facts(
        change("a.test.ts", f"ROWS = [['x', 1], ['y', 2]]\n{TABLE}", f"ROWS = []\n{TABLE}"),
        own=own,
        target=titled("x === 1", "y === 2"),
        base_tests=Run(passed=False, code=1, report=Report(cases=(case,))),
    )

    found = [*missing_tests.findings(given), *base_tests.findings(given)]

    assert [each.verdict for each in found] == expected


@for_each(
    "own, red, expected",
    [
        (("T/a", "T/c"), "T/b", [Verdict.ASK]),
        (("T/a",), "T/b", [Verdict.ASK, Verdict.ASK]),
        (("V/a",), "T/b", [Verdict.FAIL, Verdict.FAIL]),
        (("T/a", "U/b"), "T/b", [Verdict.ASK, Verdict.ASK]),
    ],
)
def test_v1_v2_a_row_of_a_table_of_go_with_another_name_is_a_question(own, red, expected):
    def of_go(*names):
        cases = [Case(id=f"pkg::{name}", status=P) for name in names]
        return Run(passed=True, code=0, report=Report(cases=tuple(cases)))

    case = Case(id=f"pkg::{red}", status=F, message="a_test.go:3: got 1")
    given = facts(
        change("a_test.go", "func TestA() {}\n", "func TestA() { x }\n"),
        own=of_go(*own),
        target=of_go("T/a", "T/b"),
        base_tests=Run(passed=False, code=1, report=Report(cases=(case,))),
    )

    found = [*missing_tests.findings(given), *base_tests.findings(given)]

    assert [each.verdict for each in found] == expected


def test_v1_v2_a_declared_file_covers_tests_whose_report_names_no_files():
    case = Case(id="pkg::TestA", status=F, message="a_test.go:3: got 1")
    text = "package a\n\nfunc TestA(t *testing.T) {\n\tcheck(1)\n}\n"
    given = facts(
        change("null_test.go", text, "package a\n"),
        own=Run(passed=True, code=0, report=Report()),
        target=Run(passed=True, report=Report(cases=(replace(case, status=P, message=""),))),
        base_tests=Run(passed=False, code=1, report=Report(cases=(case,))),
        may_change=("null_test.go",),
    )

    found = [*missing_tests.findings(given), *base_tests.findings(given)]

    assert [each.verdict for each in found] == [Verdict.NOTE, Verdict.NOTE]


LEGACY = "from a import legacy\n\n\ndef test_g():\n    assert legacy.g(2) == 4\n"


@for_each(
    "product, expected",
    [
        (change("a/legacy.py", "def g(x): return x\n", None), [Verdict.ASK]),  # the inherited one
        (change("a/other.py", "def g(x): return x\n", None), [Verdict.FAIL] * 2),
        (change("a/legacy.py", "def g(x): return x\n", ""), [Verdict.FAIL] * 2),
    ],
)
def test_v1_a_deleted_file_of_tests_whose_subject_is_gone_is_a_question(product, expected):
    all_tests = "tests/test_all.py"
    inherited = Case(id=f"{all_tests}::tests.test_a.TestAll::test_h", status=P, file=all_tests)
    target = named("test_g").report.cases
    given = facts(
        change(before=LEGACY, after=None),
        product,
        own=named("test_f", file="tests/test_b.py"),
        target=Run(passed=True, code=0, report=Report(cases=(*target, inherited))),
    )
    assert [each.verdict for each in missing_tests.findings(given)] == expected
    declared = replace(given, intent=Intent(may_change=(FILE,)))
    assert {each.verdict for each in missing_tests.findings(declared)} == {Verdict.NOTE}


# --- the target's tests ---

BENT = change(after=OLD.replace("== 4", "== 5"))


def test_v2_a_test_that_was_edited_is_a_question_with_both_versions():
    (found,) = base_tests.findings(facts(PRODUCT, BENT, base_tests=run(False, test_f=P, test_g=F)))

    assert (found.kind, found.verdict, found.path) == ("base_test", Verdict.ASK, FILE)
    assert found.old == "def test_g():\n    assert g(2) == 4"
    assert found.new == "def test_g():\n    assert g(2) == 5"


@for_each(
    "own, changes, verdict",
    [
        (run(test_f=P), [change(after=OLD[:60])], Verdict.FAIL),  # deleted
        (run(test_f=P, test_g=S), [change(after=OLD.replace("4", "4\n"))], Verdict.FAIL),  # skipped
        (run(test_f=P, test_g=P), [change("conftest.py", "", "x = 1\n")], Verdict.FAIL),
        (run(test_f=P, test_g=P), [change("tests/golden/g.json", "1", "2")], Verdict.ASK),
        (run(test_f=P, test_g=P), [change(after=f"X = 1\n{OLD}")], Verdict.ASK),  # around it
    ],
)
def test_v2_what_the_work_did_to_a_failing_test_decides(own, changes, verdict):
    given = facts(*changes, own=own, base_tests=run(False, test_f=P, test_g=F))
    (found,) = base_tests.findings(given)
    assert found.verdict is verdict


@for_each(
    "message, product, expected",
    [
        ("AttributeError: type object 'A' has no attribute '_STEP'", "class A: x", Verdict.ASK),
        (
            "AttributeError: type object 'A' has no attribute '_STEP'",
            "class A: _STEP",
            Verdict.FAIL,
        ),
        ("AttributeError: type object 'A' has no attribute '_OTHER'", "class A: x", Verdict.FAIL),
        ("assert A._STEP == 2", "class A: x", Verdict.FAIL),
    ],
)
def test_v1_v2_a_test_deleted_with_the_name_that_it_lacks_is_a_question(message, product, expected):
    red = Case(id=f"{FILE}::test_g", status=E, file=FILE, message=message)
    given = facts(
        change("a.py", "class A: _STEP", product),
        change(after=OLD[:60]),
        own=run(test_f=P),
        base_tests=Run(passed=False, code=1, report=Report(cases=(red,))),
    )

    assert [each.verdict for each in base_tests.findings(given)] == [expected]
    assert [each.verdict for each in missing_tests.findings(given)] == [expected]


@for_each(
    "message, new, expected",
    [
        ("AttributeError: module 'a' has no attribute 'shorten'", "a.cut(2) == 4", Verdict.NOTE),
        ("assert 3 == 4", "a.cut(2) == 4", Verdict.ASK),
        ("AttributeError: module 'a' has no attribute 'shorten'", "cut(2) == 4", Verdict.NOTE),
        ("AttributeError: module 'a' has no attribute 'shorten'", "a.cut(2) == 5", Verdict.ASK),
        ("AttributeError: module 'a' has no attribute 'shorten'", "a.cut(2) >= 4", Verdict.ASK),
        (
            "AttributeError: module 'a' has no attribute 'shorten'",
            "a.cut(2) == 4 or 1",
            Verdict.ASK,
        ),
        ("AttributeError: module 'a' has no attribute 'shorten'", "a.shorten(2) == 5", Verdict.ASK),
        ("AttributeError: module 'a' has no attribute 'other'", "a.cut(2) == 4", Verdict.ASK),
    ],
)
def test_v2_a_test_whose_name_for_the_product_is_gone_is_a_note(message, new, expected):
    product = change("a.py", "def shorten(x): return x\n", "def cut(x): return x\n")
    old = OLD.replace("g(2) == 4", "a.shorten(2) == 4")
    red = Case(id=f"{FILE}::test_g", status=F, file=FILE, message=message)
    edited = change(before=old, after=old.replace("a.shorten(2) == 4", new))
    base = Run(passed=False, code=1, report=Report(cases=(red,)))

    (found,) = base_tests.findings(facts(product, edited, base_tests=base))

    assert found.verdict is expected


def test_v2_of_very_many_tests_the_first_ones_of_each_verdict_are_shown():
    names = [f"test_{number}" for number in range(base_tests.MOST + 2)]
    changes = change(before="", after=""), change("conftest.py", "", "import a\n")
    red = run(False, **dict.fromkeys(names, F))
    runs = {"own": named(*names), "target": named(*names), "base_tests": red}

    asked = [*base_tests.findings(facts(*changes, **runs))]
    declared = [*base_tests.findings(facts(*changes, may_change=(FILE,), **runs))]

    assert [each.verdict for each in asked] == [Verdict.ASK] * (base_tests.MOST + 1)
    assert asked[-1].text == "2 more tests of the target fail with the new code"
    assert {each.verdict for each in declared} == {Verdict.NOTE}


def test_v2_a_declared_test_is_a_note():
    given = facts(BENT, base_tests=run(False, test_f=P, test_g=F), may_change=("behaviour of g",))
    (found,) = base_tests.findings(given)
    assert (found.verdict, found.declared) == (Verdict.NOTE, True)


def test_v2_a_test_that_failed_before_is_not_the_changes():
    runs = {"target": run(False, test_f=P, test_g=F), "base_tests": run(False, test_f=P, test_g=F)}
    assert verdicts(base_tests.findings, facts(BENT, **runs)) == []


def test_v2_a_file_that_cannot_be_loaded_is_one_question():
    broken = Case(id=FILE, file=FILE, status=E, message="ImportError: cannot import name 'g'")
    ran = Run(passed=False, code=1, report=Report(cases=(broken,)))

    (found,) = base_tests.findings(facts(PRODUCT, BENT, base_tests=ran))

    assert found.verdict is Verdict.ASK
    assert "cannot import name 'g'" in found.text


@for_each("after, expected", [("", Verdict.ASK), ("def shorten(x): return x[1]\n", Verdict.FAIL)])
def test_v2_a_deleted_file_of_tests_whose_subject_is_gone_is_a_question(after, expected):
    """The reports of node don't name what a file lacks."""
    product = change("a.py", "def shorten(x): return x[0]\n", after)
    tests = change(before="from a import shorten\n", after=None)
    broken = Case(id=FILE, file=FILE, status=E, message="Error: test failed")
    ran = Run(passed=False, code=1, report=Report(cases=(broken,)))

    (found,) = base_tests.findings(facts(product, tests, base_tests=ran))

    assert found.verdict is expected


def test_v2_a_run_without_a_report_is_a_question():
    given = facts(BENT, base_tests=Run(passed=False, code=4))
    assert verdicts(base_tests.findings, given) == [("base_test", Verdict.ASK)]


# --- the red witness ---

ADDED = change(after=f"{OLD}\n\ndef test_new():\n    assert f() == 2\n")


@for_each(
    "status, message, fixes, expected",
    [
        (F, "assert 1 == 2", True, []),
        (E, "ZeroDivisionError: division by zero", True, []),
        (E, "ImportError: cannot import name 'h'", True, [("no_witness", Verdict.ASK)]),
        (E, "AttributeError: module 'a' has no attribute 'h'", True, [("no_witness", Verdict.ASK)]),
        (P, "", True, [("no_witness", Verdict.ASK)]),
        (P, "", False, [("no_witness", Verdict.NOTE)]),
        (E, "NameError: name 'h' is not defined", False, []),
    ],
)
def test_v3_a_new_test_must_fail_without_the_work(status, message, fixes, expected):
    case = Case(id=f"{FILE}::test_new", file=FILE, status=status, message=message)
    witness = Run(passed=False, code=1, report=Report(cases=(case,)))
    own = run(test_f=P, test_g=P, test_new=P)

    given = facts(PRODUCT, ADDED, own=own, witness=witness, fixes=fixes)

    assert verdicts(red_witness.findings, given) == expected


# --- canary and twisted tests ---


def with_canary(status, *, passed=False, twisted=(), **cases):
    planted = Case(id="tests/test_a_abc.py::test_f", file="tests/test_a_abc.py", status=status)
    others = [Case(id=f"{FILE}::{name}", status=each, file=FILE) for name, each in cases.items()]
    ran = Run(passed=passed, code=1, report=Report(cases=(planted, *others)))
    return facts(PRODUCT, canary=ran, canary_ids=("abc",), twisted=twisted)


@for_each(
    "given, expected",
    [
        (with_canary(F), []),
        (with_canary(E), []),
        (with_canary(P), [("canary", Verdict.FAIL)]),
        (with_canary(S), [("canary", Verdict.FAIL)]),
        (with_canary(F, passed=True), [("canary", Verdict.FAIL)]),
        (facts(canary=Run(passed=True)), [("canary", Verdict.FAIL)]),
        (facts(canary=Run(passed=False, timed_out=True)), [("canary", Verdict.ASK)]),
    ],
)
def test_v4_a_planted_test_must_fail(given, expected):
    assert verdicts(canary.findings, given) == expected


TWISTED = (f"{FILE}::test_f", f"{FILE}::test_g")


def test_v4_a_planted_test_that_only_ran_alone_counts():
    """A twisted test may have ended the program before it."""
    twisted = Run(passed=False, code=2, report=Report(cases=(Case(id="a::T", status=F),)))
    alone = Run(passed=False, code=1, report=Report(cases=(Case(id="a::Tabc", status=F),)))

    both = canary.with_planted(twisted, alone, ("abc",))

    assert [case.id for case in both.report.cases] == ["a::T", "a::Tabc"]
    assert canary.with_planted(twisted, twisted, ("abc",)) is twisted
    assert canary.with_planted(twisted, None, ("abc",)) is twisted


def test_v4_a_twisted_test_must_fail():
    all_green = with_canary(F, twisted=TWISTED, test_f=P, test_g=P)
    one_green = with_canary(F, twisted=TWISTED, test_f=F, test_g=P)

    assert verdicts(twisted_tests.findings, with_canary(F, twisted=TWISTED, test_f=F)) == []
    assert verdicts(twisted_tests.findings, all_green) == [("checks_nothing", Verdict.FAIL)]
    assert verdicts(twisted_tests.findings, one_green) == []  # the work didn't change that test


@for_each(
    "path, text, expected",
    [
        ("test_a.py", "def test_a():\n    assert f(1) == [1, 2]\n",
         "def test_a():\n    assert f(1) == object()\n"),
        ("test_a.py", "def test_a():\n    assert not f(1), 'ü'\n",
         "def test_a():\n    assert (not (not f(1))), 'ü'\n"),
        ("test_a.py", "class A:\n    def test_a(self):\n        self.assertEqual('ü', f(1), 'x')\n",
         "class A:\n    def test_a(self):\n        self.assertEqual('ü~', f(1), 'x')\n"),
        ("test_a.py", "def test_a():\n    assert f(1) == 2\n    assert True is f(2)\n",
         "def test_a():\n    assert f(1) == 3\n    assert True is object()\n"),
        ("test_a.py", "def test_a():\n    assert f(1) == approx(-1.5)\n    same(f(2), 3)\n",
         "def test_a():\n    assert f(1) == object()\n    same(f(2), 4)\n"),
        ("test_a.py", "def test_a():\n    assert f(1) == pytest.approx(2)\n",
         "def test_a():\n    assert f(1) == pytest.approx(3)\n"),
        ("a.test.js", "test('a', () => { expect(f('(', 1)).toBe('x)') })\n",
         "test('a', () => { expect(f('(', 1)).toBe('x)~') })\n"),
        ("a.test.ts", "it('a', () => { assert.strictEqual(f(1, 2), [3, 4], 'm'); });\n",
         "it('a', () => { assert.strictEqual(f(1, 2),Symbol('other'), 'm'); });\n"),
        ("a.test.js", "test('a', () => {\n  same(f(1), 2);\n});\n",
         "test('a', () => {\n  same(f(1),(2 + 1));\n});\n"),
        ("a_test.go", "func TestA(t *testing.T) {\n\tis.Equal(t, f(1), 2)\n}",
         "func TestA(t *testing.T) {\n\tis.Equal(t, f(1), 3)\n}"),
        ("a_test.go", "func TestA(t *testing.T) {\n\tif f(1) != 2 {\n\t\tt.Fatal()\n\t}\n}",
         "func TestA(t *testing.T) {\n\tif f(1) == 2 {\n\t\tt.Fatal()\n\t}\n}"),
        ("lib.rs", "#[test]\nfn a() {\n    assert_eq!(f(1), 2);\n}",
         "#[test]\nfn a() {\n    assert_ne!(f(1), 2);\n}"),
    ],
)  # fmt: skip
def test_v4_expected_values_are_replaced(path, text, expected):
    made = twisted_tests.twisted(path, text)
    assert made is not None
    assert made.text == expected
    assert len(made.tests) == 1


def test_v4_nothing_is_twisted_where_nothing_is_expected():
    assert twisted_tests.twisted("test_a.py", "def test_a(): pass\n") is None
    assert twisted_tests.twisted("test_a.py", "def (") is None
    assert twisted_tests.twisted("a.rb", "x") is None


@for_each(
    "runner, beside, path",
    [
        (Runner.PYTEST, "tests/test_a.py", "tests/test_a_abc.py"),
        (Runner.PYTEST, "a_test.py", "a_abc_test.py"),
        (Runner.NODE, "src/a.test.mjs", "src/a-abc.test.mjs"),
        (Runner.GO, "pkg/a_test.go", "pkg/a_abc_test.go"),
        (Runner.CARGO, "src/lib.rs", "tests/abc.rs"),
    ],
)
def test_v4_the_canary_has_the_form_of_the_other_tests(runner, beside, path):
    report = Report(cases=(Case(id=f"{beside}::test_that's it", status=P, file=beside),))
    text = "package pkg\n" if runner is Runner.GO else "import x from 'y'\n"

    made = canary.plant(runner, report, {beside: text}, ("src/mod.py", "src/mod.js"), "abc")

    assert made is not None
    assert made.path == path
    assert "test" in made.text


# --- tools ---


def file(path, before=None, after="x\n"):
    return change(path, before, after)


MAKE = CheckFacts(name="tests", run="make check", runner=Runner.PYTEST, own=run(test_f=P))
NPM = CheckFacts(name="tests", run="npm test", runner=Runner.VITEST, own=run(test_f=P))
PLAIN = CheckFacts(name="tests", run="pytest", runner=Runner.PYTEST, own=run(test_f=P))
SHELL = CheckFacts(name="tests", run="./run.sh", own=run(test_f=P))
RULES = "check:\n\tpytest\n\nother:\n\ttrue\n"
SCRIPTS = '{"scripts": {"test": "vitest run", "build": "x"}}'


@for_each(
    "check, changed",
    [
        (PLAIN, file("pytest.py")),
        (PLAIN, file("_pytest/__init__.py")),
        (PLAIN, file("src/sitecustomize.py")),
        (PLAIN, file("x.pth", "a", "b")),
        (PLAIN, file("x.egg-info/entry_points.txt")),
        (PLAIN, file("pyproject.toml", "", '[project.entry-points.pytest11]\nx = "y"\n')),
        (PLAIN, file("pyproject.toml", "", '[tool.uv.sources]\npytest = { path = "x" }\n')),
        (NPM, file("node_modules/.bin/vitest")),
        (NPM, file("package.json", SCRIPTS, SCRIPTS.replace("vitest run", "true"))),
        (NPM, file("package.json", "{}", '{"devDependencies": {"vitest": "file:./fake"}}')),
        (NPM, file("package.json", "{}", '{"scripts": {"pretest": "x"}}')),
        (MAKE, file("Makefile", RULES, RULES.replace("pytest", "true"))),
        (MAKE, file("GNUmakefile", None, RULES)),
        (SHELL, file("run.sh", "pytest\n", "true\n")),
    ],
)
def test_v5_tools_of_the_work_fail(check, changed):
    given = Facts(changes=(changed,), checks=(check,))
    assert verdicts(own_tools.findings, given) == [("own_tool", Verdict.FAIL)]
    declared = Facts(changes=(changed,), checks=(check,), intent=Intent(may_change=(changed.path,)))
    assert verdicts(own_tools.findings, declared) == [("own_tool", Verdict.NOTE)]


@for_each(
    "check, changed",
    [
        (PLAIN, file("src/app.py")),
        (PLAIN, file("tests/test_new.py")),
        (PLAIN, file("pyproject.toml", "", '[project]\nname = "x"\n')),
        (PLAIN, file("docs/pytest.md")),
        (NPM, file("package.json", SCRIPTS, SCRIPTS.replace('"x"', '"y"'))),
        (NPM, file("package.json", "{}", '{"devDependencies": {"vitest": "^3.0.0"}}')),
        (MAKE, file("Makefile", RULES, RULES.replace("true", "false"))),
        (SHELL, file("other.sh", "a", "b")),
    ],
)
def test_v5_other_files_are_no_tools(check, changed):
    assert verdicts(own_tools.findings, Facts(changes=(changed,), checks=(check,))) == []


def test_v5_a_module_more_in_a_package_of_the_target_takes_no_place():
    own, new = file("src/pluggy/_manager.py", "x", "y"), file("src/pluggy/_compat.py")

    alone = Facts(changes=(new,), checks=(PLAIN,))
    beside = Facts(changes=(own, new), checks=(PLAIN,))

    assert verdicts(own_tools.findings, alone) == [("own_tool", Verdict.FAIL)]
    assert verdicts(own_tools.findings, beside) == []
