"""V1: the recorded report of each runner of tests is read: ids, files, results, messages."""

from pathlib import Path

import pytest

from allstop.adapters.reports import cargo_text, go_json, jest_json, junit
from allstop.gate.facts import CaseStatus
from allstop.ports import ReportError

RECORDED = Path(__file__).with_name("recorded")
ROOT = "/home/person/demo"
PASSED, FAILED, ERROR, SKIPPED = CaseStatus


def read(reader, name):
    report = reader.read((RECORDED / name).read_bytes(), ROOT)
    return {case.id: (case.status, case.file, case.message) for case in report.cases}


def test_v1_a_report_of_pytest():
    cases = read(junit, "pytest.xml")

    assert {name: status for name, (status, _, _) in cases.items()} == {
        "sub/test_c.py": ERROR,
        "test_b.py": ERROR,
        "test_a.py::test_ok": PASSED,
        "test_a.py::test_bad": FAILED,
        "test_a.py::test_name": ERROR,
        "test_a.py::test_raises": FAILED,
        "test_a.py::test_skip": SKIPPED,
        "test_a.py::test_xfail": SKIPPED,
        "test_a.py::test_p[1]": PASSED,
        "test_a.py::test_p[2]": PASSED,
        "test_a.py::TestC::test_in": PASSED,
        "test_a.py::TestC::TestD::test_deep": PASSED,
        "test_a.py::TestU::test_u": FAILED,
        "test_a.py::test_fix": ERROR,
        "test_a.py::test_nofix": ERROR,
    }
    assert cases["test_b.py"][2].startswith("ImportError: cannot import name 'nothere'")
    assert cases["test_a.py::test_fix"] == (ERROR, "test_a.py", "RuntimeError: x")
    assert cases["test_a.py::test_nofix"][2] == "fixture 'zzz' not found"


def test_v1_a_report_of_unittest():
    cases = read(junit, "unittest.xml")

    assert {name: status for name, (status, _, _) in cases.items()} == {
        "test_u.py::A::test_bad": FAILED,
        "test_u.py::A::test_err": ERROR,
        "test_u.py::A::test_exp": SKIPPED,
        "test_u.py::A::test_ok": PASSED,
        "test_u.py::A::test_skip": SKIPPED,
        "test_u.py::A::test_sub": FAILED,
        "test_v.py": ERROR,
    }
    assert cases["test_v.py"][2] == "ModuleNotFoundError: No module named 'nothere'"


def test_v1_a_report_of_node():
    cases = read(junit, "node.xml")

    assert {name: status for name, (status, _, _) in cases.items() if name.startswith("a.")} == {
        "a.test.mjs::adds": PASSED,
        "a.test.mjs::bad": FAILED,
        "a.test.mjs::skips": SKIPPED,
        "a.test.mjs::refs": ERROR,
        "a.test.mjs::grp > in": PASSED,
        "a.test.mjs::grp > later": SKIPPED,
    }
    assert len(cases) == 12  # two files with tests of the same names


def test_v1_a_report_of_vitest():
    cases = read(junit, "vitest.xml")

    assert {name: status for name, (status, _, _) in cases.items()} == {
        "tv/c.test.mjs::grp > ok": PASSED,
        "tv/c.test.mjs::grp > bad": FAILED,
        "tv/c.test.mjs::grp > skipped": SKIPPED,
        "tv/c.test.mjs::grp > name": ERROR,
        "tv/c.test.mjs::grp > later": SKIPPED,
        "tv/c.test.mjs::row 1": PASSED,
        "tv/c.test.mjs::row 2": PASSED,
        "tv/d.test.mjs": ERROR,
    }


def test_v1_a_report_of_jest():
    cases = read(jest_json, "jest.json")

    assert {name: status for name, (status, _, _) in cases.items()} == {
        "t/a.test.js::grp > ok": PASSED,
        "t/a.test.js::grp > bad": FAILED,
        "t/a.test.js::grp > skipped": SKIPPED,
        "t/a.test.js::grp > name": ERROR,
        "t/a.test.js::grp > later": SKIPPED,
        "t/a.test.js::row 1": PASSED,
        "t/a.test.js::row 2": PASSED,
        "t/b.test.js": ERROR,
    }


def test_v1_the_events_of_go():
    data = (RECORDED / "go.json").read_bytes()
    cases = read(go_json, "go.json")

    assert {name: status for name, (status, _, _) in cases.items()} == {
        "example.com/demo/broken": ERROR,
        "example.com/demo/calc::TestAdd": PASSED,
        "example.com/demo/calc::TestBad": FAILED,
        "example.com/demo/calc::TestSkip": SKIPPED,
        "example.com/demo/calc::TestRows/one": PASSED,
        "example.com/demo/calc::TestRows/two_words": PASSED,
        "example.com/demo/calc::TestRows": PASSED,
        "example.com/demo/calc::TestPanic": ERROR,
    }
    assert cases["example.com/demo/broken"][2] == "broken/b_test.go:3:28: undefined: nothere"
    assert b"--- FAIL: TestBad (0.00s)" in go_json.text(data)
    assert b'"Action"' not in go_json.text(data)


def test_v1_the_text_of_cargo():
    cases = read(cargo_text, "cargo.txt")

    assert {name: status for name, (status, _, _) in cases.items()} == {
        "src/lib.rs::tests::adds": PASSED,
        "src/lib.rs::tests::bad": FAILED,
        "src/lib.rs::tests::crash": ERROR,
        "src/lib.rs::tests::ign": SKIPPED,
        "src/lib.rs::tests::pan": PASSED,
        "tests/outer.rs::outer": PASSED,
        "doc-tests demo::src/lib.rs - add": PASSED,
    }
    assert read(cargo_text, "cargo-build.txt") == {
        "build": (ERROR, "", "cannot find function `nothere` in crate `demo`")
    }


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"<testsuites>",
        b"no report",
        b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]><testsuites>&b;</testsuites>',
    ],
)
def test_v1_what_is_no_junit_report_is_refused(text):
    with pytest.raises(ReportError):
        junit.read(text)


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b'{"testResults": 1}'])
def test_v1_what_is_no_report_of_jest_is_refused(text):
    with pytest.raises(ReportError):
        jest_json.read(text)


def test_v1_lines_of_the_product_are_no_results():
    assert go_json.read(b'{"Action": 1}\nok\n\xff{}\n').cases == ()
    assert cargo_text.read(b"test me ... maybe\n\xff\n").cases == ()
