"""One process that drives everything: the board, rooms, and threads of full auto."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct

from allstop.app.board import board_spec, cleanup, commands, driver
from allstop.app.board.hooks import hooks_at_hand
from allstop.app.resume import lift_hold
from allstop.app.runs.budget_limits import of_day
from allstop.app.runs.commands import refuse_if_stopped
from allstop.app.runs.status import helm_of, others_at_work, record_of
from allstop.app.runtime import Runtime, runtime
from allstop.app.stop.allstop import Stopped, raise_stop_file
from allstop.app.stop.allstop import stop as stop_all
from allstop.app.stop.in_process import strike_if_raised
from allstop.core.board_specs import BoardSpec, Mode
from allstop.core.errors import AllstopError
from allstop.core.helm import Hold
from allstop.core.ids import BOARD, RunId, root_of
from allstop.engine.context import Show
from allstop.ports import HeldError

if TYPE_CHECKING:
    from allstop.adapters.git import GitWorkspaces
    from allstop.app.project import Project
    from allstop.app.runs.status import Recorded
    from allstop.core.brakes import Limits
    from allstop.core.events import Opened
    from allstop.core.ids import AgentName
    from allstop.views.kind import Kind

SWEEP_S = 3600.0
"""So often it is looked for workspaces that are kept no longer."""

Note = Callable[[str], None]


class RunKind:
    """Defaults that work for any kind. A subclass overrides what is different."""

    request: ClassVar[type[Struct] | None] = None
    """The body of `POST /runs` that starts one; its tag is the kind's name."""

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

    async def resume(self, supervisor: Supervisor, recorded: Recorded, by: str) -> None:
        """Lift the hold on a run, and drive it if no process does."""
        await lift_hold(supervisor.project, recorded, self.limits(supervisor.project), by)
        if not supervisor.is_driven(recorded.run):
            await self.drive(supervisor, recorded)

    async def drive(self, supervisor: Supervisor, recorded: Recorded) -> None:
        supervisor.hire(self.agents(recorded.opened))
        await supervisor.engine.take(recorded.run)

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

    def requests(self) -> dict[type[Struct], str]:
        """The kind that each request of `POST /runs` starts."""
        found = ((self[name].request, name) for name in self)
        return {request: name for request, name in found if request is not None}


