"""Runs tests on mutants of the changed lines, and reports those that no test noticed."""

import shlex
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import NamedTuple

import anyio
from msgspec.structs import replace

from allstop.core.gate import Check, Verdict
from allstop.core.moves import CheckResult, Finding
from allstop.core.text import counted
from allstop.gate.facts import ChangedFile
from allstop.gate.mutants import Mutant, mutants, without_grammar
from allstop.ports import Candidate

SHORTEST_S = 30.0
"""Mutants get twice the time of the checks themselves, and at least this."""

LARGEST_CHARS = 30_000
"""A file travels in a variable of the box, which the kernel bounds."""

RunOne = Callable[[Check, Candidate], Awaitable[CheckResult]]


class Timed(NamedTuple):
    """A check that passed on the work itself."""

    check: Check
    seconds: float


class Mutation(NamedTuple):
    """What the mutants showed."""

    findings: tuple[Finding, ...] = ()
    tried: int = 0

    @property
    def words(self) -> str:
        unnoticed = sum(finding.kind == "survivor" for finding in self.findings)
        return f"{counted(self.tried, 'mutant')} tried, {unnoticed} noticed by no test"


async def try_mutants(
    changes: Sequence[ChangedFile], checks: Sequence[Timed], candidate: Candidate, run_one: RunOne
) -> Mutation:
    """Run the checks on each mutant in a clean clone, until the time is up."""
    originals = {change.path: change.after or "" for change in changes}
    found = [each for each in mutants(changes) if len(each.text) <= LARGEST_CHARS]
    until = anyio.current_time() + max(SHORTEST_S, 2 * sum(each.seconds for each in checks))
    survivors: list[Mutant] = []
    before: Mutant | None = None
    tried = 0
    for mutant in found:
        if anyio.current_time() >= until or not checks:
            break
        box = _box(candidate, mutant, before, originals)
        if not await _is_noticed(mutant, before, checks, box, run_one):
            survivors.append(mutant)
        before, tried = mutant, tried + 1
    return Mutation((*_findings(survivors), *_unreadable(changes)), tried)


async def _is_noticed(
    mutant: Mutant,
    before: Mutant | None,
    checks: Sequence[Timed],
    candidate: Candidate,
    run_one: RunOne,
) -> bool:
    """A check that hangs because of the mutant has noticed it."""
    for check, seconds in checks:
        command = f"{_write(mutant, before)}\n{check.run}"
        timeout_s = min(check.timeout_s, 10 + 3 * seconds)
        ran = await run_one(replace(check, run=command, timeout_s=timeout_s), candidate)
        if not ran.passed:
            return True
    return False


def _box(
    candidate: Candidate, mutant: Mutant, before: Mutant | None, originals: dict[str, str]
) -> Candidate:
    """Cached bytecode would hide a mutant of the same length, so there is none."""
    variables = {"ALLSTOP_MUTANT": mutant.text, "PYTHONDONTWRITEBYTECODE": "1"}
    if before is not None:
        variables["ALLSTOP_BEFORE"] = originals[before.path]
    box = candidate.box
    return candidate._replace(box=replace(box, env={**box.env, **variables}))


def _write(mutant: Mutant, before: Mutant | None) -> str:
    """Commands that mend the file of the last mutant and break that of this one."""
    files = {before.path: "BEFORE"} if before is not None else {}
    files[mutant.path] = "MUTANT"
    lines = [
        f'printf %s "$ALLSTOP_{name}" >{shlex.quote("./" + path)} || exit 125'
        for path, name in files.items()
    ]
    return "\n".join([*lines, "unset ALLSTOP_MUTANT ALLSTOP_BEFORE"])


def _findings(survivors: Sequence[Mutant]) -> Iterator[Finding]:
    for each in sorted(survivors, key=lambda each: (each.path, each.line)):
        yield Finding(
            kind="survivor",
            path=each.path,
            text=f"line {each.line}: {each.words}",
            verdict=Verdict.NOTE,
            old=each.old,
            new=each.new,
        )


def _unreadable(changes: Sequence[ChangedFile]) -> Iterator[Finding]:
    if paths := without_grammar(changes):
        text = "no mutants: install the extra gate, which reads this language"
        yield Finding(kind="no_grammar", path=paths[0], text=text, verdict=Verdict.NOTE)
