"""One process that drives everything: the board, rooms, and threads of full auto."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import msgspec
from anyio.abc import TaskGroup

from allstop.app.agents.api_models import load_sdks
from allstop.app.agents.registry import chosen
from allstop.app.auto import threads as autos
from allstop.app.board import board_spec, cleanup, commands, driver
from allstop.app.board.hooks import hooks_at_hand
from allstop.app.raise_limits import hold_to_settings
from allstop.app.rooms import threads
from allstop.app.rooms.driver import RoomDriver
from allstop.app.rooms.session_spec import Wish, session_spec
from allstop.app.runs.budget_limits import of_day
from allstop.app.runs.commands import refuse_if_stopped, speak
from allstop.app.runs.status import helm_of, others_at_work, record_of
from allstop.app.runtime import Runtime, runtime
from allstop.app.start_requests import Order, StartAuto, StartBoard, StartRoom, StartTask
from allstop.app.stop.allstop import Stopped, raise_stop_file
from allstop.app.stop.allstop import stop as stop_all
from allstop.app.stop.in_process import strike_if_raised
from allstop.auto.state import AutoSpec
from allstop.board.board_pilot import BoardState
from allstop.core.board_specs import BoardSpec, Mode
from allstop.core.commands import AddTasks, Assign, Command, Resume
from allstop.core.errors import AllstopError
from allstop.core.helm import Hold
from allstop.core.ids import BOARD, RunId, root_of
from allstop.core.room_specs import SessionSpec
from allstop.engine.viewers import Show
from allstop.ports import HeldError

if TYPE_CHECKING:
    from allstop.adapters.git import GitWorkspaces
    from allstop.app.project import Project

SWEEP_S = 3600.0
"""So often it is looked for workspaces that are kept no longer."""

Note = Callable[[str], None]


class Supervisor:
    """Opens runs here, and goes on with those that nobody drives."""

    def __init__(self, shop: Runtime, group: TaskGroup, note: Note) -> None:
        self.project = shop.project
        self.engine = shop.engine
        self.isolation = shop.launcher.isolation
        self._shop = shop
        self._group = group
        self._note = note
        self._hooks_are_on = False
        self._opening = anyio.Lock()  # two requests at once must not both find the board at rest

    def view(self, show: Show) -> None:
        """Be shown what happens live, from now on."""
        self.engine.view(show)

    def drives(self, run: RunId) -> bool:
        return self.engine.state(root_of(run)) is not None

    async def open(self, order: Order) -> RunId:
        """Begin something new.

        Raises:
            AllstopError: it can't be had, or everything is stopped.
        """
        await refuse_if_stopped(self.project)
        async with self._opening:
            match order:
                case StartBoard():
                    return await self._open_board(order)
                case StartTask():
                    return await self._open_task(order)
                case StartRoom():
                    return await self._open_room(order)
                case StartAuto():
                    return await self._open_auto(order)

    async def go_on(self, run: str, by: str) -> RunId:
        """Lift what holds a run, and drive it if nobody does.

        Raises:
            AllstopError: it is over, or everything is stopped.
        """
        await refuse_if_stopped(self.project)
        recorded = await record_of(self.project, run)
        root = root_of(recorded.run)
        async with self._opening:
            thread = threads.thread_of(root)
            if thread is not None and not self._is_driven(root):
                found = await threads.read(self.project, thread)
                if found.room.session is not None:
                    await self._load(found.room.session.spec)
                await RoomDriver(self._shop, thread).go_on()
                return recorded.run
            await speak(self.project, run, Resume(), by)
            await hold_to_settings(self.project, run, by)
            if self._is_driven(root):
                return recorded.run
            if root == BOARD:
                said = (await commands.read(self.project)).state.chosen
                mode = said if recorded.run == BOARD else Mode.SEMI  # of one task: the others stay
                await self._drive_board(board_spec.board_spec(self.project, mode=mode))
            else:
                spec = msgspec.convert(recorded.opened.spec, AutoSpec)
                self._shop.hire(autos.agents_of(spec))
                await self.engine.take(root)
        return recorded.run

    async def go_on_with_board(self) -> bool:
        """In the way it was told to, if its process ended in the middle of its work; whether it did.

        Raises:
            AllstopError: an agent of it can't be had.
        """
        async with self._opening:
            if not self.project.has_store or self._is_driven(BOARD):
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
        async with self._opening:
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
        self._shop.hire(driver.needed(spec, read.state))
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
        if not self.project.has_store or self._shop.trees is None:
            return
        try:
            board = (await commands.read(self.project)).state.board
        except AllstopError as error:  # whoever works is told of it, too
            self._note(f"Old workspaces stay: {error.message}")
            return
        for name in cleanup.due(self.project, board):
            try:
                await self._sweep_away(name, self._shop.trees)
            except (AllstopError, OSError) as error:
                self._note(f"The workspace of {name} stays: {error}")

    async def _sweep_away(self, name: str, trees: GitWorkspaces) -> None:
        """Nobody takes its task up meanwhile: whoever drives the board here finds it taken."""
        async with self._opening, trees.alone(name):
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
                    await cleanup.sweep_away(self.project, trees, self._shop.launcher, name)

    async def board_at_hand(self) -> None:
        """What people say of tasks is carried out from now on; no task is picked because of it."""
        async with self._opening:
            if not self._is_driven(BOARD):
                await self._drive_board(board_spec.board_spec(self.project, mode=Mode.SEMI))

    async def typed(self, thread: str, text: str) -> threads.Heard:
        """What a person types in a room.

        Raises:
            AllstopError: it can't be done.
        """
        heard = await threads.typed(self.project, thread, text)
        if heard.began is not None:
            await refuse_if_stopped(self.project)
            async with self._opening:
                await self._talk(thread, heard.began, instead=False)
        return heard

    async def allstop(self, by: str) -> Stopped:
        """Stop everything, here and wherever else runs of this store are driven."""
        raise_stop_file(self.project, by)
        strike_if_raised(self._shop)
        receipt = await self.engine.allstop(by)
        if others_at_work(self.project):
            return await stop_all(self.project, by)
        return Stopped(receipt=receipt)

    # --- each kind ---

    async def _open_board(self, order: StartBoard) -> RunId:
        said = (await commands.read(self.project)).state.chosen
        mode = Mode(order.mode) if order.mode else said
        spec = board_spec.board_spec(
            self.project, mode=mode, slots=order.parallel, count=order.count, until=order.until
        )
        if self.drives(BOARD):
            await self._equip(spec, order.budget_usd)
        else:
            await self._drive_board(spec, order.budget_usd)
        return BOARD

    async def _open_task(self, order: StartTask) -> RunId:
        agent = chosen(self.project, order.agent)[0] if order.agent else None
        made: list[str] = []

        def decide(state: BoardState) -> list[Command]:
            made[:] = commands.free_ids(state.board)
            new = commands.for_prompt(made[0], order.prompt, agent)
            return [AddTasks(tasks=(new,)), Assign(task=new.id)]

        if not self._is_driven(BOARD):
            await self._drive_board(board_spec.board_spec(self.project, mode=Mode.SEMI))
        await commands.tell(self.project, decide)
        return RunId(made[0])

    async def _open_room(self, order: StartRoom) -> RunId:
        wish = Wish(
            goal=order.goal,
            mode=order.mode,
            agents=order.agents,
            first=order.first,
            max_rounds=order.max_rounds,
            respect_final=order.respect_final,
        )
        spec = session_spec(self.project, wish)
        await self._talk(order.thread, spec, instead=order.instead)
        return threads.run_of(order.thread)

    async def _talk(self, thread: str, spec: SessionSpec, *, instead: bool) -> None:
        run = threads.run_of(thread)
        if not self.drives(run) and self._is_driven(run):
            raise HeldError(run, self.project.journal.holders()[run])
        await self._load(spec)
        await RoomDriver(self._shop, thread).begin(spec, instead=instead)

    async def _load(self, spec: SessionSpec) -> None:
        agents = self.project.settings.agents
        await load_sdks(agents[name].driver for name in spec.agents if name in agents)

    async def _open_auto(self, order: StartAuto) -> RunId:
        begun = await autos.beginning(
            self.project,
            order.goal,
            agent=order.agent,
            policy=order.policy,
            approvals=order.approvals,
            attended=True,  # there is a page where a person can answer
        )
        self._shop.hire(begun.agents)
        return await begun.open(self.engine)

    # --- the board ---

    async def _drive_board(self, spec: BoardSpec, budget_usd: float | None = None) -> None:
        await self._take_board(
            await driver.prepare(self.project, spec, lambda state: [], budget_usd=budget_usd)
        )

    async def _take_board(self, known: commands.Read) -> None:
        self._shop.hire(driver.needed(known.state.spec, known.state))
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
        self._shop.hire(driver.needed(spec, read.state))
        self._make_room(spec.slots)
        limits = read.run.limits
        await driver.equip(
            self.project, spec, lambda state: [], read, limits, budget_usd=budget_usd
        )

    def _is_driven(self, run: RunId) -> bool:
        """By this process or another."""
        return run in self.project.journal.holders()


@asynccontextmanager
async def supervisor(project: Project, note: Note = lambda line: None) -> AsyncIterator[Supervisor]:
    """Everything this process drives ends with the block; what is recorded can go on later."""
    async with runtime(project, note=note) as shop, anyio.create_task_group() as group:
        yield Supervisor(shop, group, note)
        group.cancel_scope.cancel()
