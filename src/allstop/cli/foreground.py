"""A run driven in this terminal: what happens is shown, Ctrl-C is heard, the exit code is right."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import anyio
import click
import msgspec

from allstop.app.following import follow
from allstop.app.looking import Recorded, helm_of
from allstop.app.stopping import raise_stop_file
from allstop.app.work import open_task, workshop
from allstop.cli.screen import Screen, make_screen
from allstop.core.commands import Pause
from allstop.core.errors import AllstopError
from allstop.core.helm import Hold
from allstop.core.ids import AgentName, RunId, root_of
from allstop.core.moves import Outcome
from allstop.core.views import receipt
from allstop.engines.local import LocalEngine
from allstop.loop.steps import Parked
from allstop.pilots.task import TaskSpec

if TYPE_CHECKING:
    from allstop.app.house import House

FINISHED, FAILED, WAITS, LIMIT, STOPPED = 0, 1, 3, 4, 130

EXIT_CODES = {
    Outcome.DONE: FINISHED,
    Outcome.BLOCKED: FAILED,
    Outcome.FAILED: FAILED,
    Outcome.ABORTED: FAILED,
    Outcome.TIMED_OUT: LIMIT,
    Outcome.BRAKED: LIMIT,
}


async def begin(house: House, goal: str, agents: tuple[AgentName, ...], *, as_json: bool) -> int:
    """A new task for this goal, until it rests."""
    if not goal.strip():
        raise AllstopError("the prompt is empty", "say what is to be done")
    await refuse_if_stopped(house)

    async def start(engine: LocalEngine) -> RunId:
        return await open_task(house, engine, goal, agents)

    return await _drive(house, agents, start, as_json=as_json)


async def go_on(house: House, recorded: Recorded, *, as_json: bool) -> int:
    """A run that nobody drives, from where it was."""
    spec = msgspec.convert(recorded.opened.spec, TaskSpec)

    async def start(engine: LocalEngine) -> RunId:
        await engine.take(recorded.run)
        return root_of(recorded.run)

    return await _drive(house, spec.agents, start, as_json=as_json)


async def refuse_if_stopped(house: House) -> None:
    helm = await helm_of(house)
    if helm.hold is Hold.STOPPED or house.journal.sentinel.is_up():
        raise AllstopError("Allstop is in force", "`allstop resume` lifts it")


async def _drive(
    house: House,
    agents: tuple[AgentName, ...],
    start: Callable[[LocalEngine], Awaitable[RunId]],
    *,
    as_json: bool,
) -> int:
    for note in house.loaded.untrusted:
        click.echo(f"note: {note}", err=True)
    with make_screen(as_json=as_json) as screen:
        async with workshop(house, agents) as shop:
            screen.note(shop.launcher.isolation.how if not shop.launcher.isolation.boxed else "")
            shop.engine.view(screen.live)
            run = await start(shop.engine)
            async with anyio.create_task_group() as group:
                group.start_soon(_heed_signals, house, shop.engine, run, screen)
                group.start_soon(_show, house, shop.engine, run, screen)
                resting = await shop.engine.rested(run)
                await _caught_up(house, run, screen)
                if shop.engine.was_stopped:
                    screen.note(receipt(await shop.engine.halted()))
                group.cancel_scope.cancel()
        return _say_goodbye(run, resting, screen)


async def _show(house: House, engine: LocalEngine, run: RunId, screen: Screen) -> None:
    async with follow(house.journal, run) as batches:
        async for batch in batches:
            screen.records(batch, engine.state(run))


async def _caught_up(house: House, run: RunId, screen: Screen) -> None:
    """Show the last of it: the run may have ended before the follower was called."""
    screen.records(await house.journal.read(run, after=screen.seq), None)


async def _heed_signals(house: House, engine: LocalEngine, run: RunId, screen: Screen) -> None:
    """Once pauses, twice is Allstop; being told to end is a pause that does not wait."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        asked = False
        async for number in signals:
            if number == signal.SIGINT and not asked:
                asked = True
                screen.note("pausing after this turn; Ctrl-C again is Allstop")
                await engine.command(run, Pause(), by="Ctrl-C")
            else:
                by = "Ctrl-C twice" if number == signal.SIGINT else "SIGTERM"
                screen.note("■ ALLSTOP")
                raise_stop_file(house, by)
                await engine.allstop(by=by)


def _say_goodbye(run: RunId, resting: Parked | Outcome, screen: Screen) -> int:
    if isinstance(resting, Outcome):
        if resting is Outcome.DONE:
            screen.note(f"✓ {run} is done. See it: git log -p HEAD..allstop/{run}")
        else:
            screen.note(f"✗ {run} ended: {resting}. Why: allstop log {run}")
        return EXIT_CODES[resting]
    if resting.reason in {"paused", "stopped", "allstop", "frozen", "all paused", "all frozen"}:
        everything = resting.reason == "allstop" or resting.reason.startswith("all ")
        lift = "allstop resume && " if everything else ""
        how = "stopped" if resting.reason == "allstop" else resting.reason.removeprefix("all ")
        screen.note(f"{run} is {how}. Go on: {lift}allstop resume {run}")
        return STOPPED
    if resting.reason.startswith("limit reached"):
        screen.note(f"{run}: {resting.reason}")
        return LIMIT
    screen.note(f"{run} waits for you: {resting.reason}")
    screen.note(f'Answer: allstop answer {run} "…" && allstop resume {run}')
    return WAITS
