"""Notes for reviewers about changed files: what makes checks say less than before."""

from collections.abc import Collection

from anyio import to_thread

from allstop.core.moves import Finding
from allstop.gate import dilution
from allstop.gate.facts import ChangedFile, Facts, Intent
from allstop.ports import Candidate, Subject, Workspaces

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
