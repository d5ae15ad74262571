"""A bare mirror of the shared remote: what it fetches, and how it pushes.

The branches of the mirror are those of the remote. Only the host talks to the remote, with the
credentials of the person who started it.
"""

import os
import re
import shutil
from collections.abc import Awaitable, Callable
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, TypeVar

import anyio

from allstop.adapters.git.repository.git_command import GitResult, run_git
from allstop.adapters.git.repository.repository import GitError
from allstop.core.errors import AllstopError
from allstop.core.text import one_line

T = TypeVar("T")

FOLDER = "mirror"

_CREDENTIALS = re.compile(
    "GIT_(SSH|SSH_COMMAND|SSH_VARIANT|ASKPASS|SSL_.*|HTTP_.*|PROXY_.*|CONFIG_COUNT|CONFIG_(KEY|VALUE)_.*)"
)
"""Variables of the person by which git reaches a remote."""

_SSH = "ssh -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=5 -o ServerAliveCountMax=4"
"""Unless the person has set a command: it asks nothing, and notices a cut network."""

_SLOW = ("-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=30")
_REFUSED = re.compile(r"^!\t[^\t]*\t\[(remote )?rejected\] \((.*)\)$", re.MULTILINE)

FIRST_RETRY_S, LONGEST_RETRY_S = 1.0, 30.0

TRIAL_BRANCH = "refs/heads/allstop/doctor"
"""Nothing is ever pushed to it."""

NOWHERE = ""
"""The old value of a branch that must not exist yet."""


class RemoteError(AllstopError):
    """The shared remote doesn't answer, or refuses this machine."""

    default_code = "remote_unreachable"


class PushEnd(StrEnum):
    DONE = "done"
    MOVED = "moved"  # the branch has another value than expected
    REFUSED = "refused"  # by a rule of the remote


class Pushed(NamedTuple):
    end: PushEnd
    reason: str = ""


class Mirror:
    def __init__(self, folder: Path, url: str, push_url: str, note: Callable[[str], None]) -> None:
        """`note` tells people that the remote doesn't answer."""
        self.folder = folder
        self._url, self._push_url = url, push_url
        self._note = note
        self._one_fetches = anyio.Lock()
        self._begun = self._done = 0  # how many fetches

    async def open(self) -> None:
        """Make the mirror if there is none, and fetch.

        Raises RemoteError if the remote can't be reached.
        """
        if not (self.folder / ".git" / "HEAD").exists():
            await self._make()
        await self._set_address()
        await self._fetch()

    async def _make(self) -> None:
        new = self.folder.with_name(f"{self.folder.name}.{os.getpid()}")
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(mode=0o700, parents=True)
        await self._git("init", "-q", "--bare", "--template=", ".git", cwd=new)
        try:
            new.rename(self.folder)
        except OSError:  # another process has just made it
            shutil.rmtree(new)

    async def _set_address(self) -> None:
        for name, value in (
            ("remote.origin.url", self._url),
            ("remote.origin.pushurl", self._push_url),
            ("remote.origin.fetch", "+refs/heads/*:refs/heads/*"),
            ("gc.auto", "0"),
        ):
            known = await self._git("config", name, fails=True)
            if known.out.decode(errors="replace").rstrip("\n") != value:
                await self._git("config", "--replace-all", name, value)

    async def check(self, branch: str) -> None:
        """Ask for a branch, and for the right to push; nothing is changed. The folder may be a clone.

        Raises RemoteError if either is refused.
        """
        ref = f"refs/heads/{branch}"
        if not (await self._remote("ls-remote", self._url, ref)).out:
            raise RemoteError(
                f"the shared remote has no branch {branch!r}",
                "`git push` it once: the machines start from it",
                code="remote_branch_missing",
            )
        trial = f"HEAD:{TRIAL_BRANCH}"
        await self._remote("push", "-q", "--dry-run", "--no-verify", self._push_url, trial)

    async def head(self) -> str:
        """The remote's default branch; "" if it has none."""
        done = await self._remote("ls-remote", "--symref", "origin", "HEAD")
        found = re.match(r"ref: refs/heads/(\S+)\tHEAD", done.out.decode(errors="replace"))
        return found.group(1) if found else ""

    async def fetch(self) -> None:
        """Fetch until the remote answers: what was pushed before this call is here afterwards."""
        await self.until_answered(self._fetch)

    async def _fetch(self) -> None:
        before = self._begun
        async with self._one_fetches:
            if self._done > before:
                return  # that one began after this call
            self._begun += 1
            number = self._begun
            await self._remote(
                *("fetch", "-q", "--prune", "--no-tags", "--no-write-fetch-head"),
                *("--no-auto-maintenance", "--no-recurse-submodules", "origin"),
            )
            self._done = number

    async def push(self, ref: str, commit: str, old: str) -> Pushed:
        """Move a branch of the remote from `old` to a commit; an empty commit removes it.

        Raises RemoteError if it is unknown whether that happened.
        """
        done = await self._try_remote(
            "push", "--porcelain", f"--force-with-lease={ref}:{old}", "origin", f"{commit}:{ref}"
        )
        if done.code == 0:
            return Pushed(PushEnd.DONE)
        refused = _REFUSED.search(done.out.decode(errors="replace"))
        if refused is None:
            raise _unreachable(done)
        end = PushEnd.REFUSED if refused[1] and "lock" not in refused[2] else PushEnd.MOVED
        return Pushed(end, refused[2])

    async def until_answered(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Repeat what needs the remote until it answers."""
        wait_s = FIRST_RETRY_S
        while True:
            try:
                return await ask()
            except RemoteError as error:
                self._note(f"{error.message}; it is tried again")
                await anyio.sleep(wait_s)
                wait_s = min(2 * wait_s, LONGEST_RETRY_S)

    async def _remote(self, *words: str) -> GitResult:
        done = await self._try_remote(*words)
        if done.code != 0:
            raise _unreachable(done)
        return done

    async def _try_remote(self, *words: str) -> GitResult:
        own = {name: value for name, value in os.environ.items() if _CREDENTIALS.fullmatch(name)}
        if not {"GIT_SSH", "GIT_SSH_COMMAND"} & own.keys():
            configured = await self._git("config", "core.sshCommand", fails=True)
            if not configured.out:
                own["GIT_SSH_COMMAND"] = _SSH
        return await run_git((*_SLOW, *words), cwd=self.folder, env=own)

    async def _git(self, *words: str, cwd: Path | None = None, fails: bool = False) -> GitResult:
        done = await run_git(words, cwd=cwd or self.folder)
        if done.code != 0 and not fails:
            raise GitError(f"git {words[0]}: {done.stderr}")
        return done


def _unreachable(done: GitResult) -> RemoteError:
    said = one_line(done.stderr, 300) or f"git ended with code {done.code}"
    return RemoteError(
        f"the shared remote doesn't answer: {said}",
        "try `git fetch` in this repository; git must need no password from a terminal",
    )
