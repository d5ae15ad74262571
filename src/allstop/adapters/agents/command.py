"""An agent that is any program: the prompt goes in, its standard output is what it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Literal

import anyio
from anyio.abc import TaskGroup

from allstop.adapters.agents import reset_times
from allstop.adapters.agents.exception_groups import first_of
from allstop.adapters.agents.launch_failure import unstarted
from allstop.adapters.agents.limit_patterns import limit_in
from allstop.adapters.agents.no_conversations import NO_COPY
from allstop.adapters.agents.progress_lines import SpokenTail
from allstop.adapters.agents.reset_times import Moment
from allstop.adapters.agents.turn_socket import Doors, way_to
from allstop.adapters.agents.turn_tools import Desk
from allstop.core.moves import Failed, FailureKind, TurnDone
from allstop.ports import (
    Abilities,
    Box,
    Clock,
    Launch,
    Launcher,
    LaunchError,
    Turn,
    UnsafeError,
    Watch,
)
from allstop.programs import Tail, run_to_end

PromptBy = Literal["stdin", "arg", "file"]

_FILE = 'f=$(mktemp) && cat >"$f" && exec "$@" "$f" </dev/null'
"""The prompt's file is made inside the box: the host never writes where an agent can."""


class CommandAgent:
    abilities = Abilities(needs_box=True)

    def __init__(
        self,
        argv: Sequence[str],
        *,
        launcher: Launcher,
        room: Box,
        clock: Clock,
        prompt: PromptBy = "stdin",
        env: Mapping[str, str] | None = None,
        limit_patterns: Sequence[str] = (),
        doors: Doors | None = None,
    ) -> None:
        self._argv = tuple(argv)
        self._launcher = launcher
        self._room = room  # for turns without a workspace
        self._clock = clock
        self._prompt = prompt
        self._env = dict(env or {})
        self._limit_patterns = limit_patterns
        self._doors = doors

    async def take_turn(self, turn: Turn, watch: Watch) -> TurnDone | Failed:
        if turn.fork:
            return NO_COPY
        try:
            async with anyio.create_task_group() as group:
                out = SpokenTail(turn.prompt.whole, watch, group)
                try:
                    result = await self._run(turn, watch, group, out)
                finally:
                    out.close()
        except ExceptionGroup as errors:
            raise first_of(errors) from errors
        return result

    async def _run(
        self, turn: Turn, watch: Watch, group: TaskGroup, out: Tail
    ) -> TurnDone | Failed:
        launch, stdin = self._launch(turn)
        desk, err = Desk(watch), Tail()
        try:
            with way_to(desk, self._doors, turn, group) as way:
                launch = way.shown(launch) if way else launch
                code = await run_to_end(self._launcher, launch, stdin, out, watch.live, err)
        except (LaunchError, UnsafeError) as error:
            return unstarted(error)
        if code == 0:
            return TurnDone(text=out.text(), signals=desk.signals)
        return self._failed(code, err.text().strip(), out.text().strip())

    async def close(self) -> None:
        if self._doors is not None:
            self._doors.close()

    def _launch(self, turn: Turn) -> tuple[Launch, bytes]:
        text = turn.prompt.whole
        box = turn.place or self._room
        argv, stdin = self._argv, text.encode(errors="replace")
        if self._prompt == "arg":
            argv, stdin = (*argv, text), b""
        elif self._prompt == "file":
            argv = ("sh", "-c", _FILE, "sh", *argv)
        launch = Launch(
            argv=argv,
            box=box,
            label=turn.run,
            env={**box.env, **self._env},
            programs=(self._argv[0],),
        )
        return launch, stdin

    def _failed(self, code: int, errors: str, words: str) -> Failed:
        if line := limit_in(errors, words, self._limit_patterns):
            now = self._clock.now()
            at = Moment(now=now, local=now.astimezone().tzinfo or UTC)
            until = reset_times.reset(line, at) or reset_times.retry(line, now)
            return Failed(kind=FailureKind.RATE_LIMITED, message=line, retry_at=until, guessed=True)
        last_words = errors or words
        signal = _signal_of(code)
        how = f"signal {signal}" if signal else f"exit code {code}"
        return Failed(
            kind=FailureKind.CRASHED if signal else FailureKind.EXITED,
            message=f"{how}\n{last_words[-4000:]}".strip(),
        )


def _signal_of(code: int) -> int:
    """The signal that ended it; a shell, and the box, tell it by a number above 128."""
    if code < 0:
        return -code
    return code - 128 if 128 < code < 160 else 0
