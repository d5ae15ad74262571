"""Checks a receipt again: the same commands on the same tree, in a box of this machine."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import anyio
from msgspec import Struct

from allstop.adapters.checks import BoxedChecks
from allstop.adapters.git.repository.repository import Repository
from allstop.adapters.git.repository.safe_names import is_commit_name
from allstop.adapters.processes.sandbox_probe import make_launcher
from allstop.adapters.reports.report_request import RunnerReports
from allstop.app import runtime
from allstop.app.agents.registry import Agents
from allstop.app.gate_receipts import GateReceipts
from allstop.app.gateway.hosts import hosts_opener
from allstop.app.runs.commands import refuse_if_stopped
from allstop.app.secrets import SecretFilter
from allstop.core.asks import Answer, Ask, Permission
from allstop.core.errors import AllstopError
from allstop.core.gate import Check, Integrity
from allstop.core.ids import RunId
from allstop.core.moves import Failed, Item, RunChecks
from allstop.engine.hands import Hands
from allstop.gate.receipt import Difference, GateReceipt, differences
from allstop.ports import Box, Live

if TYPE_CHECKING:
    from allstop.app.project import Project

LABEL = RunId("verify")


class ReceiptCheck(Struct, frozen=True, kw_only=True):
    """The outcome of checking a receipt again."""

    same: bool  # in every result; tools and platform may differ
    receipt: str  # the digest of the first one
    tree: str
    differences: tuple[Difference, ...]
    passed: bool  # now


async def check_receipt(
    project: Project, receipt: GateReceipt, progress: Callable[[str], None]
) -> ReceiptCheck:
    """Run the receipt's commands again.

    Raises AllstopError if its tree can't be found or cloned here.
    """
    await refuse_if_stopped(project)
    commit = await _find_commit(project, receipt)
    again = await _run_again(project, receipt, commit, progress)
    found = differences(receipt, again)
    return ReceiptCheck(
        same=not any(each.counts for each in found),
        receipt=receipt.digest,
        tree=receipt.tree,
        differences=found,
        passed=all(each.passed or not each.required for each in again.commands),
    )


async def _find_commit(project: Project, receipt: GateReceipt) -> str:
    """A commit here with the receipt's tree: its own one, fetched if need be, or any other."""
    if not is_commit_name(receipt.commit) or not is_commit_name(receipt.tree):
        raise AllstopError("the receipt names no commit", code="receipt_invalid")
    repository = project.open_repository()
    try:
        commit = await repository.commit(receipt.commit) or await _fetch(repository, receipt)
        tree = (await repository.resolve(f"{commit}^{{tree}}"))[0] if commit else None
        if commit and tree == receipt.tree:
            return commit
        if commit:
            message = f"commit {receipt.commit[:10]} has the tree {tree}, not {receipt.tree}"
            raise AllstopError(message, code="receipt_changed")
        listed = await repository.git("log", "--all", "--format=%H %T")
        for line in listed.splitlines():
            name, _, tree = line.partition(" ")
            if tree == receipt.tree:
                return name
    finally:
        repository.close()
    message = f"neither this repository nor its remotes have the tree {receipt.tree[:10]}"
    hint = f"fetch commit {receipt.commit[:10]} into this repository, then try again"
    raise AllstopError(message, hint, code="receipt_tree_missing")


async def _fetch(repository: Repository, receipt: GateReceipt) -> str | None:
    """The receipt's commit from a remote; servers may refuse to give a commit without a branch."""
    for remote in (await repository.git("remote")).splitlines():
        for wanted in (receipt.commit, ""):
            await repository.run("fetch", "--quiet", "--no-tags", remote, *filter(None, [wanted]))
            if found := await repository.commit(receipt.commit):
                return found
    return None


async def _run_again(
    project: Project, receipt: GateReceipt, commit: str, progress: Callable[[str], None]
) -> GateReceipt:
    project.make_folder()
    launcher = await make_launcher(project.settings.sandbox.mode.value, project.live)
    workspaces = await runtime.open_workspaces(project, launcher)
    kept = _LastReceipt(GateReceipts(project, launcher, progress))
    hands = Hands(
        Agents(project, launcher),
        checks=BoxedChecks(launcher, open_hosts=hosts_opener(launcher, "verification")),
        workspaces=workspaces,
        launcher=launcher,
        clean=SecretFilter(lambda: project.secrets),
        receipts=kept,
        reports=RunnerReports(),
        compares=False,
    )
    name = f"~verify{os.getpid()}"  # never a task's id, and unique to this process
    move = RunChecks(
        checks=tuple(
            Check(
                name=each.name,
                run=each.run,
                timeout_s=each.timeout_s,
                required=each.required,
                report=each.report,
                trusted=False,  # they come from the receipt's file
            )
            for each in receipt.commands
            if not each.held_out
        ),
        workspace=name,
        commit=commit,
        keep_going=True,
        integrity=Integrity.REPORT,
        quarantine=receipt.quarantine,
    )
    try:
        done = await hands.perform(LABEL, move, _Progress(progress), math.inf)
    finally:
        with anyio.CancelScope(shield=True):
            await workspaces.drop_candidate(name)
            workspaces.close()
    if isinstance(done, Failed):
        raise AllstopError(done.message, code="workspace_not_opened")
    if kept.receipt is None:
        raise AllstopError("no command could be run", code="workspace_not_opened")
    return kept.receipt


class _LastReceipt:
    """Completes a receipt like the gate, and keeps it in memory only."""

    def __init__(self, receipts: GateReceipts) -> None:
        self._receipts = receipts
        self.receipt: GateReceipt | None = None

    async def keep(self, receipt: GateReceipt, place: Box) -> str:
        self.receipt = await self._receipts.complete(receipt, place)
        return self.receipt.digest

    async def flaky_elsewhere(self, tree: str) -> Mapping[str, int]:
        return {}


class _Progress:
    """Tells what the checks report."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell

    def live(self, live: Live) -> None:
        pass

    async def saw(self, item: Item) -> None:
        self._tell(item.text)

    async def opened(self, thread: str) -> None:
        pass

    async def words(self) -> str:
        await anyio.sleep_forever()
        return ""

    async def reached(self) -> None:
        pass

    async def ask(self, ask: Ask) -> Answer:
        return Answer(leave=Permission.DENY, by="nobody is there")
