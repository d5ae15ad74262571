"""V4: results that only the target's code explains, changed results, documented tests, answers."""

import pytest

from allstop.core.gate import Verdict
from allstop.gate import (
    answer_tables,
    base_tests,
    canary,
    change_sides,
    changed_results,
    inline_tests,
    missing_tests,
    own_tools,
    twisted_tests,
)
from allstop.gate.facts import Case, CaseStatus, ChangedFile, CheckFacts, Facts, Report, Run
from support.cases import for_each

P, F, E = CaseStatus.PASSED, CaseStatus.FAILED, CaseStatus.ERROR
FILE = "tests/test_a.py"


def run(passed=True, *, message="", **cases):
    found = [
        Case(id=f"{FILE}::{name}", status=each, file=FILE, message=message)
        for name, each in cases.items()
    ]
    return Run(passed=passed, report=Report(cases=tuple(found)))


def facts(*changes, **more):
    own = more.pop("own", run(test_f=P, test_g=P))
    runs = {"own": own, "target": run(test_f=P, test_g=P), **more}
    return Facts(changes=changes, checks=(CheckFacts(name="tests", run="pytest", **runs),))


def verdicts(judge, given):
    return [(each.kind, each.verdict) for each in judge(given)]


def with_planted(status, **cases):
    planted = Case(id="tests/test_a_abc.py::test_f", file="tests/test_a_abc.py", status=status)
    made = run(passed=False, **cases)
    return Run(passed=False, report=Report(cases=(planted, *made.report.cases)))


@for_each(
    "canary_run, on_target, expected",
    [
        (with_planted(F, test_f=F), None, []),
        (with_planted(F, test_f=F), with_planted(F, test_f=F), []),
        (with_planted(F, test_f=P), with_planted(F, test_f=P), []),
        (with_planted(F, test_f=P), with_planted(F, test_f=F), [("checks_nothing", Verdict.FAIL)]),
        (run(test_f=F), with_planted(F, test_f=F), [("checks_nothing", Verdict.FAIL)]),
        (run(test_f=F), run(test_f=F), []),
    ],
)
def test_v4_what_is_red_on_the_targets_code_must_be_red_here(canary_run, on_target, expected):
    given = facts(canary=canary_run, canary_target=on_target, canary_ids=("abc",))

    assert verdicts(twisted_tests.findings, given) == expected


def test_v4_the_target_is_only_asked_in_doubt():
    twisted = (f"{FILE}::test_f",)
    known = {"canary_ids": ("abc",), "twisted": twisted}

    def doubtful(canary_run, *changes):
        check = facts(canary=canary_run, **known).checks[0]
        return twisted_tests.is_doubtful(check, changes)

    helper = ChangedFile(path="support/same.py", before="def same(a, b):\n    assert a == b\n")
    assert not doubtful(with_planted(F, test_f=F))
    assert doubtful(with_planted(F, test_f=P))
    assert doubtful(run(test_f=F))
    assert doubtful(with_planted(F, test_f=F), helper)


def test_v4_a_changed_test_tool_fails_unless_the_target_changes_it_too():
    told = f"AssertionError: {canary.CHANGED}unittest.case.TestCase.assertEqual"
    ran = with_planted(F)
    ran = Run(passed=False, report=Report(cases=(Case(**{**as_dict(ran), "message": told}),)))

    given = {"canary": ran, "canary_ids": ("abc",)}
    assert verdicts(canary.findings, facts(**given)) == [("canary", Verdict.FAIL)]
    assert verdicts(canary.findings, facts(**given, canary_target=ran)) == []


def as_dict(ran):
    case = ran.report.cases[0]
    return {"id": case.id, "file": case.file, "status": case.status}


def test_v1_a_run_that_changes_tests_is_asked_about():
    own = Run(passed=True, report=run(test_f=P, test_g=P).report, rewritten=(FILE,))

    assert verdicts(missing_tests.findings, facts(own=own)) == [("rewritten_test", Verdict.ASK)]


# --- the target's tests, without reports ---


@for_each(
    "passed, verdict",
    [(True, []), (False, [("base_test", Verdict.ASK)])],
)
def test_v2_without_reports_the_exit_code_tells(passed, verdict):
    plain = Run(passed=True)
    given = facts(own=plain, target=plain, base_tests=Run(passed=passed))

    assert verdicts(base_tests.findings, given) == verdict


def test_v2_a_check_that_fails_with_the_targets_settings_is_asked_about():
    limits = run(passed=False, test_f=P, test_g=P)

    assert verdicts(base_tests.findings, facts(base_tests=limits)) == [("base_test", Verdict.ASK)]
    some = Run(passed=False, report=limits.report, is_whole=False)
    assert verdicts(base_tests.findings, facts(base_tests=some)) == []


# --- renamed and removed ---

OLD = "from a import fee\n\n\ndef test_f():\n    assert fee(9) == 5\n"


