"""Z5, Z6: no failure of a machine, the network, the database or the remote loses work or repeats it.

Three machines work on one board: the first has the control room, the others a worker each. The
agents leave a line for each attempt, so that a test sees when work began again.
"""

import pytest

from support.machines import Machines
from support.person import wait_for
from support.sweeps import short

LEASE_S = 6
LONG_LEASE_S = 120
TASKS = [f"T{number}" for number in range(1, 7)]
WITHIN_S = 240.0

AGENT = """
cat >/dev/null
task=$(pwd | sed -n 's|.*/workspaces/\\([^/]*\\).*|\\1|p')
echo "$task $(hostname)" >>{place}/begun
sleep 2
echo "$task" >"$task.txt"
echo '<promise>COMPLETE</promise>'
"""

SETTINGS = """
[review]
mode = "skip"

[loop]
max_parallel = 4

[[verification.commands]]
name = "Check"
run = "sleep 0.3"
"""


class Fleet:
    def __init__(self, place, *, lease_s=LEASE_S, has_standby=False):
        self.place = place
        self.machines = Machines(place, lease_s=lease_s, has_standby=has_standby)
        self.workers = []

    def start(self):
        self.first, self.second, self.third = self.machines
        for machine in self.machines:  # agents leave their lines outside of a box
            machine.variables["ALLSTOP_SANDBOX_MODE"] = "off"
        self.machines.agent(AGENT.format(place=self.place), SETTINGS)
        clerk = self.machines.clerk(self.first)
        for task in TASKS:
            clerk.allstop("add", f"Do {task}", "--id", task)
        self.control = self.first.start("run")
        self.workers = [m.start("worker", "--slots", "2") for m in (self.second, self.third)]
        both = {self.second.name, self.third.name}
        wait_for(lambda: {host for _, host in self.begun} == both, "agents on two machines")

    @property
    def begun(self):
        """The task and the machine of each beginning of work."""
        file = self.place / "begun"
        return [line.split() for line in file.read_text().splitlines()] if file.exists() else []

    @property
    def merged(self):
        return self.machines.remote.merged()

    def finish(self, control=None):
        """Wait for the end of the board, and check that each task was done and merged once."""
        control = control or self.control
        said = control.communicate(timeout=WITHIN_S)[0]
        assert control.returncode == 0, said
        assert sorted(self.merged) == TASKS
        files = self.machines.remote.git("ls-tree", "--name-only", "main").split()
        assert sorted(files) == sorted(["a.txt", "allstop.toml", *(f"{t}.txt" for t in TASKS)])
        assert set(self.first.tasks().values()) == {"done"}

    def wait_begun_again(self):
        wait_for(lambda: len(self.begun) > len({task for task, _ in self.begun}), "more work")

    def close(self):
        self.machines.close()


@pytest.fixture
def fleet(tmp_path, request):
    drill = request.node.callspec.params["drill"]
    lease_s = LONG_LEASE_S if drill is the_database_restarts_within_the_lease else LEASE_S
    has_standby = drill is the_database_fails_over
    fleet = Fleet(tmp_path, lease_s=lease_s, has_standby=has_standby)
    try:
        fleet.start()
        yield fleet
    finally:
        fleet.close()


def a_machine_is_turned_off(fleet):
    fleet.second.turn_off()
    fleet.wait_begun_again()
    fleet.finish()


def a_worker_is_killed(fleet):
    """The rest of its machine lives on; a worker that is started there again may continue."""
    fleet.second.kill(fleet.workers[0])
    fleet.second.start("worker", "--slots", "2")
    fleet.wait_begun_again()
    fleet.finish()


def a_worker_is_frozen_and_comes_back(fleet):
    """Its agents go on meanwhile; what it does after others took over is refused."""
    fleet.second.freeze(fleet.workers[0])
    fleet.wait_begun_again()
    fleet.second.thaw(fleet.workers[0])
    fleet.finish()


def a_machine_is_cut_off_and_comes_back(fleet):
    fleet.second.cut()
    wait_for(lambda: not fleet.second.agents, "the end of its agents")
    fleet.wait_begun_again()
    fleet.second.mend()
    fleet.finish()


