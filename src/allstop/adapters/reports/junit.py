"""Reads JUnit XML, which most runners of tests can write."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

import junitparser

from allstop.gate.facts import Case, CaseStatus, Report
from allstop.ports import ReportError

LONGEST_MESSAGE = 500
_DECLARES = re.compile(rb"<!(DOCTYPE|ENTITY)", re.IGNORECASE)
_ASSERTION = re.compile(
    r"\s*(?:[\w.]*(?:AssertionError|ComparisonFailure|Failed|DID NOT)\b|assert\b|expected\b)",
    re.IGNORECASE,
)


class _WithFile(junitparser.TestCase):
    file = junitparser.Attr("file")


def read(data: bytes, root: str = "") -> Report:
    """`root`: the folder of the run, for absolute paths. Raises ReportError if it isn't one."""
    if _DECLARES.search(data):
        raise ReportError("the report declares entities")
    try:
        parsed = junitparser.JUnitXml.fromstring(data)
        found = [_case(each, root) for each in _all_cases(parsed)]
    except Exception as error:
        raise ReportError(f"the report can't be read: {error}") from error
    return Report(cases=tuple({case.id: case for case in found}.values()))


def _all_cases(parsed: object) -> Iterator[junitparser.TestCase]:
    if isinstance(parsed, junitparser.TestCase):
        yield parsed
    elif isinstance(parsed, junitparser.JUnitXml | junitparser.TestSuite):
        for part in parsed:
            yield from _all_cases(part)
        if isinstance(parsed, junitparser.TestSuite):
            for suite in parsed.testsuites():  # type: ignore[no-untyped-call]
                yield from _all_cases(suite)


def _case(each: junitparser.TestCase, root: str) -> Case:
    group, name = each.classname or "", each.name or ""
    named = _WithFile.fromelem(each).file  # type: ignore[no-untyped-call]
    file = _file(str(named or ""), root) or _as_file(group)
    status, message = _status(each)
    return Case(id=_id(group, name, file), status=status, file=file, message=message)


def _file(file: str, root: str) -> str:
    if root and file.startswith(f"{root}/"):
        file = file[len(root) + 1 :]
    return file.removeprefix("./")


def _as_file(group: str) -> str:
    """The group, where the runner names the file there."""
    return group if re.fullmatch(r"[^\s:]+\.[cm]?[jt]sx?", group) else ""


def _id(group: str, name: str, file: str) -> str:
    if not file:
        return f"{group}::{name}" if group else name
    if name == file:
        return file  # one that couldn't be read
    module = str(PurePosixPath(file).with_suffix("")).replace("/", ".")
    if group in (module, file):
        classes: list[str] = []
    elif group.startswith(f"{module}."):
        classes = group[len(module) + 1 :].split(".")
    elif not group and name == module:
        return file
    else:
        classes = [group] if group else []
    return "::".join((file, *classes, name))


def _status(each: junitparser.TestCase) -> tuple[CaseStatus, str]:
    found: tuple[CaseStatus, str] = CaseStatus.PASSED, ""
    for result in each.result:
        words = (result.message or result.text or "").strip()
        message = _message(words, result.text or "")
        if isinstance(result, junitparser.Error):
            return CaseStatus.ERROR, message
        if isinstance(result, junitparser.Failure):
            is_assertion = "assert" in (result.type or "").lower() or _ASSERTION.match(words)
            return (CaseStatus.FAILED if is_assertion else CaseStatus.ERROR), message
        if isinstance(result, junitparser.Skipped):
            found = CaseStatus.SKIPPED, message
    return found


def _message(words: str, text: str) -> str:
    """The first line, or the error itself where pytest only says that it couldn't collect."""
    line = words.partition("\n")[0]
    if line.startswith(("collection failure", "failed on setup")):
        errors = re.findall(r"^E\s+(\S.*)$", text, re.MULTILINE)
        line = errors[0] if errors else line
    return line[:LONGEST_MESSAGE]
