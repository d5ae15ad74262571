"""Runs a check: a shell command in a clean clone, in the box."""

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

import anyio

from allstop.core.gate import Check
from allstop.core.moves import CheckResult
from allstop.core.text import one_line
from allstop.ports import (
    UNREACHED,
    Box,
    Launch,
    Launcher,
    LaunchError,
    Live,
    OpenHosts,
    Progress,
    UnsafeError,
    no_hosts,
)
from allstop.programs import Tail, run_to_end

KEPT_BYTES = 16 * 1024
VERSION_LENGTH = 80

_LOOK = r"""
for name do
    found=$(command -v -- "$name") || continue
    case $name in go|*/go) flag=version ;; *) flag=--version ;; esac
    version=$(timeout 20 "$found" "$flag" 2>/dev/null </dev/null | head -n 1)
    printf '%s\t%s\t%s\t%s\n' "$name" "$found" "$(readlink -f -- "$found")" "$version"
done
"""


class FoundProgram(NamedTuple):
    """A program in a box."""

    path: str
    real: str
    version: str


async def find_programs(
    launcher: Launcher, box: Box, names: Sequence[str], label: str, shown: Sequence[str] = ()
) -> Mapping[str, FoundProgram]:
    """Find programs in a box and ask each for its version; those of `shown` are made visible."""
    if not names:
        return {}
    launch = Launch(
        argv=("sh", "-c", _LOOK, "sh", *names),
        box=box,
        label=label,
        env=box.env,
        programs=tuple(shown),
    )
    output = Tail()
    await run_to_end(launcher, launch, b"", output, lambda live: None)
    rows = (line.split("\t") for line in output.text().splitlines())
    return {
        row[0]: FoundProgram(row[1], row[2], one_line(row[3], VERSION_LENGTH))
        for row in rows
        if len(row) == 4
    }


class DigestedTail(Tail):
    """The end of an output, and the digest of all of it."""

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self._digest = sha256()

    def add(self, data: bytes) -> None:
        self._digest.update(data)
        super().add(data)

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()


class BoxedChecks:
    def __init__(
        self,
        launcher: Launcher,
        *,
        trusted: bool = False,
        open_hosts: OpenHosts = no_hosts,
        env: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        """`trusted`: the person accepted the commands, so they may run without a sandbox.

        `env` are variables that only checks get.
        """
        self._launcher = launcher
        self._trusted = trusted
        self._open_hosts = open_hosts
        self._env = env

    async def run(self, check: Check, place: Box, label: str, progress: Progress) -> CheckResult:
        output = DigestedTail(KEPT_BYTES)
        began = anyio.current_time()
        code: int | None
        unreached: list[str] = []

        def tell(sentence: str) -> None:
            unreached.append(sentence)
            progress(Live(UNREACHED, sentence))

        async with self._open_hosts(place, tell) as box:
            launch = Launch(
                argv=("sh", "-c", check.run),
                box=box,
                label=label,
                env={**box.env, **self._env()},
                trusted=self._trusted and check.trusted,
            )
            try:
                code = await run_to_end(self._launcher, launch, b"", output, progress)
            except (LaunchError, UnsafeError) as error:
                code = None
                output.add(f"{error.message}\n{error.hint}".encode())
        if code != 0:
            output.add("".join(f"\nAllstop: {each}" for each in unreached).encode())
        return CheckResult(
            name=check.name,
            run=check.run,
            required=check.required,
            passed=code == 0,
            code=code,
            seconds=round(anyio.current_time() - began, 2),
            output=output.text(),
            log_digest=output.digest,
            unreached=tuple(unreached),
        )
