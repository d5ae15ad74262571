"""Runs a check: a shell command in a clean clone, in the box."""

import anyio

from allstop.core.gate import Check
from allstop.core.moves import CheckResult
from allstop.ports import Box, Launch, Launcher, LaunchError, Progress, UnsafeError
from allstop.programs import Tail, run_to_end

KEPT_BYTES = 16 * 1024


class BoxedChecks:
    def __init__(self, launcher: Launcher, *, trusted: bool = False) -> None:
        """`trusted`: the person accepted the commands, so they may run without a sandbox."""
        self._launcher = launcher
        self._trusted = trusted

    async def run(self, check: Check, place: Box, label: str, progress: Progress) -> CheckResult:
        launch = Launch(
            argv=("sh", "-c", check.run),
            box=place,
            label=label,
            env=place.env,
            trusted=self._trusted and check.trusted,
        )
        output = Tail(KEPT_BYTES)
        began = anyio.current_time()
        code: int | None
        try:
            code = await run_to_end(self._launcher, launch, b"", output, progress)
        except (LaunchError, UnsafeError) as error:
            code = None
            output.add(f"{error.message}\n{error.hint}".encode())
        return CheckResult(
            name=check.name,
            run=check.run,
            required=check.required,
            passed=code == 0,
            code=code,
            seconds=round(anyio.current_time() - began, 2),
            output=output.text(),
        )
