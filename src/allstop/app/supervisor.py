"""The supervisor of a process: opens, drives and resumes runs of every kind."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, ClassVar

import anyio
from anyio.abc import TaskGroup

from allstop.app.board import board_spec, cleanup, commands, driver
from allstop.app.board.hooks import run_hooks
from allstop.app.resume import lift_hold
from allstop.app.runs.budget_limits import day_limits
from allstop.app.runs.commands import deliver_command, refuse_if_stopped
from allstop.app.runs.queued_starts import queue
from allstop.app.runs.status import helm_of, other_drivers, record_of
from allstop.app.runtime import Runtime, start_runtime
from allstop.app.stop import everything
from allstop.app.stop.agents import create_stop_file
from allstop.app.stop.in_process import kill_if_stopped
from allstop.app.stop.receipts import Stopped
from allstop.core.board_specs import BoardSpec
from allstop.core.errors import AllstopError
from allstop.core.events import Opened
from allstop.core.helm import Hold
from allstop.core.ids import BOARD, RunId, child_of, root_of
from allstop.engine.context import Show
from allstop.ports import HeldError, is_driven

if TYPE_CHECKING:
    from allstop.adapters.git import GitWorkspaces
    from allstop.app.project import Project
    from allstop.app.runs.status import RunRecord
    from allstop.app.start_requests import StartRequest
    from allstop.core.brakes import Limits
    from allstop.core.commands import Command
    from allstop.core.ids import AgentName
    from allstop.views.kind import Kind

SWEEP_S = 3600.0
"""The interval at which the supervisor removes old workspaces."""

LOOK_S = 0.5
"""How often a control room of a fleet looks whether another one drives the board."""

Note = Callable[[str], None]


class RunKind:
    """Defaults for any kind of run; a subclass overrides some."""

    request: ClassVar[type[StartRequest] | None] = None
    """The body of `POST /runs` that starts one; its tag is the kind's name."""

    more_requests: ClassVar[tuple[type[StartRequest], ...]] = ()
    """Further bodies that start work in such a run, with tags of their own."""

    commands: ClassVar[tuple[type[Command], ...]] = ()
    """Commands about tasks that its runs take themselves."""

    async def open(self, supervisor: Supervisor, request: Any) -> RunId:
        """Start a run from a request. The caller holds the supervisor's lock."""
        raise AllstopError(
            "runs of this kind are not started by themselves",
            "start the run that they belong to",
            code="kind_not_startable",
        )

    def agents(self, opened: Opened) -> Iterable[AgentName]:
        """The agents that a run may call."""
        return ()

    def limits(self, project: Project) -> Limits | None:
        """The limits by the settings in force, if they apply to a run that is already open."""
        return None

    async def resume(self, supervisor: Supervisor, recorded: RunRecord, by: str) -> None:
        """Lift the hold on a run, and drive it if no process does."""
        await lift_hold(supervisor.project, recorded, self.limits(supervisor.project), by)
        if not supervisor.is_driven(recorded.run):
            await self.drive(supervisor, recorded)

    async def drive(self, supervisor: Supervisor, recorded: RunRecord) -> None:
        supervisor.ensure_agents(self.agents(recorded.opened))
        await supervisor.engine.take(recorded.run)

    async def command(
        self, supervisor: Supervisor, recorded: RunRecord, command: Command, by: str
    ) -> RunId:
        """Send one of `commands` to a run and drive it; returns the run that continues."""
        await deliver_command(supervisor.project, recorded.run, command, by)
        async with supervisor.lock:
            if not supervisor.is_driven(recorded.run):
                await self.drive(supervisor, recorded)
        return recorded.run

    def has_name(self, run: RunId) -> bool:
        """Whether a run of this name would be of this kind, also before it is opened."""
        return False

    async def say(self, supervisor: Supervisor, run: RunId, text: str) -> str | None:
        """Handle a person's text in this kind's own way; None sends it to the run's agent."""
        return None


