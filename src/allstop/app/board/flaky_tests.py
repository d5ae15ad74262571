"""The flaky tests of a project, by the receipts of its gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio import to_thread

from allstop.app.gate_receipts import receipt_files
from allstop.gate.flaky_tests import FlakyTest
from allstop.gate.flaky_tests import flaky_tests as flaky

if TYPE_CHECKING:
    from allstop.app.project import Project

MOST_RECEIPTS = 100
"""How many receipts the history is made of: the latest."""


async def flaky_tests(project: Project) -> tuple[FlakyTest, ...]:
    files = receipt_files(project)
    return await to_thread.run_sync(lambda: flaky(files.latest(MOST_RECEIPTS)))
