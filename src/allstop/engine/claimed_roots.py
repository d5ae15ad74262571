"""Claimed roots: the runs that this process may drive, with all runs below them."""

from collections import Counter
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from allstop.core.ids import RunId, root_of
from allstop.ports import Journal


class Claims:
    """A claim is held as long as a run below its root is driven."""

    def __init__(self, journal: Journal, claim_of: Callable[[RunId], RunId] = root_of) -> None:
        """`claim_of` names the run whose claim covers a run."""
        self._journal = journal
        self._claim_of = claim_of
        self._held: dict[RunId, AbstractAsyncContextManager[object]] = {}
        self._driven: Counter[RunId] = Counter()  # driven runs by root

    def __contains__(self, root: RunId) -> bool:
        return root in self._held

    async def take(self, root: RunId) -> None:
        """Raises HeldError if another process has it."""
        if root not in self._held:
            claim = self._journal.claim(root)
            await claim.__aenter__()
            self._held[root] = claim

    def adopt(self, root: RunId, claim: AbstractAsyncContextManager[object]) -> None:
        """Take over a claim that another part of this process holds."""
        self._held[root] = claim

    def drive(self, run: RunId) -> None:
        self._driven[self._claim_of(run)] += 1

    async def leave(self, run: RunId) -> None:
        self._driven[self._claim_of(run)] -= 1
        await self.release_unless_driven(self._claim_of(run))

    async def release_unless_driven(self, root: RunId) -> None:
        if not self._driven[root]:
            self._driven.pop(root, None)
            if root in self._held:
                await self._held.pop(root).__aexit__(None, None, None)

    async def release_all(self) -> None:
        while self._held:
            _, claim = self._held.popitem()
            await claim.__aexit__(None, None, None)