@for_each(
    "test, expected",
    [
        (OLD.replace("fee", "service_fee"), Verdict.NOTE),
        (OLD.replace("fee", "service_fee").replace("9", "1"), Verdict.ASK),
    ],
)
def test_v2_a_test_that_only_uses_a_new_name_is_a_note(test, expected):
    product = ChangedFile(path="a.py", before="def fee(x): ...", after="def service_fee(x): ...")
    edited = ChangedFile(path=FILE, before=OLD, after=test)
    broken = Case(id=FILE, file=FILE, status=E, message="ImportError: cannot import name 'fee'")
    base = Run(passed=False, report=Report(cases=(broken,)))

    found = verdicts(base_tests.findings, facts(product, edited, base_tests=base))

    assert found == [("base_test", expected)]


def test_v2_tests_that_went_with_their_module_are_a_note():
    product = ChangedFile(path="lib/savings.py", before="def months(x): ...")
    gone = ChangedFile(path=FILE, before="from lib.savings import months\n")
    broken = Case(id=FILE, file=FILE, status=E, message="No module named 'lib.savings'")
    base = Run(passed=False, report=Report(cases=(broken,)))

    found = verdicts(base_tests.findings, facts(product, gone, base_tests=base))

    assert found == [("base_test", Verdict.NOTE)]


def test_v1_tests_that_became_rows_of_a_table_are_not_missing():
    old = "def test_f():\n    assert fee(9) == 5\n\n\ndef test_g():\n    assert fee(99) == 0\n"
    table = '@pytest.mark.parametrize("x, y", [\n    (9, 5),\n    (99, 0),\n])\ndef test_fee(x, y):\n    assert fee(x) == y\n'
    own = run(**{"test_fee[9-5]": P, "test_fee[99-0]": P})

    found = missing_tests.findings(facts(ChangedFile(path=FILE, before=old, after=table), own=own))
    fewer = ChangedFile(path=FILE, before=old, after=table.replace("99, 0", "98, 0"))

    assert list(found) == []
    assert verdicts(missing_tests.findings, facts(fewer, own=own)) == [
        ("deleted_test", Verdict.FAIL)
    ]


# --- changed results ---


@for_each(
    "path, text, expected",
    [
        ("a.py", "def new(x):\n    return x\n", "new = _allstop_changed(new)"),
        ("a.py", "class A:\n    def new(self):\n        return 1\n", "A.new = _allstop_changed(A.new)"),
        ("a.mjs", "export function new1(x) {\n  return x;\n}\n", "export const new1 = allstopChanged(new1Allstop);"),
        ("a.ts", "export const new1 = (x: number): number => x;\n", "const new1Allstop = (x: number)"),
        ("a.js", "exports.new1 = (x) => x;\n", "module.exports.new1 = allstopChanged(module.exports.new1);"),
        ("a.go", "package a\n\nfunc New1(x int) bool {\n\treturn true\n}\n", "func New1(x int) (allstop bool) {\n\tdefer func() { allstop = !allstop }()"),
        ("a.rs", "pub fn new1(x: u8) -> u8 {\n    x\n}\n", "{ let allstop = (|| -> u8 {\n    x\n})(); allstop.wrapping_add(1) }"),
    ],
)  # fmt: skip
def test_v3_new_functions_return_something_else(path, text, expected):
    change = ChangedFile(path=path, before="", after=text)
    test = ChangedFile(path=FILE, after="new(1)\nnew1(1)\nNew1(1)\n")

    made = changed_results.changed_files([change, test], [Case(id="x", status=P, file=FILE)])

    assert expected in made[path]


def test_v3_test_modules_of_rust_name_new_functions():
    text = "pub fn new1() -> bool { true }\n\n#[cfg(test)]\nmod tests {\n    fn a() { super::new1(); }\n}\n"
    change = ChangedFile(path="src/a.rs", before="", after=text)

    made = changed_results.changed_files([change], [Case(id="x", status=P, file="src/lib.rs")])

    assert "!allstop" in made["src/a.rs"]


def test_v3_functions_that_are_old_or_return_nothing_are_left_alone():
    text = "def old():\n    return 1\n\n\ndef new():\n    pass\n"
    change = ChangedFile(path="a.py", before="def old():\n    return 2\n", after=text)
    test = ChangedFile(path=FILE, after="old()\nnew()\n")

    assert changed_results.changed_files([change, test], [Case(id="x", status=P, file=FILE)]) == {}


@for_each("status, expected", [(P, [("checks_nothing", Verdict.ASK)]), (F, []), (E, [])])
def test_v3_a_new_test_notices_another_result(status, expected):
    own = run(test_f=P, test_g=P, test_new=P)
    given = facts(own=own, changed_results=run(test_new=status))

    assert verdicts(changed_results.findings, given) == expected


# --- tests in the files of the product ---


