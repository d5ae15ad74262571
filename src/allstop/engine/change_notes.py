"""What changed files tell a reviewer: weaker checks, and changes of allstop.toml."""

from collections.abc import Awaitable, Callable, Collection

from anyio import to_thread

from allstop.core.gate import Verdict
from allstop.core.moves import Finding
from allstop.core.text import one_line
from allstop.gate import dilution
from allstop.gate.facts import ChangedFile, Facts, Intent
from allstop.gate.failed_tests import quarantine
from allstop.ports import Candidate, Subject, Workspaces

SETTINGS_FILE = "allstop.toml"
LONGEST_PROBLEM = 300

SettingsProblem = Callable[[str], Awaitable[str]]
"""Why a commit's settings file can't be used; "" if it can."""

FEW_CHARS = 100_000
"""So much text is compared at once; for more, a thread keeps the event loop free."""


async def change_notes(
    workspaces: Workspaces,
    work: Subject | Candidate,
    may_change: Collection[str],
) -> tuple[Finding, ...]:
    """The dilutions in the changes, the worst first. Nothing is read where there can be none."""
    changes = await workspaces.changes(work)
    if not any(dilution.concerns(change.path) for change in changes):
        return ()
    contents = tuple(await workspaces.contents(work))
    facts = Facts(changes=contents, intent=Intent(may_change=tuple(may_change)))
    if sum(map(_chars, contents)) <= FEW_CHARS:
        return tuple(dilution.notes(facts))
    return await to_thread.run_sync(lambda: tuple(dilution.notes(facts)))


def _chars(change: ChangedFile) -> int:
    return len(change.before or "") + len(change.after or "")


async def no_problem(commit: str) -> str:
    return ""


async def unusable(commit: str, problem_of: SettingsProblem) -> tuple[Finding, ...]:
    """Settings that can't be used would stop all later work, so they always fail the gate."""
    problem = one_line(await problem_of(commit), LONGEST_PROBLEM)
    if not problem:
        return ()
    kind, path = "invalid_settings", SETTINGS_FILE
    return (Finding(kind=kind, path=path, text=problem, fatal=True, verdict=Verdict.FAIL),)


async def quarantined(workspaces: Workspaces, work: Subject | Candidate) -> tuple[Finding, ...]:
    before = await workspaces.texts(work.base, (SETTINGS_FILE,))
    after = await workspaces.texts(work.commit, (SETTINGS_FILE,))
    texts = [each.get(SETTINGS_FILE, "") for each in (before, after)]
    return tuple(quarantine.findings(SETTINGS_FILE, *texts))
