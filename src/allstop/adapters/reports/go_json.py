"""Reads the events of `go test -json`."""

import re

import msgspec
from msgspec import Struct

from allstop.gate.facts import Case, CaseStatus, Report

LONGEST_MESSAGE = 500
_STATUS = {"pass": CaseStatus.PASSED, "fail": CaseStatus.FAILED, "skip": CaseStatus.SKIPPED}
_CRASH = re.compile(r"^(panic:|fatal error:|\s*--- FAIL.*\n?.*panic)", re.MULTILINE)


_FRAMES = ("===", "---", "FAIL", "PASS", "ok", "#")


class _Event(Struct, rename="pascal", kw_only=True):
    action: str
    package: str = ""
    test: str = ""
    output: str = ""
    import_path: str = ""


_decode = msgspec.json.Decoder(_Event).decode


def read(data: bytes, root: str = "") -> Report:
    """Lines that are no events, such as the program's own output, are passed over."""
    said: dict[tuple[str, str], list[str]] = {}
    ended: dict[tuple[str, str], CaseStatus] = {}
    for line in data.splitlines():
        event = _event(line)
        if event is None:
            continue
        key = event.package or event.import_path.partition(" ")[0], event.test
        if event.action in ("output", "build-output"):
            said.setdefault(key, []).append(event.output)
        elif event.action in _STATUS:
            ended[key] = _STATUS[event.action]
    broken = {package for package, test in ended if test}
    cases = [
        _case(package, test, status, "".join(said.get((package, test), ())))
        for (package, test), status in ended.items()
        if test or (status is CaseStatus.FAILED and package not in broken)
    ]
    return Report(cases=tuple(cases))


def _event(line: bytes) -> _Event | None:
    if not line.startswith(b"{"):
        return None
    try:
        return _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _case(package: str, test: str, status: CaseStatus, output: str) -> Case:
    if not test:  # it couldn't be built, or it ended without results
        return Case(id=package, status=CaseStatus.ERROR, message=_told(output))
    if status is CaseStatus.FAILED and _CRASH.search(output):
        status = CaseStatus.ERROR
    is_red = status in (CaseStatus.FAILED, CaseStatus.ERROR)
    message = _told(output) if is_red else ""
    return Case(id=f"{package}::{test}", status=status, message=message)


def _told(output: str) -> str:
    lines = (line.strip() for line in output.splitlines())
    told = (line for line in lines if line and not line.startswith(_FRAMES))
    return next(told, "")[:LONGEST_MESSAGE]


def text(data: bytes) -> bytes:
    """What a person would have seen: the output of all events, and the lines that are none."""
    shown = []
    for line in data.splitlines(keepends=True):
        event = _event(line)
        shown.append(line if event is None else event.output.encode())
    return b"".join(shown)
