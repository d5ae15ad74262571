"""The evidence for a decision about a task's work, in the order in which a reviewer reads it."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from allstop.board.attempt import TaskState
from allstop.board.change_risk import Risk, risk_of
from allstop.board.criteria import Named, criteria_in, files_in, named_for, split_criteria
from allstop.board.gate_summary import describe_failure
from allstop.core.gate import Verdict, finding_name
from allstop.core.moves import ChecksDone, Finding, Integrated
from allstop.core.review_comments import Review, ReviewDecision, Severity, open_findings
from allstop.core.signals import without_signal_line
from allstop.core.tasks import Task
from allstop.core.text import last_chars, one_line
from allstop.gate.change_findings import is_serious
from allstop.gate.receipt import GateReceipt
from allstop.views.patch import LineKind, patch_files
from allstop.views.reported_tests import ReportedTests, reported_tests, results_by_test
from allstop.views.text_pairs import LinePair, line_pairs

OUTPUT_CHARS = 2000
SAID_CHARS = 4000
UNVERIFIED = "No check has verified this work: none is configured."


class Proof(StrEnum):
    """Whether a file or test that shows a criterion was found."""

    CHANGED = "changed"  # it is part of the changes
    PRESENT = "present"  # it is in the work, unchanged
    MISSING = "missing"  # it was named, and is not there


class Shown(Struct, frozen=True, kw_only=True):
    """A file or test that shows a criterion."""

    file: str
    test: str  # "": the file as a whole
    proof: Proof
    by: str  # who names it: the agent, or the criterion itself
    result: str = ""  # of that test, if a check has reported it


class Criterion(Struct, frozen=True, kw_only=True):
    text: str
    shown_by: tuple[Shown, ...]  # empty: unknown

    @property
    def is_shown(self) -> bool:
        return any(shown.proof is not Proof.MISSING for shown in self.shown_by)


class CheckEvidence(Struct, frozen=True, kw_only=True):
    name: str
    passed: bool
    required: bool
    seconds: float
    failure: str  # in one line; "" if it passed
    output: str  # the end of it, if it failed
    tests: ReportedTests | None  # none: its tests are unknown


class ReceiptEvidence(Struct, frozen=True, kw_only=True):
    """The receipt of the tree on which the checks ran."""

    digest: str
    tree: str
    at: datetime | None
    platform: str
    tools: dict[str, str]  # the version of each program, by its name


class EvidenceFinding(Struct, frozen=True, kw_only=True):
    severity: Severity
    text: str
    file: str
    line: int  # in the new version; 0: the file as a whole
    source: str  # "gate", or the name of the agent that reviewed the work
    check: str  # how to check a claim of that agent
    verdict: Verdict | None = None  # of the gate
    test: str = ""  # the id of the test
    declared: bool = False  # the task says that this may change
    pairs: tuple[LinePair, ...] = ()  # the text on the target beside that of the work


class ReviewRound(Struct, frozen=True, kw_only=True):
    """What the second agent and the work's agent said to each other."""

    agent: str
    findings: int
    summary: str
    error: str  # why there was no review
    reply: str


class EvidenceFile(Struct, frozen=True, kw_only=True):
    path: str
    risk: Risk
    change: str  # added, changed, removed, renamed
    added: int | None  # lines; null for a binary file
    removed: int | None


class Changes(Struct, frozen=True, kw_only=True):
    """The changes of the work, the riskiest files first."""

    base: str = ""
    tip: str = ""
    files: tuple[EvidenceFile, ...] = ()
    patch: str = ""
    cut: bool = False  # the patch is longer than shown


class Cost(Struct, frozen=True, kw_only=True):
    attempts: int
    turns: int
    tokens: int
    cost_usd: float
    partial: bool  # more was used, or spent, than agents reported
    seconds: float  # in turns and checks


class Evidence(Struct, frozen=True, kw_only=True):
    """Everything that a decision about a task's work needs."""

    id: str
    title: str
    status: str
    agent: str
    run: str
    ended_at: datetime | None
    review_decision: ReviewDecision | None
    asked: str  # the task's text without its acceptance criteria
    asked_later: tuple[Review, ...]  # what people said when they sent the work back
    may_change: tuple[str, ...]  # which tests the work may change, as a person has declared
    criteria: tuple[Criterion, ...]
    verified_on: str  # which tree the checks ran on, in words; "" if they did not run
    checks: tuple[CheckEvidence, ...]
    receipt: ReceiptEvidence | None  # none: no check has run, or it was not kept
    findings: tuple[EvidenceFinding, ...]  # the worst first
    to_confirm: str  # the findings that `approve` must confirm, in one line
    second: tuple[ReviewRound, ...]
    stalemate: bool  # the two agents still disagree after the last round
    changes: Changes
    said: str  # by the agent, at last
    cost: Cost


class QueuedReview(Struct, frozen=True, kw_only=True):
    """A task that waits for a decision, with its worst finding."""

    id: str
    title: str
    severity: Severity | None  # of the worst finding; null: nothing was found
    why: str  # that finding
    more: int  # how many further findings there are
    agent: str
    files: int
    cost_usd: float
    partial: bool
    since: datetime | None
    can_batch: bool  # several such tasks can be approved together


