"""V2, V3, V12: the trees of the further runs, and the tests that they run."""

from allstop.gate import inline_tests
from allstop.gate.change_sides import only_documents
from allstop.gate.facts import Case, CaseStatus, ChangedFile, Report, Variant
from allstop.gate.runner_settings import with_test_settings
from allstop.gate.variants import base_tests, witness
from support.cases import for_each

TARGET = Report(
    cases=tuple(
        Case(id=f"{path}::test_x", status=CaseStatus.PASSED, file=path)
        for path in ("tests/test_a.py", "tests/test_b.py")
    )
)


def changed(path, before="1\n", after="2\n", old_path=""):
    return ChangedFile(path=path, before=before, after=after, old_path=old_path)


A = changed("tests/test_a.py")
PRODUCT = changed("src/a.py")


@for_each(
    "changes, variant",
    [
        ([PRODUCT], None),
        ([PRODUCT, changed("tests/test_new.py", None)], None),  # an added test bends no other
        ([PRODUCT, A], Variant(swapped=(A.path,), tests=(A.path,))),
        ([PRODUCT, changed("conftest.py", None)], Variant(swapped=("conftest.py",))),
        ([changed("tests/helper.py")], Variant(swapped=("tests/helper.py",))),
        ([changed("tests/data/x.json")], Variant(swapped=("tests/data/x.json",))),
        ([changed("uv.lock")], Variant()),
        (
            [changed("tests/test_c.py", old_path="tests/test_b.py")],
            Variant(swapped=("tests/test_c.py", "tests/test_b.py"), tests=("tests/test_b.py",)),
        ),
    ],
)
def test_v12_only_changed_test_files_run_unless_others_depend_on_a_change(changes, variant):
    assert base_tests(changes, TARGET) == variant


def test_v12_changed_test_files_are_chosen_where_the_report_names_none():
    report = Report(cases=(Case(id="example.com/in::TestA", status=CaseStatus.PASSED),))
    test, more = changed("in/a_test.go"), changed("out/main_test.go", None)
    paths = test.path, more.path
    assert base_tests([PRODUCT, test, more], report) == Variant(swapped=paths, tests=paths)


def test_v3_the_witness_has_the_targets_code_and_the_new_tests():
    assert witness([PRODUCT, A], ["tests/test_a.py"]) == Variant(
        swapped=("tests/test_a.py",), tests=("tests/test_a.py",)
    )


def test_v12_documents():
    assert only_documents([changed("README.md"), changed("docs/a.rst"), changed("LICENSE")])
    assert not only_documents([changed("README.md"), PRODUCT])
    assert not only_documents([changed("tests/expected.txt")])
    assert not only_documents([changed("requirements.txt")])


RUST = """\
pub fn add(a: i32) -> i32 { a + 1 } // }

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn adds() { assert_eq!(add(1), 2); let _ = "}"; let _ = '}'; }
}
"""


def test_v2_the_tests_in_a_file_of_rust_are_those_of_the_target():
    new = RUST.replace("a + 1", "a + 2").replace(", 2)", ", 3)")

    variant = base_tests([changed("src/lib.rs", RUST, new)], TARGET)

    assert variant is not None
    text = variant.files["src/lib.rs"]
    assert "a + 2" in text
    assert "assert_eq!(add(1), 2)" in text
    assert text.count("mod tests") == 1
    assert inline_tests.modules(RUST)[0].rstrip().endswith("}\n}")
    assert inline_tests.with_tests_of_after([changed("src/lib.rs", RUST, new)])["src/lib.rs"] == (
        inline_tests.spliced(RUST, new)
    )


@for_each(
    "path, before, after, expected",
    [
        ("pyproject.toml",
         "[project]\nversion = 1\n[tool.pytest.ini_options]\naddopts = '-q'\n",
         "[project]\nversion = 2\n[tool.pytest.ini_options]\naddopts = '--co'\n[tool.x]\na = 1\n",
         "[project]\nversion = 2\n[tool.x]\na = 1\n\n[tool.pytest.ini_options]\naddopts = '-q'\n"),
        ("package.json",
         '{"scripts": {"test": "jest"}, "jest": {"a": 1}}',
         '{"scripts": {"test": "true", "x": "y"}, "jest": {"a": 2}, "version": "2"}',
         '{\n  "scripts": {\n    "x": "y",\n    "test": "jest"\n  },\n  "version": "2",\n  "jest": {\n    "a": 1\n  }\n}\n'),
        ("Makefile", "check:\n\tpytest\n", "check:\n\ttrue\n", "check:\n\tpytest\n"),
    ],
)  # fmt: skip
def test_v2_test_settings_are_those_of_the_target(path, before, after, expected):
    assert with_test_settings(path, before, after) == expected