@for_each(
    "path, before, after, expected",
    [
        ("a.py", 'def f():\n    """F.\n\n    >>> f()\n    1\n    """\n    return 1\n',
         'def f():\n    """F.\n\n    >>> f()\n    2\n    """\n    return 2\n',
         'def f():\n    """F.\n\n    >>> f()\n    1\n    """\n    return 2\n'),
        ("a.py", 'def f():\n    """F."""\n', 'def f():\n    """Other."""\n', None),
        ("a.rs", "/// ```\n/// assert_eq!(f(), 1);\n/// ```\npub fn f() -> u8 { 1 }\n",
         "/// ```\n/// assert_eq!(f(), 2);\n/// ```\npub fn f() -> u8 { 2 }\n",
         "/// ```\n/// assert_eq!(f(), 1);\n/// ```\npub fn f() -> u8 { 2 }\n"),
        ("a.ts", "const f = 1;\nif (import.meta.vitest) {\n  t(f, 1);\n}\n",
         "const f = 2;\nif (import.meta.vitest) {\n  t(f, 2);\n}\n",
         "const f = 2;\nif (import.meta.vitest) {\n  t(f, 1);\n}\n"),
    ],
)  # fmt: skip
def test_v2_examples_in_docs_and_tests_in_sources_are_the_targets(path, before, after, expected):
    target = Report(cases=(Case(id="doc-tests a::f", status=P, file=path),))
    change = ChangedFile(path=path, before=before, after=after)

    made = inline_tests.with_docs_of_before([change], target)

    assert made.get(path) == expected


# --- answers ---


@for_each(
    "line, count",
    [
        ("known = {(100, 0.1, 2): 121, (50, 0.2, 3): 86.4}", 2),
        ("    case years == 2: return 121", 0),
        ("    if amount < 121 and rate <= 0.1:", 0),
        ("limits = [(100, 0.1, 2, 121), (50, 0.2, 3, 86.4)]", 0),
    ],
)
def test_v8_new_code_that_lists_answers_is_asked_about(line, count):
    tests = {FILE: "assert f(100, 0.1, 2) == 121\nassert f(50, 0.2, 3) == 86.4\nassert f(0) == 0\n"}
    found = answer_tables.answers([ChangedFile(path="a.py", before="", after=f"{line}\n")], tests)

    assert len(found) == count
    asked = verdicts(answer_tables.findings, facts(answers=found))
    assert asked == ([("test_aware", Verdict.ASK)] if count else [])


@for_each(
    "path, new, test",
    [
        ("a.go", '{"2006-01-02 15", plain},', '{"2006-01-02 15", time.Date(2006, 1, 2, 15)},'),
        (
            "a.rs",
            '#[cfg(test)]\nmod tests {\n    const X: [u8; 1] = ["1970": 121];\n}',
            'f("1970") == 121',
        ),
    ],
)
def test_v8_forms_in_texts_and_tests_among_the_product_are_no_answers(path, new, test):
    change = ChangedFile(path=path, before="", after=f"{new}\n")
    assert answer_tables.answers([change], {FILE: f"{test}\n"}) == ()


# --- kinds of files ---


@for_each(
    "path, is_side, is_document",
    [
        ("testdata/statement.txt", True, False),
        ("src/__snapshots__/a.test.js.snap", True, False),
        ("fixtures/plan.txt", True, False),
        ("fixtures/load.py", False, False),
        ("vite.config.ts", True, False),
        ("shop/rates.txt", False, False),
        ("shop/prompts/review.md", False, False),
        ("shop/notice.py", False, False),
        ("docs/rates.md", False, True),
        ("shop/README.md", False, True),
        ("notes.txt", False, True),
    ],
)
def test_v2_data_of_tests_and_of_the_product_are_no_documents(path, is_side, is_document):
    change = ChangedFile(path=path, before="a", after="b")

    assert change_sides.is_test_side(path) == is_side
    assert change_sides.is_document(change) == is_document


@pytest.mark.parametrize(
    "path", ["filecmp.py", "math/__init__.py", "a/__pycache__/b.cpython-311.pyc"]
)
def test_v5_libraries_and_compiled_files_come_from_outside(path):
    check = CheckFacts(name="tests", run="pytest", runner="pytest", own=Run(passed=True))
    given = Facts(changes=(ChangedFile(path=path, after="x"),), checks=(check,))

    assert verdicts(own_tools.findings, given) == [("own_tool", Verdict.FAIL)]


@for_each(
    "path, text, is_shared",
    [
        ("fees/export_test.go", "package fees\n\nfunc init() { limit = 1000 }\n", True),
        ("fees/more_test.go", "package fees\n\nfunc TestMore(t *testing.T) {}\n", False),
        ("tests/test_aa.py", "import a\n\na.fee = lambda x: 5\n", True),
        ("tests/test_aa.py", "import a\n\nsetattr(a, 'fee', None)\n", True),
        (
            "tests/test_aa.py",
            '"""A."""\nimport a\n\nX = [1]\n\n\ndef test_a():\n    a.fee = 1\n',
            False,
        ),
    ],
)
def test_v2_an_added_test_file_that_acts_when_loaded_concerns_all_tests(path, text, is_shared):
    change = ChangedFile(path=path, after=text)

    assert bool(change_sides.shared_changes([change], [])) == is_shared
