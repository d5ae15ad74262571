"""Claimed roots: the root runs that this process may drive, with all runs below them."""

from collections import Counter
from contextlib import AbstractContextManager

from allstop.core.ids import RunId, root_of
from allstop.ports import Journal


class Claims:
    """A claim is held as long as a run below its root is driven."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._held: dict[RunId, AbstractContextManager[object]] = {}
        self._driven: Counter[RunId] = Counter()  # driven runs by root

    def __contains__(self, root: RunId) -> bool:
        return root in self._held

    def take(self, root: RunId) -> None:
        """Raises HeldError if another process has it."""
        if root not in self._held:
            claim = self._journal.claim(root)
            claim.__enter__()
            self._held[root] = claim

    def adopt(self, root: RunId, claim: AbstractContextManager[object]) -> None:
        """Take over a claim that another part of this process holds."""
        self._held[root] = claim

    def drive(self, run: RunId) -> None:
        self._driven[root_of(run)] += 1

    def leave(self, run: RunId) -> None:
        self._driven[root_of(run)] -= 1
        self.release_unless_driven(root_of(run))

    def release_unless_driven(self, root: RunId) -> None:
        if not self._driven[root]:
            self._driven.pop(root, None)
            if root in self._held:
                self._held.pop(root).__exit__(None, None, None)

    def release_all(self) -> None:
        for claim in self._held.values():
            claim.__exit__(None, None, None)
        self._held.clear()
