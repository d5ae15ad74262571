"""Running git scripts in a workspace's box."""

from __future__ import annotations

from collections.abc import Callable

from allstop.adapters.git.repository.repository import GitError
from allstop.core.moves import CheckResult
from allstop.ports import Box, Chunk, Launch, Launcher, LaunchError, Stream, UnsafeError
from allstop.programs import Tail, run_to_end

KEPT_BYTES = 4 * 1024**2
SETUP = "setup"


class BoxFailedError(Exception):
    """A script in the box failed; the message is what it said."""

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


class SetUpFailedError(BoxFailedError):
    """Somebody's own command failed in a tree, as `result` says; `notes`, what the tree lacks."""

    def __init__(self, message: str, result: CheckResult, notes: tuple[str, ...] = ()) -> None:
        super().__init__(message, result.code)
        self.result = result
        self.notes = notes


TROUBLE = (GitError, BoxFailedError, LaunchError, UnsafeError, OSError)
"""What can go wrong with a workspace and is nobody's mistake in the program."""


class Boxes:
    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher

    @property
    def are_real(self) -> bool:
        return self._launcher.isolation.boxed

    async def run(
        self, place: Box, label: str, script: str, *arguments: str, stdin: bytes = b""
    ) -> str:
        """What it printed.

        Raises:
            BoxFailedError: it ended with another code than 0.
            LaunchError, UnsafeError: it can't be started.
        """
        out, err = Tail(KEPT_BYTES), Tail(4096)
        launch = _launch(place, label, script, *arguments)
        code = await run_to_end(self._launcher, launch, stdin, out, lambda live: None, err)
        if code != 0:
            raise BoxFailedError(err.text().strip() or f"exit code {code}", code)
        return out.text()

    async def receive(
        self,
        place: Box,
        label: str,
        script: str,
        *arguments: str,
        write: Callable[[bytes], object],
        most_bytes: int,
    ) -> None:
        """Like `run`, for output of any length."""
        complaint = Tail(4096)
        received = 0
        async with self._launcher.launch(_launch(place, label, script, *arguments)) as child:
            await child.close_input()
            while (chunk := await child.receive()) is not None:
                received += _sort(chunk, write, complaint)
                if received > most_bytes:
                    raise BoxFailedError(f"the work has more than {most_bytes:,} bytes")
            exit_ = await child.wait()
        if exit_.code != 0:
            raise BoxFailedError(complaint.text().strip() or f"exit code {exit_.code}", exit_.code)

    async def set_up(self, place: Box, label: str, command: str) -> None:
        """Run somebody's own command.

        Raises:
            SetUpFailedError: it failed; the message is the end of what it said.
        """
        output = Tail(4096)
        launch = Launch(argv=("sh", "-c", command), box=place, label=label, env=place.env)
        code = await run_to_end(self._launcher, launch, b"", output, lambda live: None)
        if code != 0:
            said = output.text().strip()
            message = f"setup ended with exit code {code}: {command}\n{said}"
            result = CheckResult(name=SETUP, run=command, passed=False, code=code, output=said)
            raise SetUpFailedError(message, result)


def _launch(place: Box, label: str, script: str, *arguments: str) -> Launch:
    argv = ("sh", "-c", script, "sh", *arguments)
    return Launch(argv=argv, box=place, label=label, trusted=True, sparse=True)


def _sort(chunk: Chunk, write: Callable[[bytes], object], complaint: Tail) -> int:
    if chunk.stream is Stream.ERR:
        complaint.add(chunk.data)
        return 0
    write(chunk.data)
    return len(chunk.data)
