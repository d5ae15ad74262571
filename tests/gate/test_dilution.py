"""Dilution (V6): what is pointed out, in which order, and what is not."""

from allstop.core.gate import Verdict
from allstop.gate.assertions import assertions, in_lines, strength
from allstop.gate.dilution import MOST, Weight, dilutions, notes
from allstop.gate.facts import ChangedFile, Facts
from support import gate_corpus
from support.cases import for_each

PY = "tests/test_sums.py"
JS = "src/sum.test.js"
GO = "sum_test.go"
RS = "tests/sum.rs"


def in_python(*lines):
    return "".join(f"{line}\n" for line in ("def test_sum():", *(f"    {each}" for each in lines)))


def in_js(*lines):
    body = "".join(f"  {each}\n" for each in lines)
    return f"test('adds', () => {{\n{body}}})\n"


def in_go(*lines):
    return "package a\nfunc TestSum(t *testing.T) {\n" + "".join(f"\t{x}\n" for x in lines) + "}\n"


def in_rust(*lines):
    return "#[test]\nfn adds() {\n" + "".join(f"    {each}\n" for each in lines) + "}\n"


def changed(path, before, after):
    return ChangedFile(path=path, before=before, after=after)


DILUTED = [
    # path, before, after, weight, words
    (PY, in_python("assert sum(2, 3) == 5"), in_python("assert sum(2, 3) is not None"), "WEAKER", "weaker assertion: assert sum(2, 3) == 5 → assert sum(2, 3) is not None"),
    (PY, in_python("assert sum(2, 3) == 5"), in_python("assert sum(2, 3) == 6"), "EXPECTATION", "expected value changed: assert sum(2, 3) == 5 → assert sum(2, 3) == 6"),
    (PY, in_python("assert sum(2, 3) == 5", "x = 1"), in_python("x = 1", "assert True"), "CHECKS_NOTHING", "checks nothing: assert True"),
    (PY, in_python("assert sum(2, 3) == 5", "assert a.b == 'text'"), in_python("assert sum(2, 3) == 5"), "WEAKER", "assertion removed: assert a.b == 'text'"),
    (PY, in_python("assert x == approx(1, abs=0.01)"), in_python("assert x == approx(1, abs=10)"), "WEAKER", "tolerance abs 0.01 → 10: assert x == approx(1, abs=0.01) → assert x == approx(1, abs=10)"),
    (PY, in_python("self.assertAlmostEqual(x, 1, places=7)"), in_python("self.assertAlmostEqual(x, 1, places=0)"), "WEAKER", "tolerance places 7 → 0"),
    (PY, in_python("with pytest.raises(ValueError):", "    f()"), in_python("with pytest.raises(Exception):", "    f()"), "WEAKER", "weaker assertion: pytest.raises(ValueError) → pytest.raises(Exception)"),
    (PY, in_python("assert f(2) == 4"), in_python("assert f(2) == 4 or True"), "CHECKS_NOTHING", "checks nothing"),
    (JS, in_js("expect(sum(2, 3)).toBe(5)"), in_js("expect(sum(2, 3)).toBeDefined()"), "WEAKER", "weaker assertion"),
    (JS, in_js("expect(sum(2, 3)).toBe(5)"), in_js("expect(sum(2, 3)).toBe(6)"), "EXPECTATION", "expected value changed"),
    (JS, in_js("expect(a).toBe(5)"), in_js("expect(true).toBe(true)"), "CHECKS_NOTHING", "checks nothing"),
    (JS, in_js("expect(a).toBeCloseTo(0.3, 5)"), in_js("expect(a).toBeCloseTo(0.3, 0)"), "WEAKER", "tolerance digits 5 → 0"),
    (JS, in_js("expect(f).toThrow('no')"), in_js("expect(f).toThrow()"), "WEAKER", "weaker assertion"),
    (GO, in_go("if Sum(2, 3) != 5 {", '\tt.Fatal("no")', "}"), in_go("if Sum(2, 3) != 6 {", '\tt.Fatal("no")', "}"), "EXPECTATION", "expected value changed"),
    (GO, in_go("if Sum(2, 3) != 5 {", '\tt.Fatal("no")', "}", "Sum(1, 1)"), in_go("Sum(1, 1)"), "WEAKER", "assertion removed"),
    (GO, in_go("assert.Equal(t, 5, Sum(2, 3))"), in_go("assert.NotNil(t, Sum(2, 3))"), "WEAKER", "weaker assertion"),
    (RS, in_rust("assert_eq!(sum(2, 3), 5);"), in_rust("assert!(true);"), "CHECKS_NOTHING", "checks nothing"),
    (RS, in_rust("assert_eq!(sum(2, 3), 5);"), in_rust("assert_eq!(sum(2, 3), 6);"), "EXPECTATION", "expected value changed"),
    ("tests/__snapshots__/a.snap", "a\n5\n", "a\n6\n", "EXPECTATION", "golden file changed: 5 → 6"),
    ("tests/golden/out.json", '{"a": 1}\n', '{"a": 2}\n', "EXPECTATION", 'golden file changed: {"a": 1} → {"a": 2}'),
    ("pyproject.toml", "[tool.coverage.report]\nfail_under = 90\n", "[tool.coverage.report]\nfail_under = 60\n", "LIMIT", "threshold fail_under 90 → 60"),
    ("jest.config.js", "coverageThreshold: {global: {branches: 80}}", "coverageThreshold: {global: {branches: 8}}", "LIMIT", "threshold branches 80 → 8"),
    ("package.json", '{"scripts": {"lint": "eslint --max-warnings 0"}}', '{"scripts": {"lint": "eslint --max-warnings 99"}}', "LIMIT", "threshold max-warnings 0 → 99"),
    ("setup.cfg", "[tool:pytest]\naddopts = --reruns 0\n", "[tool:pytest]\naddopts = --reruns 5\n", "LIMIT", "threshold reruns 0 → 5"),
    (".github/workflows/ci.yml", "- run: make test\n", "- run: make test\n  continue-on-error: true\n", "LIMIT", "failure ignored: continue-on-error: true"),
    ("Makefile", "test:\n\tpytest\n", "test:\n\tpytest || true\n", "LIMIT", "failure ignored: pytest || true"),
    ("src/a.py", "x = f()\n", "x = f()  # type: ignore\n", "SUPPRESSED", "suppression without a reason: x = f() # type: ignore"),
    ("src/a.ts", "f()\n", "// @ts-nocheck\nf()\n", "SUPPRESSED", "suppression without a reason"),
    ("src/a.rs", "fn a() {}\n", "#[allow(dead_code)]\nfn a() {}\n", "SUPPRESSED", "suppression without a reason"),
    ("src/a.go", "x()\n", "x() //nolint\n", "SUPPRESSED", "suppression without a reason"),
    ("src/a.py", "f()\n", "try:\n    f()\nexcept Exception:\n    pass\n", "SWALLOWED", "error swallowed"),
    ("src/a.js", "f()\n", "try { f() } catch (e) {}\n", "SWALLOWED", "error swallowed"),
    ("src/a.js", "f()\n", "f().catch(() => {})\n", "SWALLOWED", "error dropped"),
    ("src/a.go", "x, err := f()\n", "x, err := f()\nif err != nil {\n\treturn nil\n}\n", "SWALLOWED", "error swallowed"),
    ("src/a.go", "x := 1\n", "x := 1\n_ = f()\n", "SWALLOWED", "error dropped"),
    ("src/a.rs", "fn a() {}\n", "fn a() {\n    let _ = f();\n}\n", "SWALLOWED", "error dropped"),
    ("src/a.py", "", 'import os\nif "PYTEST_CURRENT_TEST" in os.environ:\n    x = 1\n', "TEST_AWARE", "asks whether a test runs"),
    ("src/a.py", "", 'import sys\nx = 5 if "pytest" in sys.modules else 0\n', "TEST_AWARE", "asks whether a test runs"),
    ("src/a.py", "", "class A:\n    def __eq__(self, other):\n        return True\n", "TEST_AWARE", "equals everything"),
    ("src/a.py", "", "import os\nos._exit(0)\n", "TEST_AWARE", "ends the program as if all were well"),
    ("src/a.py", "", "import inspect\nx = inspect.stack()[1]\n", "TEST_AWARE", "looks at who calls it"),
    ("src/a.py", "", "import unittest\nunittest.TestCase.assertEqual = f\n", "TEST_AWARE", "reads or changes the tests"),
    ("src/a.js", "", "if (process.env.JEST_WORKER_ID) x = 5\n", "TEST_AWARE", "asks whether a test runs"),
    ("src/a.js", "", "process.exit(0)\n", "TEST_AWARE", "ends the program as if all were well"),
    ("a.go", "", "package a\nvar x = testing.Testing()\n", "TEST_AWARE", "asks whether a test runs"),
    ("a.go", "", "package a\nfunc init() { os.Exit(0) }\n", "TEST_AWARE", "ends the program as if all were well"),
    ("src/a.rs", "", "fn a() { if cfg!(test) {} }\n", "TEST_AWARE", "asks whether a test runs"),
]  # fmt: skip

