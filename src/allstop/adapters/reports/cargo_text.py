"""Reads the text that `cargo test` prints: it has no report that stable Rust can write."""

import re

from allstop.gate.facts import Case, CaseStatus, Report

LONGEST_MESSAGE = 500
_COLORS = re.compile(r"\x1b\[[0-9;]*m")
_TARGET = re.compile(r"^\s+(?:Running (?:unittests )?(?P<file>\S+)|Doc-tests (?P<docs>\S+))")
_RESULT = re.compile(
    r"^test (?P<name>.+?)(?: - should panic)? \.\.\. (?P<result>ok|FAILED|ignored\b.*)$"
)
_LINE = re.compile(r" \(line \d+\)$")
_SECTION = re.compile(r"^---- (?P<name>.+?) stdout ----$")
_COMPILES_NOT = re.compile(r"^error(?:\[E\d+\])?: (?P<why>.*)$")
_STATUS = {"ok": CaseStatus.PASSED, "FAILED": CaseStatus.FAILED}


def read(data: bytes, root: str = "") -> Report:
    """The results by the test program: `src/lib.rs::tests::adds`."""
    file, section, why = "", "", ""
    cases: dict[str, Case] = {}
    sections: dict[str, list[str]] = {}
    for line in _COLORS.sub("", data.decode(errors="replace")).splitlines():
        if target := _TARGET.match(line):
            file, section = target["file"] or f"doc-tests {target['docs']}", ""
        elif found := _RESULT.match(line):
            status = _STATUS.get(found["result"], CaseStatus.SKIPPED)
            name = _LINE.sub("", found["name"])
            case = Case(id=f"{file}::{name}", status=status, file=_path(file))
            if case.id not in cases or case.is_red:  # several examples of one item
                cases[case.id] = case
        elif begins := _SECTION.match(line):
            section = f"{file}::{_LINE.sub('', begins['name'])}"
            sections[section] = []
        elif section:
            sections[section].append(line)
        elif not why and (error := _COMPILES_NOT.match(line)):
            why = error["why"]
    if not cases and why:
        return Report(cases=(Case(id="build", status=CaseStatus.ERROR, message=why),))
    return Report(
        cases=tuple(_with_message(case, sections.get(case.id)) for case in cases.values())
    )


def _path(file: str) -> str:
    return "" if file.startswith("doc-tests") else file


def _with_message(case: Case, lines: list[str] | None) -> Case:
    if case.status is not CaseStatus.FAILED or lines is None:
        return case
    text = "\n".join(lines)
    told = [line.strip() for line in lines if line.strip()]
    message = next((line for line in told if "panicked at" not in line), "")[:LONGEST_MESSAGE]
    failed = "assertion" in text or "should panic" in text or "panicked at" not in text
    status = CaseStatus.FAILED if failed else CaseStatus.ERROR
    return Case(id=case.id, status=status, file=case.file, message=message)
