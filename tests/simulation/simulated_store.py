"""One disk, and what each process sees of it: it may be full, busy, slow, or gone with its process."""

import hashlib

import anyio
import msgspec

from allstop.adapters.journals.in_memory import MemoryJournal
from allstop.core.ids import HELM
from allstop.ports import StoreBusyError, StoreFullError


class SpinningError(BaseException):
    """Something goes on and on while time stands still. Nobody may swallow this."""


class DeadError(BaseException):
    """The process is dead: whatever in it still wants to write or read ends here."""


class Disk(MemoryJournal):
    """Shows every write to the auditor, in the order in which they became durable."""

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
        """What happened, all of it, in few letters."""
        return self._hash.hexdigest()

    def _guard(self):
        at, count = self._moment
        now = anyio.current_time()
        self._moment = (now, count + 1 if now == at else 1)
        if self._moment[1] > self.MOST_AT_ONCE:
            raise SpinningError


class Faults:
    """What is wrong with the disk at the moment, for everybody."""

    def __init__(self, chance):
        self._chance = chance
        self.full = False
        self.reserve = 0  # how often what is said to all may still be written
        self.busy = False
        self.slowest_s = self.climate_s = 0.0  # now, and in ordinary times
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
    """The journal as one process has it. Nothing leaves a process that is dead."""

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
            raise DeadError