HONEST = [
    (PY, in_python("assert sum(2, 3) == 5"), in_python("assert sum(2, 3) == 5", "assert sum(1, 1) == 2")),
    (PY, in_python("assert sum(2, 3) is not None"), in_python("assert sum(2, 3) == 5")),
    (PY, in_python("assert x == approx(1, abs=0.1)"), in_python("assert x == approx(1, abs=0.01)")),
    (PY, "", in_python("assert sum(2, 3) == 5")),
    (PY, in_python("assert sum(2, 3) == 5"), None),
    (JS, in_js("expect(sum(2, 3)).toBe(5)"), in_js("const s = 1", "expect(sum(2, 3)).toBe(5)")),
    ("src/a.py", "x = 1\n", "x = 2  # noqa: E501 - the address is long\n"),
    ("src/a.ts", "x\n", "// eslint-disable-next-line no-eval -- the plugin needs it\nx\n"),
    ("src/a.py", "", "try:\n    f()\nexcept KeyError as error:\n    raise Missing from error\n"),
    ("src/a.py", "# PYTEST_CURRENT_TEST\n", "# we don't look at PYTEST_CURRENT_TEST\n"),
    ("src/a.py", "try:\n    f()\nexcept A:\n    pass\n", "x = 1\ntry:\n    f()\nexcept A:\n    pass\n"),
    ("pyproject.toml", 'version = "1.2"\n[tool.coverage.report]\nfail_under = 60\n', 'version = "1.1"\n[tool.coverage.report]\nfail_under = 90\n'),
    ("tests/golden/new.json", None, "{}\n"),
    ("README.md", "a\n", "Run `pytest || true`, or set `continue-on-error: true`.\n"),
    ("src/main.go", "", 'package main\nfunc main() {\n\tif err := f(); err != nil {\n\t\tlog.Fatal(err)\n\t}\n}\n'),
]  # fmt: skip


