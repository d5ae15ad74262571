"""Z1, Z2, Z4, Z11: a fleet's dispatch, Allstop, idle workers, throughput by workers, and appends.

One real PostgreSQL server, a shared repository, and real workers, all on this machine: the workers
share its cores, so throughput says little about several machines. Prints figures; asserts nothing.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import anyio

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from allstop.adapters.clock import SystemClock
from allstop.adapters.journals.postgres import PostgresJournal
from allstop.core.commands import Say
from allstop.core.events import Commanded, Opened
from allstop.core.ids import RunId
from allstop.ports import Entry, Holder
from common import figure, print_load, sized, skip_if_tiny
from support.machines import Machines
from support.person import wait_for

AGENT = """
cat >/dev/null
sleep {takes_s}
echo done >"$(pwd | tr / _).txt"
echo '<promise>COMPLETE</promise>'
"""
NOW = datetime(2026, 1, 1, tzinfo=UTC)
LEASE_S = 30


class Fleet:
    """A control room and some workers, each on a machine of its own."""

    def __init__(self, place: Path, workers: int, takes_s: float, slots: int) -> None:
        place.mkdir()
        self.slots = slots
        self.machines = Machines(place, count=workers + 1, lease_s=LEASE_S)
        for machine in self.machines:
            machine.variables["ALLSTOP_SANDBOX_MODE"] = "off"
        every = workers * slots
        settings = (
            f'[review]\nmode = "skip"\n[loop]\nmax_parallel = {every}\n[merge]\nmax_batch = 8\n'
        )
        self.machines.agent(AGENT.format(takes_s=takes_s), settings)
        self.control, *self.others = self.machines

    def add(self, tasks: int) -> None:
        for number in range(tasks):
            self.control.allstop("add", f"Do {number}")

    def start_workers(self) -> list[subprocess.Popen[str]]:
        return [each.start("worker", "--slots", str(self.slots)) for each in self.others]

    def database(self, sql: str) -> list[list[str]]:
        text = self.machines.server.execute(sql, self.machines.database)
        return [line.split("|") for line in text.splitlines()]

    def agents(self) -> int:
        return sum(len(machine.agents) for machine in self.others)


def measure_throughput(place: Path) -> None:
    """The same backlog with 1, 2 and 3 workers: agents that take no time, and two seconds."""
    skip_if_tiny("several fleets, one after the other")
    tasks = 12
    for takes_s in (0, 2):
        alone = 0.0
        for workers in (1, 2, 3):
            fleet = Fleet(place / f"{takes_s}-{workers}", workers, takes_s, slots=2)
            try:
                fleet.add(tasks)
                fleet.start_workers()
                wait_for(lambda: is_ready(fleet, workers), "the workers")  # noqa: B023
                began = time.monotonic()
                fleet.control.allstop("run")
                took_s = time.monotonic() - began
                name = f"{tasks} tasks of {takes_s} s on {workers} workers of 2 slots"
                if takes_s:
                    print_dispatch(fleet, f"dispatch as slots get free, {name}", workers * 2)
            finally:
                fleet.machines.close()
            alone = alone or took_s
            figure(
                f"Z11 {name}",
                f"{tasks / took_s:.2f}/s",
                ratio=f"{alone / took_s:.2f} times one worker",
            )


def is_ready(fleet: Fleet, workers: int) -> bool:
    sql = "select count(*) from allstop.processes where worker <> ''"
    return fleet.database(sql) == [[str(workers)]]


def measure_stop(place: Path) -> None:
    """Dispatch to many slots, then Allstop of all agents."""
    workers, slots = sized(10, 1), sized(5, 2)
    fleet = Fleet(place / "stop", workers, 600, slots)
    try:
        fleet.add(workers * slots)
        fleet.start_workers()
        wait_for(lambda: is_ready(fleet, workers), "the workers", 120)
        measure_idle(fleet)
        fleet.control.start("run")
        wait_for(lambda: fleet.agents() >= workers * slots, "all agents", 240)
        print_dispatch(fleet, f"dispatch of {workers * slots} runs at once")
        began = time.monotonic()
        last = fleet.others[-1]
        stop = last.start("stop", "--json")
        while fleet.agents():
            time.sleep(0.01)
        took_s = time.monotonic() - began
        said = stop.communicate()[0]
        answered = said.count('"answered": true')
        figure(f"Z4 Allstop of {workers * slots} agents on {workers} workers", f"{took_s * 1000:.0f} ms, "
               f"{answered} machines answered within 1 s", goal="1000 ms")  # fmt: skip
    finally:
        fleet.machines.close()


def print_dispatch(fleet: Fleet, name: str, first: int = 0) -> None:
    """From the write that opens a task's run to the write of its first move, by their own clocks.

    The first runs are left out.
    """
    sql = f"""
        with told as (select r.id, e.seq, convert_from(e.event, 'utf8')::jsonb ->> 'at' as at
            from allstop.events e join allstop.runs r on r.id = e.run
            where r.kind = 'task' and e.seq <= 2)
        select extract(epoch from b.at::timestamptz - a.at::timestamptz) * 1000
        from told a join told b on a.id = b.id where a.seq = 1 and b.seq = 2 order by a.id
        offset {first}
    """
    late = sorted(float(row[0]) for row in fleet.database(sql))
    p50, p99 = late[len(late) // 2], late[int(len(late) * 0.99)]
    figure(f"Z2 {name}, p50, p99", f"{p50:.0f} ms, {p99:.0f} ms", goal="50 ms")


def measure_idle(fleet: Fleet) -> None:
    """CPU and memory of workers that have nothing to do."""
    seconds = sized(10, 1)
    pids = [pid for machine in fleet.others for pid in processes_of(machine, "worker")]
    before = sum(map(cpu_s, pids))
    time.sleep(seconds)
    share = (sum(map(cpu_s, pids)) - before) / seconds / len(pids)
    memory = max(map(rss_mb_of, pids))
    figure("Z2 an idle worker", f"{share:.1%} of a core, {memory:.0f} MB", goal="1%, 64 MB")


def processes_of(machine: object, word: str) -> list[int]:
    """The workers of a machine: the children of nsenter."""
    found = []
    for process in machine.started:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        found += [int(child) for child in children if word in process.args]
    return found


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rss_mb_of(pid: int) -> float:
    (kb,) = re.findall(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(kb) / 1000


def measure_appends(place: Path) -> None:
    """Fifty writers on ten connections, each event by itself."""
    machines = Machines(place / "appends", count=1, lease_s=LEASE_S)
    try:
        url = machines.server.url(machines.database)
        rate = anyio.run(append_rate, url, place, sized(300, 3))
        figure("Z1 appends, 10 processes, 50 writers", f"{rate:.0f}/s", goal="2500/s")
    finally:
        machines.close()


async def append_rate(url: str, place: Path, each: int) -> float:
    own = Holder(pid=os.getpid(), host="here", command="bench", since=NOW, world="bench")
    journals = [PostgresJournal(url, place, SystemClock(), own=own) for _ in range(sized(10, 2))]
    said = Commanded(at=NOW, command=Say(text="word " * 20))

    async def write(journal: PostgresJournal, run: RunId) -> None:
        for _ in range(each):
            await journal.append(Entry(run, said))

    runs = [RunId(f"run{number}") for number in range(len(journals) * 5)]
    for run in runs:
        await journals[0].append(Entry(run, Opened(at=NOW, kind="room", spec={})))
    for journal in journals:
        await journal.last_place()
    began = time.monotonic()
    async with anyio.create_task_group() as group:
        for number, run in enumerate(runs):
            group.start_soon(write, journals[number % len(journals)], run)
    took_s = time.monotonic() - began
    for journal in journals:
        journal.close()
    return len(runs) * each / took_s


def main() -> None:
    print_load()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory(prefix="allstop-bench-") as folder:
        place = Path(folder)
        (place / "appends").mkdir()
        for measure in (measure_appends, measure_stop, measure_throughput):
            measure(place)


if __name__ == "__main__":
    main()