class Supervisor:
    """Opens runs here, and goes on with those that nobody drives."""

    def __init__(self, shop: Runtime, kinds: RunKinds, group: TaskGroup, note: Note) -> None:
        self.project = shop.project
        self.kinds = kinds
        self.engine = shop.engine
        self.isolation = shop.launcher.isolation
        self.runtime = shop
        self.hire = shop.hire
        self._group = group
        self._note = note
        self._hooks_are_on = False
        self.lock = anyio.Lock()  # two requests at once must not both find the board at rest

    def view(self, show: Show) -> None:
        """Be shown what happens live, from now on."""
        self.engine.view(show)

    def drives(self, run: RunId) -> bool:
        return self.engine.state(root_of(run)) is not None

    async def open(self, request: Struct) -> RunId:
        """Begin something new.

        Raises:
            AllstopError: it can't be had, or everything is stopped.
        """
        await refuse_if_stopped(self.project)
        kind = self.kinds[self.kinds.requests()[type(request)]]
        async with self.lock:
            return await kind.open(self, request)

    async def resume(self, run: str, by: str) -> RunId:
        """Lift the hold on a run, and drive it if no process does.

        Raises:
            AllstopError: the run is over, or everything is stopped.
        """
        await refuse_if_stopped(self.project)
        recorded = await record_of(self.project, run)
        async with self.lock:
            await self.kinds[await self._root_kind(recorded)].resume(self, recorded, by)
        return recorded.run

    async def _root_kind(self, recorded: Recorded) -> str:
        """The kind of the run at the top: that is the one a process drives."""
        root = root_of(recorded.run)
        found = recorded if root == recorded.run else await record_of(self.project, root)
        return found.opened.kind

    async def go_on_with_board(self) -> bool:
        """In the way it was told to, if its process ended in the middle of its work; whether it did.

        Raises:
            AllstopError: an agent of it can't be had.
        """
        async with self.lock:
            if not self.project.has_store or self.is_driven(BOARD):
                return False
            known, helm = await commands.read(self.project), await helm_of(self.project)
            is_held = helm.hold is not Hold.NONE or known.run.hold is not Hold.NONE
            if is_held or not await driver.was_cut_off(self.project, known.state):
                return False
            await self._take_board(await driver.renew(self.project, known))
            return True

    def settings_changed(self) -> None:
        """Others are in force: what is driven here goes on by them."""
        self.engine.set_day_limits(of_day(self.project))
        self._group.start_soon(self._renew)

    async def _renew(self) -> None:
        async with self.lock:
            if not self.drives(BOARD):
                self._make_room(0)
                return
            try:
                await self._renew_board()
            except AllstopError as error:
                self._note(f"The board goes on by the settings of before: {error.message}")

    async def _renew_board(self) -> None:
        read = await commands.read(self.project)
        spec = board_spec.renewed(self.project, read.state.spec)
        self.hire(driver.needed(spec, read.state))
        await driver.renew(self.project, read)
        self._make_room(spec.slots)

    def _make_room(self, slots: int) -> None:
        """For a board with so many, which may have been chosen to be more than the settings say."""
        self.engine.turn_slots.resize(max(slots, self.project.settings.loop.max_parallel))

    async def keep_clean(self) -> None:
        """Runs until cancelled."""
        while True:
            await self.sweep()
            await anyio.sleep(SWEEP_S)

    async def sweep(self) -> None:
        """Remove the workspaces of what was over long enough ago, where nothing is lost with them."""
        if not self.project.has_store or self.runtime.trees is None:
            return
        try:
            board = (await commands.read(self.project)).state.board
        except AllstopError as error:  # whoever works is told of it, too
            self._note(f"Old workspaces stay: {error.message}")
            return
        for name in cleanup.due(self.project, board):
            try:
                await self._sweep_away(name, self.runtime.trees)
            except (AllstopError, OSError) as error:
                self._note(f"The workspace of {name} stays: {error}")

    async def _sweep_away(self, name: str, trees: GitWorkspaces) -> None:
        """Nobody takes its task up meanwhile: whoever drives the board here finds it taken."""
        async with self.lock, trees.lock(name):
            with ExitStack() as claim:
                if not self.drives(BOARD):
                    try:
                        claim.enter_context(self.project.journal.claim(BOARD))
                    except HeldError:
                        return  # another process drives it
                state = self.engine.state(BOARD)
                board = (
                    state.pilot.board if state else (await commands.read(self.project)).state.board
                )
                if cleanup.is_due(self.project, board[name]):
                    await cleanup.sweep_away(self.project, trees, self.runtime.launcher, name)

    async def board_at_hand(self) -> None:
        """What people say of tasks is carried out from now on; no task is picked because of it."""
        async with self.lock:
            if not self.is_driven(BOARD):
                await self.drive_board(board_spec.board_spec(self.project, mode=Mode.SEMI))

    async def allstop(self, by: str) -> Stopped:
        """Stop everything, here and wherever else runs of this store are driven."""
        raise_stop_file(self.project, by)
        strike_if_raised(self.runtime)
        receipt = await self.engine.allstop(by)
        if others_at_work(self.project):
            return await stop_all(self.project, by)
        return Stopped(receipt=receipt)

    # --- the board ---

    async def work_on_board(self, spec: BoardSpec, budget_usd: float | None) -> None:
        """Start the board, or let the running one continue by `spec`."""
        if self.drives(BOARD):
            await self._equip(spec, budget_usd)
        else:
            await self.drive_board(spec, budget_usd)

    async def drive_board(self, spec: BoardSpec, budget_usd: float | None = None) -> None:
        await self._take_board(
            await driver.prepare(self.project, spec, lambda state: [], budget_usd=budget_usd)
        )

    async def _take_board(self, known: commands.Read) -> None:
        self.hire(driver.needed(known.state.spec, known.state))
        if not self._hooks_are_on:
            self._hooks_are_on = True
            self._group.start_soon(self._keep_hooks, known)
        self._make_room(known.state.spec.slots)
        await self.engine.take(BOARD, known.folded)

    async def _keep_hooks(self, known: commands.Read) -> None:
        async with hooks_at_hand(self.project, known, self._note):
            await anyio.sleep_forever()

    async def _equip(self, spec: BoardSpec, budget_usd: float | None) -> None:
        """A board that is at work goes on in another way, within its limits if no budget is named."""
        read = await commands.read(self.project)
        self.hire(driver.needed(spec, read.state))
        self._make_room(spec.slots)
        limits = read.run.limits
        await driver.equip(
            self.project, spec, lambda state: [], read, limits, budget_usd=budget_usd
        )

    def is_driven(self, run: RunId) -> bool:
        """By this process or another."""
        return root_of(run) in self.project.journal.holders()


@asynccontextmanager
async def supervisor(
    project: Project, kinds: RunKinds, note: Note = lambda line: None
) -> AsyncIterator[Supervisor]:
    """Everything this process drives ends with the block; what is recorded can go on later."""
    async with runtime(project, note=note) as shop, anyio.create_task_group() as group:
        yield Supervisor(shop, kinds, group, note)
        group.cancel_scope.cancel()