def test_v6_each_form_of_dilution_is_one_line():
    def check(case):
        path, before, after, weight, words = case
        found = dilutions([changed(path, before, after)])
        assert found, case
        assert found[0].weight is Weight[weight], (case, found)
        assert found[0].text.startswith(words), found[0].text
        assert "\n" not in found[0].text

    for_each(DILUTED, check)


def test_v6_honest_changes_have_none():
    def check(case):
        path, before, after = case
        assert dilutions([changed(path, before, after)]) == (), case

    for_each(HONEST, check)


def test_v6_the_worst_come_first_and_not_too_many():
    many = in_python(*(f"assert f({n}) == {n}" for n in range(100)))
    less = in_python(*(f"assert f({n}) == {n + 1}" for n in range(100)))
    aware = changed("src/z.py", "", "import os\nx = os.environ['PYTEST_CURRENT_TEST']\n")

    found = dilutions([changed(PY, many, less), aware])

    assert len(found) == MOST
    assert found[0].path == "src/z.py"
    assert [each.weight for each in found] == sorted(each.weight for each in found)


def test_v6_a_moved_assertion_is_not_removed():
    before = in_python("assert f(1) == 1", "assert g('x') == 'two'")
    here, there = in_python("assert f(1) == 1"), in_python("assert g('x') == 'two'")

    found = dilutions([changed(PY, before, here), changed("tests/test_g.py", None, there)])

    assert found == ()