class FileChange(NamedTuple):
    """A changed file, as git lists it."""

    path: str
    change: str
    added: int | None
    removed: int | None


def evidence(
    task: Task,
    attempt: TaskState,
    files: Iterable[FileChange] = (),
    *,
    base: str = "",
    tip: str = "",
    patch: str = "",
    cut: bool = False,
    present: Collection[Named] = (),
    receipt: GateReceipt | None = None,
) -> Evidence:
    """The evidence about a task. `present` are those of `claims` that exist in the work."""
    gate = attempt.gate_result or ChecksDone()
    changed = _by_risk(attempt, gate, files)
    tally = task.tally
    last = task.attempts[-1]
    return Evidence(
        id=task.id,
        title=task.title,
        status=task.status.value,
        agent=attempt.agent,
        run=last.run,
        ended_at=last.ended_at,
        review_decision=task.review_decision,
        asked=split_criteria(task.body).rest,
        asked_later=task.reviews,
        may_change=task.may_change,
        criteria=tuple(_criteria(task, attempt, changed, present, results_by_test(receipt))),
        verified_on=_verified_on(attempt),
        checks=tuple(_checks(gate, receipt)),
        receipt=_receipt(receipt),
        findings=tuple(_findings(task, attempt, patch)),
        to_confirm=task.findings,
        second=tuple(_rounds(attempt)),
        stalemate=len(attempt.second) > 1 and bool(open_findings(attempt.second)),
        changes=Changes(
            base=base, tip=tip, files=changed, patch=_sorted_patch(patch, changed), cut=cut
        ),
        said=last_chars(without_signal_line(attempt.said).strip(), SAID_CHARS),
        cost=Cost(
            attempts=len(task.attempts),
            turns=tally.turns,
            tokens=tally.tokens,
            cost_usd=tally.cost_microusd / 1e6,
            partial=tally.partial,
            seconds=round(tally.busy_s, 1),
        ),
    )


def claims(task: Task, attempt: TaskState) -> tuple[Named, ...]:
    """The files and tests that the agent or a criterion names; the caller looks which exist."""
    criteria = criteria_in(task.body)
    said = named_for(attempt.said)
    named = [each for at in range(1, len(criteria) + 1) for each in said.get(at, ())]
    files = [Named(file=file) for criterion in criteria for file in files_in(criterion)]
    return tuple(dict.fromkeys([*named, *files]))


def queued(task: Task, attempt: TaskState, *, can_batch: bool) -> QueuedReview:
    """A row of the review queue."""
    found = list(_findings(task, attempt, ""))
    tally = task.tally
    return QueuedReview(
        id=task.id,
        title=task.title,
        severity=found[0].severity if found else None,
        why=one_line(_with_place(found[0]), 200) if found else "",
        more=max(0, len(found) - 1),
        agent=attempt.agent,
        files=attempt.change.files if attempt.change else 0,
        cost_usd=tally.cost_microusd / 1e6,
        partial=tally.partial,
        since=task.changed_at,
        can_batch=can_batch and not found,
    )


def queue(rows: Iterable[QueuedReview]) -> list[QueuedReview]:
    """The worst first; among equals the one that waits longest."""
    return sorted(rows, key=lambda row: (_rank(row.severity), row.since is None, row.since, row.id))


def _rank(severity: Severity | None) -> int:
    return len(Severity) if severity is None else tuple(Severity).index(severity)


def _with_place(finding: EvidenceFinding) -> str:
    return f"{finding.text}: {finding.file}" if finding.file else finding.text


# --- criteria ---


def _criteria(
    task: Task,
    attempt: TaskState,
    files: Sequence[EvidenceFile],
    present: Collection[Named],
    reported: Mapping[str, str],
) -> Iterator[Criterion]:
    said = named_for(attempt.said)
    changed = {file.path for file in files if file.change != "removed"}
    for number, text in enumerate(criteria_in(task.body), start=1):
        by_agent = [
            _shown(named, changed, present, "agent", reported) for named in said.get(number, ())
        ]
        own = [Named(file=file) for file in files_in(text)]
        known = {(shown.file, shown.test) for shown in by_agent}
        itself = [_shown(named, changed, present, "criterion", reported) for named in own]
        found = [
            shown
            for shown in itself
            if shown.proof is Proof.CHANGED and (shown.file, shown.test) not in known
        ]
        yield Criterion(text=text, shown_by=(*by_agent, *found))


def _shown(
    named: Named,
    changed: Collection[str],
    present: Collection[Named],
    by: str,
    reported: Mapping[str, str],
) -> Shown:
    proof = Proof.MISSING
    if named in present:
        proof = Proof.CHANGED if named.file in changed else Proof.PRESENT
    result = reported.get(f"{named.file}::{named.test}", "") if named.test else ""
    return Shown(file=named.file, test=named.test, proof=proof, by=by, result=result)


# --- the gate and the second agent ---


