"""Drives one run in this terminal: prints its log, handles typed text and Ctrl-C."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from allstop.cli.output import LIMIT, STOPPED, WAITS, code_of, echo
from allstop.cli.record_lines import as_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from datetime import datetime

    from allstop.app.project import Project
    from allstop.app.runtime import Runtime
    from allstop.core.asks import Ask
    from allstop.core.events import Event
    from allstop.core.ids import AgentName, RunId
    from allstop.core.moves import Wait
    from allstop.core.run import RunState
    from allstop.engine.local import LocalEngine
    from allstop.ports import Record
    from allstop.views.kind import Kind
    from allstop.views.live_state import LiveState


async def drive(
    project: Project,
    kind: Kind,
    agents: Iterable[AgentName],
    begin: Callable[[LocalEngine], Awaitable[RunId]],
    *,
    as_json: bool,
    known: int = 0,
    attended: bool | None = None,
) -> int:
    """Drive a run here until it is over, or until only a person can continue it.

    `begin` starts the run and returns its name. Its first `known` events were printed before.
    `attended`: a person may type; by default if standard input is a terminal.
    """
    from allstop.app.board import board_spec
    from allstop.app.runtime import start_runtime

    for note in board_spec.start_note_texts(project):
        echo(f"note: {note}", err=True)
    async with start_runtime(project, agents) as resources:
        run = await begin(resources.engine)
        return await show_until_over(
            resources, kind, run, as_json=as_json, known=known, attended=attended
        )


async def show_until_over(
    resources: Runtime,
    kind: Kind,
    run: RunId,
    *,
    as_json: bool,
    known: int = 0,
    since: datetime | None = None,
    attended: bool | None = None,
) -> int:
    """Show a run that `resources` drive until only a person can continue it.

    The exit code of an endless run is about what happened after `since`.
    """
    import anyio

    terminal = RunTerminal(
        resources, kind, run, as_json=as_json, known=known, since=since, attended=attended
    )
    async with anyio.create_task_group() as group:
        group.start_soon(terminal.show)
        group.start_soon(terminal.handle_signals, group.cancel_scope.cancel)
        group.start_soon(terminal.handle_input)
        await terminal.wait_until_over()
        group.cancel_scope.cancel()
    await terminal.catch_up()
    return await terminal.finish()


class RunTerminal:
    def __init__(
        self,
        resources: Runtime,
        kind: Kind,
        name: RunId,
        *,
        as_json: bool,
        known: int,
        since: datetime | None,
        attended: bool | None,
    ) -> None:
        import anyio

        self._resources = resources
        self._kind = kind
        self._project = resources.project
        self._run = name
        self._engine = resources.engine
        self._as_json = as_json
        self._reads_input = attended is not False
        self._is_attended = sys.stdin.isatty() if attended is None else attended
        self._seq = 0
        self._known = known
        self._since = since
        self._log = kind.log()
        self._live: LiveState | None = None
        self._changed = anyio.Event()
        self._shown_asks: set[str] = set()
        self._wait_shown: tuple[int, str] | None = None  # number of moves then, and the reason

    async def show(self) -> None:
        from allstop.app.runs.follow import follow

        async with follow(self._project.journal, self._run) as batches:
            async for batch in batches:
                self._take(batch)

    async def catch_up(self) -> None:
        self._take(await self._project.journal.read(self._run, after=self._seq))

    def _take(self, batch: Any) -> None:
        from allstop.cli.record_lines import print_records

        record: Record
        for record in batch:
            if record.seq <= self._seq:
                continue
            self._seq = record.seq
            self._changed.set()
            lines = self._log(record.event)
            self._fold(record.event)
            if self._as_json:
                print_records([record], as_json=True)
                continue
            if record.seq <= self._known:
                continue
            for line in lines:
                echo(as_text(line))
            self._show_asks()

    def _fold(self, event: Event) -> None:
        from allstop.core.events import Opened

        if isinstance(event, Opened):
            self._live = self._kind.begin(event)
        elif self._live is not None:
            self._live.take(event)

    @property
    def _state(self) -> RunState[Any] | None:
        return self._live.state if self._live else None

    def _show_asks(self) -> None:
        from allstop.core.asks import answer_command

        for ask in self._state.asks.values() if self._state else ():
            if ask.id not in self._shown_asks:
                self._shown_asks.add(ask.id)
                elsewhere = "" if self._is_attended else answer_command(self._run, ask)
                for line in _ask_lines(ask, elsewhere):
                    echo(f"          {line}")

    async def wait_until_over(self) -> None:
        import anyio

        while True:
            self._changed = anyio.Event()
            await self._engine.idle()
            state = self._engine.state(self._run)
            if state is None or self._is_held(state) or not self._is_attended:
                return
            await self.catch_up()
            self._print_wait(state)
            await self._changed.wait()

    def _is_held(self, state: RunState[Any]) -> bool:
        """Whether the run is paused or stopped; typed text can't continue it then."""
        from allstop.core.helm import Hold

        return state.hold is not Hold.NONE or self._engine.helm.hold is not Hold.NONE

    def _print_wait(self, state: RunState[Any]) -> None:
        """Say once per wait how the person at this terminal can continue the run."""
        waits = self._waits(state)
        if self._as_json or waits is None or self._wait_shown == (state.moves, waits.reason):
            return
        self._wait_shown = (state.moves, waits.reason)
        here = "press Enter to continue, or type a message; Ctrl-C leaves"
        if waits.at_limit:
            here = f"to continue, run `{self._raise_command(state)}` elsewhere; Ctrl-C leaves"
        elif waits.question:
            here = "type your answer; Enter alone leaves it to the agent; Ctrl-C leaves"
        elif self._kind.needs_look(state):
            here = f"see `allstop diff {self._run}` elsewhere; {here}"
        echo(f"{self._run}: {waits.reason}\n          {here}")

    def _waits(self, state: RunState[Any]) -> Wait | None:
        from allstop.core.moves import Wait
        from allstop.core.run import expected_move

        move = expected_move(self._kind.pilot, state, self._project.clock.now(), self._engine.helm)
        return move if isinstance(move, Wait) else None

    def _waits_for_person(self, state: RunState[Any]) -> bool:
        waits = self._waits(state)
        return waits is not None and waits.for_person and not waits.at_limit

    def _raise_command(self, state: RunState[Any]) -> str:
        return "allstop today" if state.short_until else f"allstop limit {self._run} --times 2"

    async def handle_signals(self, leave: Callable[[], None]) -> None:
        from allstop.cli.interrupts import handle_signals
        from allstop.core.commands import Pause

        async def pause(by: str) -> None:
            await self._engine.command(self._run, Pause(), by=by)

        pausing = "pausing after this turn; Ctrl-C again stops it now"
        await handle_signals(pause, self._stop, leave, _note, pausing=pausing)

    async def _stop(self, by: str) -> None:
        from allstop.app.stop.in_process import stop_one
        from allstop.core.commands import Allstop

        async def tell() -> None:
            await self._engine.command(self._run, Allstop(), by=by)

        await stop_one(self._resources, tell, by, _note)

    async def handle_input(self) -> None:
        from allstop.cli.stdin_lines import piped_lines
        from allstop.core.errors import AllstopError

        async for line in piped_lines(sys.stdin.fileno() if self._reads_input else None):
            try:
                await self._handle_line(line.strip())
            except AllstopError as error:
                _note(f"{error.message} ({error.hint})")

    async def _handle_line(self, words: str) -> None:
        from allstop.app.runs.commands import parse_reply
        from allstop.core.commands import Say, is_allstop

        ask = next(iter(self._state.asks.values()), None) if self._state else None
        reply = parse_reply(ask, words) if ask else None
        if is_allstop(words):
            await self._stop("user")
        elif reply is not None:
            await self._engine.command(self._run, reply)
        elif words:
            await self._engine.command(self._run, Say(text=words))
        elif self._state and self._waits_for_person(self._state):
            await self._engine.command(self._run, self._kind.go_on_command(self._run, self._state))

    async def finish(self) -> int:
        from allstop.core.moves import Outcome

        state = self._state
        assert state is not None, "it was opened"
        if state.closed is None:
            return self._finish_open(state)
        files = self._kind.changed_files(state)
        if state.closed.outcome is not Outcome.DONE and files:
            self._show_unmerged(files)
        return code_of(state.closed.outcome)

    def _show_unmerged(self, files: int) -> None:
        """Say how to find the work of a run that ended without merging."""
        from allstop.core.text import counted

        show = f"allstop diff {self._run}"
        if not self._as_json:
            echo(f"{self._run}: nothing was merged; {counted(files, 'file')} changed: {show}")
            echo(f"          to apply the work here: {show} | git apply")

    def _finish_open(self, state: RunState[Any]) -> int:
        """Say why the run waits, and which commands continue it."""
        from allstop.core.helm import Hold

        name, waits, held = self._run, self._waits(state), self._is_held(state)
        why = waits.reason if waits else "it waits"
        code = LIMIT if waits and waits.at_limit else WAITS
        if self._kind.is_endless and not held and code != LIMIT:
            code = code_of(self._kind.rest_outcome(state, self._since))
            if waits is None or not waits.for_person:
                return code
        helps = self._kind.resume_command(name, state.opened)
        if self._kind.needs_look(state):
            helps = f"allstop diff {name}, then {helps}"
        if code == LIMIT:
            helps = f"{self._raise_command(state)}, then {helps}"
        if waits and waits.question:
            helps = f'allstop answer {name} "…", then {helps}'
        if self._engine.helm.hold is not Hold.NONE:
            helps = f"allstop resume, then {helps}"
        if not self._as_json:
            end = "" if why.endswith("?") else "."
            echo(f"{name}: {why.rstrip('.')}{end} Continue: {helps}")
        return STOPPED if held else code


def _note(text: str) -> None:
    echo(text, err=True)


def _ask_lines(ask: Ask, elsewhere: str) -> list[str]:
    """The reason for a question, its options, and how to answer it.

    `elsewhere` is the command for another terminal; "" if a person can answer here.
    """
    from allstop.core.text import one_line

    if not ask.questions:
        because = [f"reason: {one_line(ask.rule)}"] if ask.rule else []
        here = f"allow it? y or n, then Enter   ({ask.id})"
        return [*because, f"to allow it: {elsewhere}" if elsewhere else here]
    shown = []
    for question in ask.questions:
        shown.append(one_line(question.text, 200))
        for number, option in enumerate(question.options, 1):
            meaning = f": {one_line(option.text)}" if option.text else ""
            shown.append(f"  {number} {one_line(option.label)}{meaning}")
    several = ", one answer each with ; between them" if len(ask.questions) > 1 else ""
    here = f"type a number or your own answer{several}, then Enter   ({ask.id})"
    return [*shown, f"to answer: {elsewhere}" if elsewhere else here]