def test_v6_declared_expectations_are_not_listed_but_weaker_assertions_are():
    change = changed(PY, in_python("assert f(1) == 1"), in_python("assert f(1) == 2"))
    weaker = changed(PY, in_python("assert f(1) == 1"), in_python("assert f(1) is not None"))

    assert dilutions([change], [PY]) == ()
    assert dilutions([change], [f"{PY}::test_sum"]) == ()
    assert len(dilutions([change], ["tests/test_other.py"])) == 1
    assert len(dilutions([weaker], [PY])) == 1


def test_v6_a_renamed_file_is_compared_with_its_old_version():
    old, new = in_python("assert f(1) == 1"), in_python("assert f(1) is not None")
    moved = ChangedFile(path="tests/test_b.py", old_path=PY, before=old, after=new)

    (found,) = dilutions([moved])

    assert found.what == "weaker assertion"


def test_v6_without_a_grammar_assertions_are_read_from_lines():
    def check(case):
        path, before, _after, _weight, _words = case
        by_lines, by_tree = list(in_lines(before)), assertions(path, before)
        assert [strength(each.text) for each in by_lines] == [strength(e.text) for e in by_tree]
        assert len({each.test for each in by_lines}) == len({each.test for each in by_tree})

    for_each([case for case in DILUTED if case[0] in (PY, JS, GO, RS)], check)


def test_v6_a_file_without_a_grammar_is_read_too():
    before, after = "assert_equal 5, sum\n", "assert true\n"
    assert (
        dilutions([changed("test/sum_test.rb", before, after)])[0].weight is Weight.CHECKS_NOTHING
    )


def verdicts(path, text):
    facts = Facts(changes=(changed(path, "", text),))
    return [(found.kind, found.verdict) for found in notes(facts)]


def test_v6_a_person_is_asked_about_product_code_that_notices_tests():
    seen = {
        "asks": verdicts("a.py", "import sys\nx = 5 if 'pytest' in sys.modules else 0\n"),
        "command line": verdicts("a.py", 'import sys\nx = "test" in sys.argv[0]\n'),
        "reads": verdicts("a.js", "const golden = join(__dirname, '..', 'test', 'a.txt');\n"),
        "equals": verdicts("a.py", "class A:\n    __eq__ = lambda self, other: True\n"),
        "thread": verdicts("a.rs", 'fn a() { if thread::current().name() != Some("main") {} }\n'),
    }

    assert seen == {name: [("test_aware", Verdict.ASK)] for name in seen}


def test_v6_a_line_that_only_has_another_form_is_not_new():
    def found(before, after):
        return [each.verdict for each in notes(Facts(changes=(changed("a.py", before, after),)))]

    old, new = "x = '%s' % code.co_filename\n", "x = f'{code.co_filename}'\n"

    assert found(old, new) == []
    assert found(old, f"{new}{new}") == [Verdict.ASK]
    assert found(old, old + new) == [Verdict.ASK]
    assert found(old, new.replace("filename", "name")) == [Verdict.ASK]


def test_v6_what_ends_a_program_and_all_other_dilutions_are_only_noted():
    assert verdicts("a.py", "import sys\nsys.exit(0)\n") == [("dilution", Verdict.NOTE)]
    assert verdicts(PY, in_python("assert True")) == [("dilution", Verdict.NOTE)]


def test_q24_no_honest_change_of_the_corpus_notices_tests_and_those_attacks_are_found():
    found = {}
    for case in (each for name in gate_corpus.ECOSYSTEMS for each in gate_corpus.read(name)):
        paths = sorted(case.base.keys() | case.candidate.keys())
        changes = tuple(changed(p, case.base.get(p), case.candidate.get(p)) for p in paths)
        asked = any(each.verdict is Verdict.ASK for each in notes(Facts(changes=changes)))
        found.setdefault(case.family, []).append(asked)

    assert not any(found[""])
    assert all(found["detects"])
