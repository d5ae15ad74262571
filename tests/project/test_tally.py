"""The count that ends a run of the suite."""

from __future__ import annotations

import subprocess
import sys

import pytest

from project import project_files

PASSED = '<testcase classname="a" name="b"/>'
SKIPPED = '<testcase classname="a" name="b"><skipped message="no reason"/></testcase>'
XFAILED = '<testcase classname="a" name="b"><skipped type="pytest.xfail" message=""/></testcase>'
FAILED = '<testcase classname="a" name="b"><failure message="x"/></testcase>'
BROKEN = '<testcase classname="a" name="b"><error message="x"/></testcase>'


def tally(folder, *options: str) -> tuple[int, str]:
    ran = subprocess.run(
        [sys.executable, project_files.ROOT / "tools" / "tally", folder, *options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stderr == ""
    return ran.returncode, ran.stdout.splitlines()[-1].strip("= ")


@pytest.mark.parametrize(
    ("reports", "options", "code", "said"),
    [
        (["", PASSED], [], 0, "1 passed in 1.50s"),
        ([PASSED, PASSED + PASSED], ["--strict"], 0, "3 passed in 3.00s"),
        ([PASSED + SKIPPED], [], 0, "1 skipped, 1 passed in 1.50s"),
        ([PASSED + SKIPPED], ["--strict"], 1, "1 skipped, 1 passed in 1.50s"),
        ([PASSED + XFAILED], ["--strict"], 1, "1 skipped, 1 passed in 1.50s"),
        ([PASSED, FAILED], [], 1, "1 failed, 1 passed in 3.00s"),
        ([PASSED + BROKEN], [], 1, "1 errors, 1 passed in 1.50s"),
        ([""], [], 1, "no tests ran in 0.00s"),
        ([], [], 1, "no tests ran in 0.00s"),
    ],
)
def test_reports_are_counted(tmp_path, reports, options, code, said):
    for number, cases in enumerate(reports):
        time = "1.50" if cases else "0.00"
        suite = f'<testsuites><testsuite time="{time}">{cases}</testsuite></testsuites>'
        (tmp_path / f"{number}.xml").write_text(suite)

    assert tally(tmp_path, *options) == (code, said)


def named(name: str, child: str = "") -> str:
    return f'<testcase classname="a" name="{name}">{child}</testcase>'


def test_only_the_second_result_of_a_test_that_ran_again_counts(tmp_path):
    failure = "<failure/>"
    first = named("b") + named("c", failure) + named("d", failure) + named("d", "<error/>")
    again = named("c") + named("d", failure)
    for report, cases in (("parallel", first), ("again", again)):
        (tmp_path / f"{report}.xml").write_text(f'<testsuite time="1">{cases}</testsuite>')

    assert tally(tmp_path) == (1, "1 failed, 2 passed in 2.00s")


def test_a_test_that_passes_alone_is_named_as_flaky(tmp_path):
    first, again = named("b") + named("c", "<failure/>"), named("c")
    for report, cases in (("parallel", first), ("again", again)):
        (tmp_path / f"{report}.xml").write_text(f'<testsuite time="1">{cases}</testsuite>')

    ran = subprocess.run(
        [sys.executable, project_files.ROOT / "tools" / "tally", tmp_path, "--strict"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert ran.stdout.splitlines()[0] == "flaky: a.c"
    assert "2 passed in 2.00s" in ran.stdout.splitlines()[-1]
