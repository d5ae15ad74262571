"""S9: a turn in a clean clone of the work leaves the work as it is."""

import anyio

from allstop.core.moves import CheckResult, Failed, FailureKind, TakeTurn
from allstop.core.prompt import prompt
from allstop.engine.hands import Hands
from allstop.ports import Unready
from allstop.testing.agent_contract import RecordingWatch
from support.in_memory_world import FakeLauncher, FakeWorkspaces, ListedAgent

MOVE = TakeTurn(agent="judge", prompt=prompt("look"), workspace="t", in_copy=True)


async def performed(workspaces, entries=("It is fine.",)):
    agent = ListedAgent(entries)
    hands = Hands({"judge": agent}, workspaces=workspaces, launcher=FakeLauncher())
    async with anyio.create_task_group() as group:
        group.start_soon(hands.keep_time)
        result = await hands.perform("run", MOVE, RecordingWatch(), 60)
        group.cancel_scope.cancel()
    return result, agent.heard


async def test_s9_the_agent_gets_the_clone_and_its_changes_are_not_kept():
    workspaces = FakeWorkspaces()

    result, [turn] = await performed(workspaces)
    assert (result.text, result.change) == ("It is fine.", None)
    assert turn.place.workspace == "/clean/t"
    assert (workspaces.dropped, workspaces.commits) == (["t"], {})


async def test_s9_a_turn_that_runs_out_of_time_keeps_nothing_either():
    workspaces = FakeWorkspaces()

    result, _ = await performed(workspaces, entries=(600.0,))
    assert result.kind is FailureKind.TIMED_OUT
    assert workspaces.commits == {}


async def test_s9_a_clone_that_can_not_be_made_is_a_failed_turn():
    class Broken(FakeWorkspaces):
        def __init__(self, answer):
            super().__init__()
            self._answer = answer

        async def candidate(self, workspace, label, **options):
            return self._answer

    gone = Failed(kind=FailureKind.BAD_REQUEST, message="no such commit")
    assert await performed(Broken(gone)) == (gone, [])

    setup = CheckResult(name="setup", run="make", passed=False, output="one\nno rule")
    result, heard = await performed(Broken(Unready(setup)))
    assert (result.kind, heard) == (FailureKind.BAD_REQUEST, [])
    assert result.message == "the clone could not be set up: no rule"
