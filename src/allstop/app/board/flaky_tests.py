"""The flaky tests of a project, by the receipts of its gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio import to_thread
from msgspec import Struct

from allstop.app.gate_receipts import MOST_RECEIPTS, receipt_files
from allstop.gate.flaky_tests import FlakyTest, unknown_tests
from allstop.gate.flaky_tests import flaky_tests as flaky

if TYPE_CHECKING:
    from allstop.app.project import Project


class FlakyTests(Struct, frozen=True, kw_only=True):
    """The flaky tests, and quarantined ones that no check has reported lately."""

    tests: tuple[FlakyTest, ...]
    unknown: tuple[str, ...] = ()


async def flaky_tests(project: Project) -> FlakyTests:
    files, quarantine = receipt_files(project), project.settings.verification.quarantine

    def found() -> FlakyTests:
        receipts = list(files.latest(MOST_RECEIPTS))
        return FlakyTests(
            tests=flaky(receipts, quarantine), unknown=unknown_tests(receipts, quarantine)
        )

    return await to_thread.run_sync(found)
