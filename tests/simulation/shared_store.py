"""A simulated store of several machines: leases, lost answers and notices, and cut networks.

It is to `PostgresJournal` what `Disk` and `Port` are to the journal of one machine.
"""

from collections import Counter
from contextlib import asynccontextmanager, contextmanager

import anyio

from allstop.adapters.journals.heartbeat import LeaseTimes
from allstop.core.brakes import Limits
from allstop.core.budget import NOTHING, Account, refuse
from allstop.core.commands import Raise
from allstop.core.daily_budget import reserved_by, spent
from allstop.core.events import Closed, Commanded, MoveEnded, MoveStarted, Opened
from allstop.core.ids import STREAMS, RunId, WriteId, with_ancestors
from allstop.core.moves import TakeTurn
from allstop.ports import (
    ClaimLostError,
    Head,
    HeldError,
    Holder,
    NoRoomError,
    StoreUnreachableError,
)
from allstop.testing.virtual_clock import EPOCH
from simulation.auditor import rule
from simulation.simulated_store import Disk, ProcessKilledError

TIMES = LeaseTimes()
TIMEOUT_S = 3.0
"""After so long a machine that is cut off gets an error instead of an answer."""


class Turns:
    """What the turns of each run used and have reserved, and the limits of the runs above them."""

    def __init__(self, limits=None, closed=None, under_way=None):
        self.limits = limits or {}
        self._closed, self._under_way = closed or {}, under_way or {}

    def take(self, entries):
        for entry in entries:
            self._take(entry.run, entry.event)

    def _take(self, run, event):
        match event:
            case Opened(limits=limits) | Commanded(command=Raise(limits=limits)):
                self.limits.pop(run, None)
                if limits.turns:
                    self.limits[run] = limits
            case MoveStarted(move=TakeTurn()):
                self._under_way[run] = reserved_by(event)
            case MoveEnded(result=result) if self._under_way.pop(run, None):
                self._closed[run] = self._closed.get(run, NOTHING).plus(spent(result))

    def used_below(self, run, without=()):
        used = NOTHING
        for name, amount in (*self._closed.items(), *self._under_way.items()):
            if name.startswith(f"{run}/"):
                used = used.plus(amount)
        for name in without:
            used = used.minus(self._under_way.get(name, NOTHING))
        return used

    def have_room(self, entries, rooms):
        """Whether a write fits."""
        after = Turns(dict(self.limits), dict(self._closed), dict(self._under_way))
        after.take(entries)
        return all(after._has_room(room) for room in rooms if room.above)

    def _has_room(self, room):
        used = self.used_below(room.above)
        before = Account(cap=room.cap, spent=used.minus(room.asked))
        return refuse(room.above, before, room.asked) is None

    @property
    def are_within_limits(self):
        return all(
            self.used_below(run).turns <= limits.turns for run, limits in self.limits.items()
        )


class SharedDisk(Disk):
    """What the server keeps."""

    MOST_AT_ONCE = 20_000

    def __init__(self, audit):
        super().__init__(audit)
        self.claims = {}  # run: the process and the claim's epoch
        self.epochs = 0
        self.seen = {}  # process: when it was last heard of
        self.statements = Counter()
        self.queue = {}
        self.tries = 0
        self._heads = {}
        self._open = {}
        self.turns = Turns()

    async def append(self, *entries, expect=None, write=None):
        if write in self._writes:
            return  # an earlier try arrived
        if expect and expect.rooms and not self.turns.have_room(entries, expect.rooms):
            raise NoRoomError(expect.run)
        await super().append(*entries, expect=expect, write=write)
        self.turns.take(entries)
        rule(self.turns.are_within_limits, "runs below stay within the limits above", entries)
        for entry in entries:
            run, event = entry.run, entry.event
            if run in STREAMS:
                continue
            seq = len(self._records[run])
            if isinstance(event, Opened):
                head = Head(run, event.kind, event.parent, seq, event.at, False)
            else:
                head = self._heads[run]
                closed = head.closed or isinstance(event, Closed)
                head = head._replace(seq=seq, closed=closed)
            self._heads[run] = self._open[run] = head
            if head.closed:
                del self._open[run]

    async def heads(self, *, open_only=False, since=0):
        assert not since
        return list((self._open if open_only else self._heads).values())

    def is_alive(self, process):
        return anyio.current_time() - self.seen.get(process, -1e9) < TIMES.lease_s

    def holder(self, run):
        process, _ = self.claims.get(run, (None, 0))
        return process if process and self.is_alive(process) else None


