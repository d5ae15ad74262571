"""A control room on a server, and workers as the store knows them: they drive nothing."""

from datetime import UTC, datetime

from allstop.adapters.clock import SystemClock
from allstop.adapters.journals.heartbeat import LeaseTimes
from allstop.adapters.journals.postgres import PostgresJournal
from allstop.glance import look
from allstop.ports import Holder
from support.control_room import ControlRoom
from support.person import at_home, wait_for

SINCE = datetime(2026, 1, 1, tzinfo=UTC)
FACTS = {
    "version": "1.2.3",
    "role": "worker",
    "slots": 4,
    "labels": ["linux", "gpu"],
    "load": {
        "cpu": 0.61,
        "memory_used": 14 << 30,
        "memory_total": 32 << 30,
        "disk_free": 21 << 30,
        "disk_total": 150 << 30,
    },
}
SCRIPT = '[[turn]]\nsteps = [{ run = "sleep 50000" }]\n'


class Fleet:
    def __init__(self, place, postgres, database):
        self._place, self._postgres, self._database = place, postgres, database
        self._url = postgres.url(database)
        self._workers = []
        self.person = at_home(place / "here")
        self.person.variables["ALLSTOP_STORE_URL"] = self._url
        self.person.script(SCRIPT)
        self.person.commit()
        self.room = ControlRoom(self.person)

    @property
    def url(self):
        return f"http://{self.room.host}"

    def link(self):
        """A link that signs a browser in."""
        made = self.room.ask("POST", "/api/v1/keys", body={})
        return f"{self.url}{made.json['path']}"

    def worker(self, name, **facts):
        own = Holder(
            pid=77, host=f"host-{name}", command="allstop worker", since=SINCE, world=name,
            worker=name,
        )  # fmt: skip
        times = LeaseTimes(beat_s=0.2, look_s=0.2)
        folder = self._place / f"worker{len(self._workers)}"
        made = PostgresJournal(self._url, folder, SystemClock(), own=own, times=times)
        self._workers.append(made)
        look(lambda: made.set_about({**FACTS, **facts}))
        return made

    def silence(self, worker, seconds):
        """As if the worker's machine had been off for so long."""
        worker._heartbeat.close()
        ago = f"now() - interval '{seconds} seconds'"
        change = f"update allstop.processes set seen_at = {ago} where id = '{worker.own.process}'"
        self._postgres.execute(change, self._database)

    def processes(self):
        """By the worker's name, or the role."""
        return {
            process["name"] or process["role"]: process
            for machine in self.room.read("/machines")["machines"]
            for process in machine["processes"]
        }

    def close(self):
        self.person.close()
        for worker in self._workers:
            worker.close()


def fleet_at_work(place, postgres):
    """A control room with a task at work, two workers that are heard, and one that is not."""
    fleet = Fleet(place, postgres, postgres.new_database())
    fleet.busy = fleet.worker("build-1")
    fleet.worker("build-2", labels=[], slots=2, load={"cpu": 0.93})
    fleet.silence(fleet.worker("office-mini", labels=["macos"]), 12)
    fleet.person.allstop("add", "Search invoices by customer", "--id", "T74")
    fleet.room.ask("POST", "/api/v1/runs", body={"kind": "board"})
    wait_for(lambda: fleet.processes()["control room"]["work"], "the task to be at work")
    return fleet
