"""Runs git scripts in a workspace's box."""

from collections.abc import Callable

from allstop.adapters.git.repository.repository import GitError
from allstop.adapters.git.workspace.box_scripts import DAMAGED
from allstop.core.moves import CheckResult
from allstop.ports import (
    Box,
    Chunk,
    Launch,
    Launcher,
    LaunchError,
    OpenHosts,
    Stream,
    UnsafeError,
    no_hosts,
)
from allstop.programs import Tail, run_to_end

KEPT_BYTES = 4 * 1024**2
SETUP = "setup"


class BoxFailedError(Exception):
    """A script in the box failed; the message is its error output."""

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


class SetUpFailedError(BoxFailedError):
    """The user's setup command failed. `notes` say what the tree lacks."""

    def __init__(self, message: str, result: CheckResult, notes: tuple[str, ...] = ()) -> None:
        super().__init__(message, result.code)
        self.result = result
        self.notes = notes


EXPECTED_ERRORS = (GitError, BoxFailedError, LaunchError, UnsafeError, OSError)
"""Expected failures of a workspace, which are no programming errors."""


class BoxGit:
    def __init__(self, launcher: Launcher, open_hosts: OpenHosts = no_hosts) -> None:
        """`open_hosts`: for the setup command; git itself reaches nothing."""
        self._launcher = launcher
        self._open_hosts = open_hosts

    @property
    def is_isolated(self) -> bool:
        return self._launcher.isolation.boxed

    async def run(
        self, box: Box, label: str, script: str, *arguments: str, stdin: bytes = b""
    ) -> str:
        """Run a script and return its output.

        Raises BoxFailedError if its exit code wasn't 0, and LaunchError or UnsafeError if it can't
        be started.
        """
        out, err = Tail(KEPT_BYTES), Tail(4096)
        launch = _launch(box, label, script, *arguments)
        code = await run_to_end(self._launcher, launch, stdin, out, lambda live: None, err)
        if code != 0:
            raise BoxFailedError(err.text().strip() or _reason(code), code)
        return out.text()

    async def receive(
        self,
        box: Box,
        label: str,
        script: str,
        *arguments: str,
        write: Callable[[bytes], object],
        most_bytes: int,
    ) -> None:
        """Like `run`, for output of any length."""
        errors = Tail(4096)
        received = 0
        async with self._launcher.launch(_launch(box, label, script, *arguments)) as child:
            await child.close_input()
            while (chunk := await child.receive()) is not None:
                received += _route(chunk, write, errors)
                if received > most_bytes:
                    raise BoxFailedError(f"the work has more than {most_bytes:,} bytes")
            exit_ = await child.wait()
        if exit_.code != 0:
            raise BoxFailedError(errors.text().strip() or _reason(exit_.code), exit_.code)

    async def set_up(self, box: Box, label: str, command: str, tell: Callable[[str], None]) -> None:
        """Run the user's setup command. `tell` gets a sentence for each host that is refused.

        Raises SetUpFailedError if it failed; the message ends with its output.
        """
        output, refused = Tail(4096), list[str]()

        def tell_and_keep(sentence: str) -> None:
            refused.append(sentence)
            tell(sentence)

        async with self._open_hosts(box, tell_and_keep) as open_box:
            launch = Launch(argv=("sh", "-c", command), box=open_box, label=label, env=open_box.env)
            code = await run_to_end(self._launcher, launch, b"", output, lambda live: None)
        if code != 0:
            text = "\n".join((output.text().strip(), *(f"Allstop: {each}" for each in refused)))
            message = f"setup ended with exit code {code}: {command}\n{text}"
            result = CheckResult(name=SETUP, run=command, passed=False, code=code, output=text)
            raise SetUpFailedError(message, result)


def _reason(code: int) -> str:
    if code == DAMAGED:
        return "the workspace's .git folder is missing or damaged"
    return f"exit code {code}"


def _launch(box: Box, label: str, script: str, *arguments: str) -> Launch:
    argv = ("sh", "-c", script, "sh", *arguments)
    return Launch(argv=argv, box=box, label=label, trusted=True, sparse=True)


def _route(chunk: Chunk, write: Callable[[bytes], object], errors: Tail) -> int:
    if chunk.stream is Stream.ERR:
        errors.add(chunk.data)
        return 0
    write(chunk.data)
    return len(chunk.data)