class Weather:
    """How often the network loses something."""

    def __init__(self, chance, loss=0.0, slowest_s=0.0):
        self.chance = chance
        self.loss = loss
        self.slowest_s = slowest_s

    def loses(self):
        return self.loss and self.chance.random() < self.loss

    async def delay(self):
        if self.slowest_s:
            await anyio.sleep(self.chance.uniform(0, self.slowest_s))


class SharedPort:
    """One process's journal."""

    def __init__(self, disk, name, weather):
        self.disk = disk
        self.name = name
        self.dead = False
        self.is_cut = False
        self.seen_at = anyio.current_time()
        self._weather = weather
        self._held = {}  # the epoch of each claim
        self._known_lost = set()
        self._kept = None  # the copy of the holders
        self._unread = {}  # the newest number of each run that listeners don't know
        self._news = anyio.Event()
        self._listeners = []
        disk.seen[name] = anyio.current_time()

    # --- the journal ---

    async def append(self, *entries, expect=None, write=None):
        write = write or self._own_id()
        began = anyio.current_time()
        await self._reach(write)
        self.disk.statements["append"] += 1
        for run in with_ancestors(expect.run) if expect else ():
            if run in self._held:
                self._check_claim(run)
                break
        await self.disk.append(*entries, expect=expect, write=write)
        self.disk.seen[self.name] = anyio.current_time()
        with anyio.CancelScope(shield=True):
            if self.is_cut or self._weather.loses():
                await anyio.sleep(TIMEOUT_S if self.is_cut else 0)
                raise self._unreachable(write)
        self.seen_at = max(self.seen_at, began)
        self._must_live()

    def _check_claim(self, run):
        if self.disk.claims.get(run) != (self.name, self._held[run]):
            del self._held[run]
            raise ClaimLostError(run, None)

    async def read(self, run, after=0, most=None):
        return await self._ask("read", self.disk.read, run, after, most)

    async def written(self, after, most):
        return await self._ask("written", self.disk.written, after, most)

    async def heads(self, *, open_only=False, since=0):
        self.disk.statements["heads"] += 1
        await self._reach()
        return await self.disk.heads(open_only=open_only, since=since)

    async def last_place(self):
        return await self._ask("last_place", self.disk.last_place)

    async def limits(self, run):
        await self._reach()
        return self.disk.turns.limits.get(run, Limits())

    async def used_below(self, run, without):
        await self._reach()
        return Account(spent=self.disk.turns.used_below(run, without))

    async def _ask(self, name, ask, *words):
        await self._reach()
        self.disk.statements[name] += 1
        return await ask(*words)

    async def _reach(self, write=None):
        await self._weather.delay()
        if self.is_cut:
            await anyio.sleep(TIMEOUT_S)
        self._must_live()
        if self.is_cut:
            raise self._unreachable(write)

    def _unreachable(self, write=None):
        error = StoreUnreachableError("the database doesn't answer", "it is tried again")
        error.write = write
        return error

    def _own_id(self):
        self.disk.tries += 1
        return WriteId(f"try {self.disk.tries}")

    def _must_live(self):
        if self.dead:
            raise ProcessKilledError

    # --- listening ---

    @contextmanager
    def listen(self, listener, alarm=lambda: None, cut_off=lambda: None):
        one = (listener, cut_off)
        self._listeners.append(one)
        try:
            yield
        finally:
            self._listeners.remove(one)

    async def watch_writes(self):
        async with anyio.create_task_group() as group:
            with self.disk.listen(self._on_write):
                group.start_soon(self._keep_beating)
                group.start_soon(self._watch_lease)
                await self._keep_looking()

    def _on_write(self, run, seq):
        self._unread[run] = seq
        if not self._weather.loses():
            self._news.set()

    async def _keep_looking(self):
        while True:
            with anyio.move_on_after(TIMES.look_s):
                await self._news.wait()
            self._news = anyio.Event()
            await self._weather.delay()
            self._must_live()
            if not self.is_cut:
                self._look()

    def _look(self):
        self.disk.statements["look"] += 3
        self._kept = dict(self.disk.claims)
        unread, self._unread = self._unread, {}
        for run, seq in unread.items():
            for listener, _ in list(self._listeners):
                listener(run, seq)
        lost = {
            run for run, epoch in self._held.items() if self._kept.get(run, ("", 0))[1] > epoch
        } - self._known_lost
        self._known_lost |= lost
        if lost:
            self._cut_off()

    def _cut_off(self):
        for _, cut_off in list(self._listeners):
            cut_off()

    async def _keep_beating(self):
        while True:
            began = anyio.current_time()
            if not self.is_cut:
                self.disk.statements["beat"] += 1
                self.disk.seen[self.name] = self.seen_at = began
            await anyio.sleep(TIMES.beat_s)
            self._must_live()

    async def _watch_lease(self):
        while True:
            await anyio.sleep(max(0.1, self.seen_at + TIMES.fence_s - anyio.current_time()))
            if anyio.current_time() - self.seen_at >= TIMES.fence_s:
                self._cut_off()
                while anyio.current_time() - self.seen_at >= TIMES.fence_s:
                    await anyio.sleep(0.2)

    # --- claims ---

    @asynccontextmanager
    async def claim(self, run):
        await self._reach()
        self.disk.statements["claim"] += 1
        if run in self._held or (self.disk.holder(run) not in (None, self.name)):
            raise HeldError(run, self._holder(self.disk.holder(run) or self.name))
        self.disk.epochs += 1
        epoch = self.disk.epochs
        self.disk.claims[run] = (self.name, epoch)
        self._held[run] = epoch
        self._known_lost.discard(run)
        try:
            yield
        finally:
            if self._held.get(run) == epoch:
                del self._held[run]
            if not (self.is_cut or self.dead) and self.disk.claims.get(run) == (self.name, epoch):
                self.disk.statements["release"] += 1
                del self.disk.claims[run]

    def holders(self):
        kept = self.disk.claims if self._kept is None else self._kept
        held = {
            run: self._holder(process)
            for run, (process, _) in kept.items()
            if process != self.name and self.disk.is_alive(process)
        }
        return held | {run: self._holder(self.name) for run in self._held}

    def _holder(self, name):
        return Holder(pid=2, host=name, command="", since=EPOCH, world=name, process=name)


class SharedQueue:
    """One process's access to the queue of runs, which may lose one or give it twice."""

    def __init__(self, port, weather, tell):
        self._port, self._weather, self._tell = port, weather, tell

    async def put(self, handouts):
        await self._port._reach()
        queue = self._port.disk.queue
        for handout in handouts:
            self._port.disk.statements["put"] += 1
            queue.setdefault(handout.run, handout)
        if handouts and not self._weather.loses():
            self._tell()

    async def queued(self):
        await self._port._reach()
        self._port.disk.statements["queued"] += 1
        return set(self._port.disk.queue)

    async def take(self, offers):
        await self._port._reach()
        self._port.disk.statements["take"] += 3
        queue = self._port.disk.queue
        fitting = [each for each in queue.values() if each.needs <= offers]
        if not fitting:
            return None
        best = max(fitting, key=lambda each: each.priority)  # the oldest of these
        if not self._weather.loses():  # else another worker gets it, too
            del queue[best.run]
        if self._weather.loses():
            raise self._port._unreachable()
        return RunId(best.run)