class RunKinds(Mapping[str, RunKind]):
    """The app's table beside the pure one; an entry is loaded when it is first used."""

    def __init__(
        self, pure: Mapping[str, Kind], entries: Mapping[str, Callable[[], RunKind]]
    ) -> None:
        self.pure = pure
        self._entries = entries
        self._loaded: dict[str, RunKind] = {}

    def __getitem__(self, name: str) -> RunKind:
        if name not in self._loaded:
            self._loaded[name] = self._entries.get(name, RunKind)()
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.pure)

    def __len__(self) -> int:
        return len(self.pure)

    def requests(self) -> dict[type[StartRequest], str]:
        """The kind that each request of `POST /runs` starts."""
        found = ((request, name) for name in self for request in _requests_of(self[name]))
        return dict(found)


def _requests_of(kind: RunKind) -> list[type[StartRequest]]:
    return [each for each in (kind.request, *kind.more_requests) if each is not None]


class Supervisor:
    """Opens runs in this process, and drives those that no other process drives."""

    def __init__(self, runtime: Runtime, kinds: RunKinds, group: TaskGroup, note: Note) -> None:
        self.project = runtime.project
        self.kinds = kinds
        self.engine = runtime.engine
        self.isolation = runtime.launcher.isolation
        self.runtime = runtime
        self.ensure_agents = runtime.ensure_agents
        self._group = group
        self._note = note
        self._hooks_are_on = False
        self.lock = anyio.Lock()  # two simultaneous requests must not both start the board

    async def say(self, run: RunId, text: str) -> str | None:
        """Let the kind of the run handle a person's text; None if it has no way of its own."""
        for name in self.kinds:
            if self.kinds[name].has_name(run):
                return await self.kinds[name].say(self, run, text)
        return None

    def view(self, show: Show) -> None:
        """Show live output to `show` from here on."""
        self.engine.view(show)

    def drives(self, run: RunId) -> bool:
        return self.engine.state(root_of(run)) is not None

    def kind_of(self, run: RunId) -> str:
        """The kind of a run that this process drives."""
        state = self.engine.state(run)
        assert state is not None, "this process drives it"
        return state.opened.kind

    async def open(self, request: StartRequest, *, approved: bool = False) -> RunId:
        """Open a run for a start request, or queue it if a person must approve it first.

        Raises AllstopError if the request is refused, or an Allstop is in force.
        """
        await refuse_if_stopped(self.project)
        if not (approved or self.project.settings.loop.auto_execute):
            start = await queue(self.project, request)
            self.runtime.alert_about(start)
            return start
        kind = self.kinds[self.kinds.requests()[type(request)]]
        async with self.lock:
            return await kind.open(self, request)

    async def resume(self, run: str, by: str) -> RunId:
        """Lift the hold on a run, and drive it if no process does.

        Raises AllstopError if the run is over, or an Allstop is in force.
        """
        await refuse_if_stopped(self.project)
        recorded = await record_of(self.project, run)
        async with self.lock:
            await self.kinds[await self._root_kind(recorded)].resume(self, recorded, by)
        return recorded.run

    async def command(self, run: str, command: Command, by: str) -> RunId | None:
        """Send a command to a run that takes it itself; None if it doesn't.

        Returns the run that continues: this one, or the one that it starts.

        Raises AllstopError if the run is over, or an Allstop is in force.
        """
        records = await self.project.journal.read(RunId(run)) if self.project.has_store else []
        opened = records[0].event if records else None
        if not isinstance(opened, Opened):
            return None
        if type(command) not in self.kinds[opened.kind].commands:
            return None
        await refuse_if_stopped(self.project)
        recorded = await record_of(self.project, run)
        return await self.kinds[recorded.opened.kind].command(self, recorded, command, by)

    async def _root_kind(self, recorded: RunRecord) -> str:
        """The kind of the root run, which is the one a process drives."""
        root = root_of(recorded.run)
        found = recorded if root == recorded.run else await record_of(self.project, root)
        return found.opened.kind

    async def resume_interrupted_board(self) -> bool:
        """Drive the board if the process that drove it ended during its work; whether it did.

        Raises AllstopError if one of its agents can't be used.
        """
        async with self.lock:
            if not self.project.has_store or self.is_driven(BOARD):
                return False
            known, helm = await commands.read(self.project), await helm_of(self.project)
            is_held = helm.hold is not Hold.NONE or known.run.hold is not Hold.NONE
            if is_held or not await self._goes_on(known):
                return False
            await self._take_board(await driver.apply_settings(self.project, known))
            return True

    async def _goes_on(self, known: commands.BoardSnapshot) -> bool:
        """Whether the board's process ended while the board was at work.

        In a fleet its tasks go on meanwhile, so its record doesn't tell.
        """
        if self.project.shared_remote:
            from allstop.adapters.journals.postgres import PostgresJournal

            journal = self.project.journal
            assert isinstance(journal, PostgresJournal), "a fleet has a store on a server"
            if await journal.is_abandoned(BOARD):
                return True
        return await driver.was_interrupted(self.project, known)

    async def take_over_board(self) -> bool:
        """Wait until another process that drives the board has ended; then drive it, if it was
        interrupted at work. Returns whether it was.
        """
        while self.drives(BOARD) or not self.is_driven(BOARD):  # noqa: ASYNC110 - a thread knows it
            await anyio.sleep(LOOK_S)
        while self.is_driven(BOARD):  # noqa: ASYNC110
            await anyio.sleep(LOOK_S)
        return await self.resume_interrupted_board()

    def settings_changed(self) -> None:
        """Apply changed settings to the runs that this process drives."""
        self.engine.set_day_limits(day_limits(self.project))
        self._group.start_soon(self._apply_settings)

    async def _apply_settings(self) -> None:
        async with self.lock:
            if not self.drives(BOARD):
                self._resize_slots(0)
                return
            try:
                await self._apply_to_board()
            except AllstopError as error:
                self._note(f"The board continues with its earlier settings: {error.message}")

    async def _apply_to_board(self) -> None:
        known = await commands.read(self.project)
        spec = board_spec.with_current_settings(self.project, known.state.spec)
        self._ensure_board_agents(spec, known)
        await driver.apply_settings(self.project, known)
        self._resize_slots(spec.slots)

    def _resize_slots(self, slots: int) -> None:
        """Use the higher of the board's own number of slots and that of the settings."""
        self.engine.turn_slots.resize(max(slots, self.project.settings.loop.max_parallel))

    async def remove_old_workspaces(self) -> None:
        """Remove due workspaces at intervals, until cancelled."""
        while True:
            await self.remove_due_workspaces()
            await anyio.sleep(SWEEP_S)

    async def remove_due_workspaces(self) -> None:
        """Remove old workspaces of tasks that are over, unless work would be lost."""
        if not self.project.has_store or self.runtime.workspaces is None:
            return
        try:
            board = (await commands.read(self.project)).state.board
        except AllstopError as error:
            self._note(f"Old workspaces are not removed: {error.message}")
            return
        for name in cleanup.due_tasks(self.project, board):
            try:
                await self._remove_workspace(name, self.runtime.workspaces)
            except (AllstopError, OSError) as error:
                self._note(f"The workspace of {name} is not removed: {error}")

    async def _remove_workspace(self, name: str, workspaces: GitWorkspaces) -> None:
        """The locks and the claim keep others from starting the task meanwhile."""
        async with self.lock, workspaces.lock(name), AsyncExitStack() as claim:
            if not self.drives(BOARD):
                try:
                    await claim.enter_async_context(self.project.journal.claim(BOARD))
                except HeldError:
                    return  # another process drives it
            state = self.engine.state(BOARD)
            board = state.pilot.board if state else (await commands.read(self.project)).state.board
            if cleanup.is_due(self.project, board[name]):
                await cleanup.remove_workspace(
                    self.project, workspaces, self.runtime.launcher, name
                )

    async def ensure_board_driven(self, *named: str) -> None:
        """Drive the board if no process does, so that commands on these tasks take effect.

        The board acts on no others, except those that later commands name.
        """
        async with self.lock:
            if not self.is_driven(BOARD):
                await self.drive_board_for(named)

    async def allstop(self, by: str) -> Stopped:
        """Stop all runs of the project, also those that other processes drive."""
        create_stop_file(self.project, by)
        kill_if_stopped(self.runtime)
        receipt = await self.engine.allstop(by)
        if other_drivers(self.project):
            return await everything.stop(self.project, by)
        await everything.stop_sessions(self.project)
        everything.remove_own_file(self.project)
        return Stopped(receipt=receipt)

    # --- the board ---

    async def work_on_board(
        self,
        spec: BoardSpec,
        allowance: Limits,
        decide: driver.Decide = lambda state: (),
    ) -> None:
        """Start the board with the commands of `decide`, or let the running one continue."""
        if self.drives(BOARD):
            await self._equip(spec, allowance, decide)
        else:
            await self.drive_board(spec, allowance, decide)

    async def drive_board_for(self, only: Collection[str] | None) -> None:
        """Drive the board for these tasks and those that commands name; None: for all tasks."""
        chosen = (await commands.read(self.project)).state.chosen
        await self.drive_board(board_spec.board_spec(self.project, mode=chosen, only=only))

    async def drive_board(
        self,
        spec: BoardSpec,
        allowance: Limits = driver.NOTHING_MORE,
        decide: driver.Decide = lambda state: (),
    ) -> None:
        await self._take_board(
            await driver.prepare(self.project, spec, decide, allowance=allowance)
        )

    async def _take_board(self, known: commands.BoardSnapshot) -> None:
        self._ensure_board_agents(known.state.spec, known)
        if not self._hooks_are_on:
            self._hooks_are_on = True
            self._group.start_soon(self._keep_hooks, known)
        self._resize_slots(known.state.spec.slots)
        parked = [child_of(BOARD, ref) for ref in known.state.others()]
        await self.engine.take(BOARD, known.folded, parked)

    async def _keep_hooks(self, known: commands.BoardSnapshot) -> None:
        async with run_hooks(self.project, known, self._note):
            await anyio.sleep_forever()

    async def _equip(self, spec: BoardSpec, allowance: Limits, decide: driver.Decide) -> None:
        """Let the running board continue by `spec`; without an allowance it keeps its limits."""
        known = await commands.read(self.project)
        self._ensure_board_agents(spec, known)
        self._resize_slots(spec.slots)
        limits = known.run.limits
        await driver.equip(self.project, spec, decide, known, limits, allowance=allowance)

    def _ensure_board_agents(self, spec: BoardSpec, known: commands.BoardSnapshot) -> None:
        """In a fleet, the machines of workers have them."""
        if not self.project.shared_remote:
            self.ensure_agents(driver.needed_agents(spec, known.state))

    def is_driven(self, run: RunId) -> bool:
        """Whether this process or another one drives it."""
        return is_driven(run, self.project.journal.holders())


@asynccontextmanager
async def start_supervisor(
    project: Project, kinds: RunKinds, note: Note = lambda line: None
) -> AsyncIterator[Supervisor]:
    """Drive runs in this process until the block ends; they can be resumed later."""
    async with start_runtime(project, note=note) as runtime, anyio.create_task_group() as group:
        with suppress(*everything.STORE_FAILS):
            await everything.stop_sessions(project)
        yield Supervisor(runtime, kinds, group, note)
        group.cancel_scope.cancel()
