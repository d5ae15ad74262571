"""Receipts of verified trees, completed with the facts of this machine and kept as files."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import anyio
from anyio import to_thread
from msgspec.structs import replace

from allstop.adapters.checks import find_programs
from allstop.adapters.processes.tools.named_programs import named_programs
from allstop.adapters.receipt_files import ReceiptFiles
from allstop.gate.flaky_tests import flaky_tests
from allstop.gate.receipt import GateReceipt, sealed
from allstop.ports import Box, Launcher, LaunchError, UnsafeError
from allstop.version import describe_version

if TYPE_CHECKING:
    from allstop.app.project import Project

KNOWN_FOR_S = 600.0
"""How long the version of a program is taken for granted."""


MOST_RECEIPTS = 100
"""How many receipts the history of tests is made of: the latest."""


class _Known(NamedTuple):
    at: float
    versions: Mapping[str, str]


class GateReceipts:
    """Keeps the receipts of the gate in `.allstop/receipts`."""

    def __init__(self, project: Project, launcher: Launcher, note: Callable[[str], None]) -> None:
        self._project = project
        self._launcher = launcher
        self._note = note
        self._files = receipt_files(project)
        self._known: dict[tuple[object, ...], _Known] = {}

    async def keep(self, receipt: GateReceipt, place: Box) -> str:
        made = await self.complete(receipt, place)
        try:
            await self._files.keep(made)
        except OSError as error:
            self._note(f"the receipt of {receipt.run} can't be kept: {error.strerror}")
            return ""
        return made.digest

    async def complete(self, receipt: GateReceipt, place: Box) -> GateReceipt:
        """Add the time, this machine and the versions of its tools, without secrets."""
        made = replace(
            receipt,
            tools=dict(await self._versions(receipt, place)),
            at=self._project.clock.now(),
            allstop=describe_version(),
            platform=f"{platform.system()} {platform.machine()}",
        )
        return sealed(self._project.secrets.redact_all_in(made))

    async def flaky_elsewhere(self, tree: str) -> Mapping[str, int]:
        def found() -> Mapping[str, int]:
            others = (each for each in self._files.latest(MOST_RECEIPTS) if each.tree != tree)
            return {each.id: each.trees for each in flaky_tests(others)}

        return await to_thread.run_sync(found)

    async def _versions(self, receipt: GateReceipt, place: Box) -> Mapping[str, str]:
        lines = [each.run for each in receipt.commands]
        names = tuple(dict.fromkeys(name for line in lines for name in named_programs(line)))
        key = (names, place.path, place.tools, place.read)
        known = self._known.get(key)
        if known is None or anyio.current_time() - known.at > KNOWN_FOR_S:
            try:
                found = await find_programs(self._launcher, place, names, receipt.run)
            except (LaunchError, UnsafeError):
                return {}
            versions = {name: each.version or "unknown" for name, each in found.items()}
            known = self._known[key] = _Known(anyio.current_time(), versions)
        return known.versions


def receipt_files(project: Project) -> ReceiptFiles:
    return ReceiptFiles(project.folder / "receipts")