def _verified_on(attempt: TaskState) -> str:
    if attempt.gate_result is None:
        return ""
    commit = attempt.change.head[:10] if attempt.change else ""
    match attempt.target_merge:
        case Integrated(tip=tip):
            return f"{commit} merged with {attempt.spec.target} at {tip[:10]}"
        case _:
            return commit


def _receipt(receipt: GateReceipt | None) -> ReceiptEvidence | None:
    if receipt is None:
        return None
    return ReceiptEvidence(
        digest=receipt.digest,
        tree=receipt.tree,
        at=receipt.at,
        platform=receipt.platform,
        tools=receipt.tools,
    )


def _checks(gate: ChecksDone, receipt: GateReceipt | None) -> Iterator[CheckEvidence]:
    """The failed ones first, the required ones before the others."""
    for check in sorted(gate.results, key=lambda each: (each.passed, not each.required)):
        yield CheckEvidence(
            name=check.name,
            passed=check.passed,
            required=check.required,
            seconds=round(check.seconds, 1),
            failure="" if check.passed else describe_failure(check),
            output="" if check.passed else last_chars(check.output.strip(), OUTPUT_CHARS),
            tests=reported_tests(receipt, check.name),
        )


def _findings(task: Task, attempt: TaskState, patch: str) -> Iterator[EvidenceFinding]:
    gate = attempt.gate_result or ChecksDone()
    numbers = _line_numbers(patch)
    found = [_of_gate(each, numbers) for each in gate.findings]
    found += [
        _finding(Severity.SERIOUS, f"Check failed: {describe_failure(check)}")
        for check in gate.failed
    ]
    found += [_finding(Severity.LOOK, describe_failure(check)) for check in gate.warned]
    found += [
        EvidenceFinding(
            severity=each.severity,
            text=each.claim,
            file=each.file,
            line=each.line,
            source=attempt.second[-1].agent,
            check=each.check,
        )
        for each in open_findings(attempt.second)
    ]
    found += [_finding(Severity.LOOK, note) for note in gate.notes]
    if task.unverified:
        found.append(_finding(Severity.LOOK, UNVERIFIED))
    yield from sorted(found, key=lambda each: _rank(each.severity))


def _finding(severity: Severity, text: str) -> EvidenceFinding:
    return EvidenceFinding(
        severity=severity, text=one_line(text, 500), file="", line=0, source="gate", check=""
    )


_WORDS = {
    "protected": "Guarded file",
    "deleted_test": "Test deleted",
    "skipped_test": "Test skipped",
    "dilution": "",  # its text says it
}


def _of_gate(finding: Finding, numbers: dict[tuple[str, str], int]) -> EvidenceFinding:
    words = _WORDS.get(finding.kind, finding_name(finding.kind))
    more = f": {finding.text}" if finding.text and finding.kind != "protected" else ""
    state = f" {finding.text}" if finding.kind == "protected" else ""
    text = one_line(f"{words}{state}{more}", 500).removeprefix(": ")
    return EvidenceFinding(
        severity=Severity.SERIOUS if is_serious(finding) else Severity.NOTE,
        text=text[:1].upper() + text[1:],
        file=finding.path,
        line=finding.line or _line_of(finding, numbers),
        source="gate",
        check="",
        verdict=finding.verdict,
        test=finding.test,
        declared=finding.declared,
        pairs=line_pairs(finding.old, finding.new),
    )


def _line_of(finding: Finding, numbers: Mapping[tuple[str, str], int]) -> int:
    """Where the text of a finding was added; 0 if it wasn't."""
    texts = filter(None, (finding.text.strip(), finding.new.strip()))
    return next((at for text in texts if (at := numbers.get((finding.path, text)))), 0)


def _rounds(attempt: TaskState) -> Iterator[ReviewRound]:
    for review in attempt.second:
        yield ReviewRound(
            agent=review.agent,
            findings=len(review.findings),
            summary=review.summary,
            error=review.error,
            reply=review.reply,
        )


def _line_numbers(patch: str) -> dict[tuple[str, str], int]:
    """The number of each added line, by its file and its stripped text; the first one counts."""
    found: dict[tuple[str, str], int] = {}
    for file in patch_files(patch):
        for line in file.lines:
            if line.kind is LineKind.ADDED:
                found.setdefault((file.path, line.text.strip()), line.after)
    return found


# --- changes ---


def _by_risk(
    attempt: TaskState, gate: ChecksDone, files: Iterable[FileChange]
) -> tuple[EvidenceFile, ...]:
    guarded = attempt.effective_gate.protected
    found = [finding for finding in gate.findings if is_serious(finding)]
    rated = [
        EvidenceFile(
            path=file.path,
            risk=risk_of(file.path, added=file.change == "added", guarded=guarded, found=found),
            change=file.change,
            added=file.added,
            removed=file.removed,
        )
        for file in files
    ]
    order = tuple(Risk)
    return tuple(sorted(rated, key=lambda file: order.index(file.risk)))


def _sorted_patch(patch: str, files: Sequence[EvidenceFile]) -> str:
    """The patch with its files in this order."""
    order = {file.path: at for at, file in enumerate(files)}
    parts = sorted(patch_files(patch), key=lambda part: order.get(part.path, len(order)))
    return "".join(f"{part.text}\n" for part in parts)
