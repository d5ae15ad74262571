"""A simulated store: one disk that may be full, busy or slow, and each process's access to it."""

import hashlib

import anyio
import msgspec

from allstop.adapters.journals.in_memory import MemoryJournal
from allstop.core.ids import HELM
from allstop.ports import StoreBusyError, StoreFullError


class EndlessLoopError(BaseException):
    """Endless calls at one moment of virtual time. A BaseException, so that nothing catches it."""


class ProcessKilledError(BaseException):
    """The process was killed: all its reads and writes end with this error."""


class Disk(MemoryJournal):
    """Passes every write to the auditor, in the order of durability."""

    MOST_AT_ONCE = 20_000

    def __init__(self, audit):
        super().__init__()
        self._audit = audit
        self._hash = hashlib.sha256()
        self._moment = (-1.0, 0)

    async def append(self, *entries, expect=None, write=None):
        self._guard()
        await super().append(*entries, expect=expect, write=write)
        for entry in entries:
            self._hash.update(msgspec.json.encode((entry.run, entry.event)))
        self._audit(entries)

    async def read(self, run, after=0, most=None):
        self._guard()
        return await super().read(run, after, most)

    def events(self, run):
        return [record.event for record in self._records.get(run, ())]

    def runs(self):
        return [run for run in self._records if run != HELM]

    def trace(self):
        """A compact trace of all writes."""
        return self._hash.hexdigest()

    def _guard(self):
        at, count = self._moment
        now = anyio.current_time()
        self._moment = (now, count + 1 if now == at else 1)
        if self._moment[1] > self.MOST_AT_ONCE:
            raise EndlessLoopError


class Faults:
    """The current faults of the disk, for all processes."""

    def __init__(self, chance):
        self._chance = chance
        self.full = False
        self.reserve = 0  # remaining writes to the helm
        self.busy = False
        self.slowest_s = self.climate_s = 0.0  # now, and without a fault
        self.healed_at = 0.0

    def heal(self):
        self.full = self.busy = False
        self.slowest_s = self.climate_s
        self.healed_at = anyio.current_time()

    @property
    def any(self):
        return bool(self.full or self.busy or self.slowest_s)

    def check(self, entries):
        if self.busy and self._chance.random() < 0.5:
            raise StoreBusyError("another process keeps the journal locked", "wait")
        if self.full:
            if not self.reserve or all(entry.run != HELM for entry in entries):
                raise StoreFullError("the disk is full", "make room")
            self.reserve -= 1

    async def delay(self):
        if self.slowest_s:
            await anyio.sleep(self._chance.choice([0.0, 0.0, self.slowest_s / 9, self.slowest_s]))


class Port:
    """One process's access to the journal. A killed process can't write."""

    def __init__(self, disk, faults):
        self._disk = disk
        self._faults = faults
        self.dead = False
        self.listen = disk.listen
        self.watch_writes = disk.watch_writes
        self.claim = disk.claim
        self.holders = disk.holders
        self.heads = disk.heads
        self.last_place = disk.last_place

    async def append(self, *entries, expect=None, write=None):
        await self._faults.delay()
        self._faults.check(entries)
        self._must_live()
        await self._disk.append(*entries, expect=expect, write=write)
        with anyio.CancelScope(shield=True):
            await self._faults.delay()
        self._must_live()

    async def read(self, run, after=0, most=None):
        found = await self._disk.read(run, after, most)
        await self._faults.delay()
        self._must_live()
        return found

    async def written(self, after, most):
        found = await self._disk.written(after, most)
        await self._faults.delay()
        self._must_live()
        return found

    def _must_live(self):
        if self.dead:
            raise ProcessKilledError