def the_database_restarts(fleet):
    fleet.machines.server.stop("immediate")
    fleet.machines.server.start()
    fleet.finish()


def the_database_restarts_within_the_lease(fleet):
    """Agents go on, and no work begins again."""
    fleet.machines.server.stop("immediate")
    wait_for(lambda: not (fleet.second.agents or fleet.third.agents), "the end of all agents")
    fleet.machines.server.start()
    fleet.finish()
    assert sorted(task for task, _ in fleet.begun) == TASKS


def the_database_is_down_for_longer_than_the_lease(fleet):
    fleet.machines.server.stop("immediate")
    wait_for(lambda: not (fleet.second.agents or fleet.third.agents), "the end of all agents")
    fleet.machines.server.start()
    fleet.finish()


def the_database_fails_over(fleet):
    """The standby has all that the server has confirmed."""
    fleet.machines.server.stop("immediate")
    fleet.machines.standby.promote()
    fleet.finish()


def the_remote_is_gone_for_a_while(fleet):
    fleet.machines.remote.stop()
    wait_for(lambda: not (fleet.second.agents or fleet.third.agents), "the end of all agents")
    fleet.machines.remote.start()
    fleet.finish()


def the_control_room_is_killed(fleet):
    """Workers finish what they have; another machine's control room continues."""
    fleet.first.kill(fleet.control)
    wait_for(lambda: not (fleet.second.agents or fleet.third.agents), "the end of all agents")
    fleet.finish(fleet.first.start("run"))


def the_control_room_is_cut_off_and_comes_back(fleet):
    """Another machine's control room has taken the board over meanwhile."""
    fleet.first.cut()
    wait_for(lambda: not driver_of(fleet, "board"), "the end of the control room's lease")
    second = fleet.third.start("run")
    wait_for(lambda: driver_of(fleet, "board") == fleet.third.name, "the second control room")
    fleet.first.mend()
    fleet.finish(second)


def a_merger_is_killed(fleet):
    """Whichever worker merges; a merge that was begun is done once."""
    machine, worker = merger(fleet)
    machine.kill(worker)
    fleet.finish()


def a_merger_is_frozen_and_comes_back(fleet):
    """Another worker has merged meanwhile; a late push or write is refused."""
    machine, worker = merger(fleet)
    before = len(fleet.merged)
    machine.freeze(worker)
    wait_for(lambda: len(fleet.merged) > before + 1, "merges by the other worker")
    machine.thaw(worker)
    fleet.finish()


def merger(fleet):
    """The machine that drives a merge now, and its worker."""
    wait_for(lambda: driver_of(fleet, "%merge%"), "a merge")
    host = driver_of(fleet, "%merge%")
    machines = {machine.name: machine for machine in (fleet.second, fleet.third)}
    workers = dict(zip(machines, fleet.workers, strict=True))
    name = host or fleet.second.name  # that merge has just ended
    return machines[name], workers[name]


def driver_of(fleet, run):
    """The machine that drives a run now; "" if none does."""
    sql = (
        "select p.host from allstop.claims c join allstop.processes p on p.id = c.process"
        f" where c.run like '{run}' and p.seen_at + p.lease > now() limit 1"
    )
    return fleet.machines.server.execute(sql, fleet.machines.database).strip()


FEW = [
    a_machine_is_turned_off,
    a_machine_is_cut_off_and_comes_back,
    the_control_room_is_killed,
    a_merger_is_killed,
    a_merger_is_frozen_and_comes_back,
]
ALL = [
    *FEW,
    a_worker_is_killed,
    a_worker_is_frozen_and_comes_back,
    the_control_room_is_cut_off_and_comes_back,
    the_database_restarts,
    the_database_restarts_within_the_lease,
    the_database_is_down_for_longer_than_the_lease,
    the_database_fails_over,
    the_remote_is_gone_for_a_while,
]


@pytest.mark.parametrize("number", range(short(20, 1)))
@pytest.mark.parametrize("drill", short(ALL, FEW), ids=lambda drill: drill.__name__)
def test_z3_z5_z6_nothing_is_lost_and_nothing_is_done_or_merged_twice(fleet, drill, number):
    drill(fleet)
