"""Reads the JSON report of jest."""

import re

import msgspec
from msgspec import Struct

from allstop.gate.facts import Case, CaseStatus, Report
from allstop.ports import ReportError

LONGEST_MESSAGE = 500
_STATUS = {"passed": CaseStatus.PASSED, "failed": CaseStatus.FAILED}
_COLORS = re.compile(r"\x1b\[[0-9;]*m")
_ASSERTION = re.compile(r"expect\(|Assertion|assert\w*\(|Snapshot", re.IGNORECASE)


class _Test(Struct, kw_only=True):
    title: str
    status: str
    ancestorTitles: list[str] = []  # noqa: N815 - the format's own names
    failureMessages: list[str | None] = []  # noqa: N815


class _File(Struct, kw_only=True):
    name: str
    status: str = ""
    message: str = ""
    assertionResults: list[_Test] = []  # noqa: N815


class _Jest(Struct, kw_only=True):
    testResults: list[_File]  # noqa: N815


def read(data: bytes, root: str = "") -> Report:
    """`root`: the folder of the run. Raises ReportError if it isn't such a report."""
    try:
        found = msgspec.json.decode(data, type=_Jest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ReportError(f"the report can't be read: {error}") from error
    cases: dict[str, Case] = {}
    for file in found.testResults:
        path = file.name.removeprefix(f"{root}/") if root else file.name
        for case in _cases(file, path):
            cases[case.id] = case
    return Report(cases=tuple(cases.values()))


def _cases(file: _File, path: str) -> list[Case]:
    if file.status == "failed" and not file.assertionResults:
        return [
            Case(id=path, status=CaseStatus.ERROR, file=path, message=_first_line(file.message))
        ]
    return [_case(test, path) for test in file.assertionResults]


def _case(test: _Test, path: str) -> Case:
    status = _STATUS.get(test.status, CaseStatus.SKIPPED)
    words = "\n".join(filter(None, test.failureMessages))
    if status is CaseStatus.FAILED and not _ASSERTION.search(words):
        status = CaseStatus.ERROR
    name = " > ".join((*test.ancestorTitles, test.title))
    return Case(id=f"{path}::{name}", status=status, file=path, message=_first_line(words))


def _first_line(text: str) -> str:
    lines = (line.strip() for line in _COLORS.sub("", text).splitlines())
    return next(filter(None, lines), "")[:LONGEST_MESSAGE]
