"""Git commands in the user's own repository; never in a tree that an agent can write."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, NamedTuple

import anyio

from allstop.adapters.git.repository.cached_files import content
from allstop.adapters.git.repository.git_command import Done, environment, run_git
from allstop.adapters.git.repository.object_lookup import Asking
from allstop.adapters.git.repository.ref_writer import OWN, UPDATE_REFS, Noting, ref_of
from allstop.adapters.git.repository.safe_names import (
    branch_ref,
    git_folders,
    is_commit_name,
    own_refs,
)
from allstop.core.errors import AllstopError

OLDEST = (2, 38)
STALE_S = 5.0


class GitError(AllstopError):
    """Git refused."""


class About(NamedTuple):
    name: str
    kind: str
    size_bytes: int


class Repository:
    """The user's repository, as far as Allstop touches it: refs under refs/allstop, and branches."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.own = own_refs(root)
        self._folders = git_folders(root)
        self._common: Path | None = None
        self._asking = Asking(root)
        self._noting = Noting(root)

    def close(self) -> None:
        """Keep no program running; it can be used all the same."""
        self._asking.close()
        self._noting.close()

    async def run(
        self,
        *arguments: str,
        stdin: bytes | IO[bytes] = b"",
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Done:
        """Whatever its exit code is."""
        return await run_git(arguments, stdin=stdin, cwd=cwd or self.root, env=env)

    async def output(
        self,
        *arguments: str,
        stdin: bytes | IO[bytes] = b"",
        env: Mapping[str, str] | None = None,
    ) -> bytes:
        """
        Raises:
            GitError: it failed; the message is what it said.
        """
        done = await self.run(*arguments, stdin=stdin, env=env)
        if done.code != 0:
            raise refused(arguments[0], done)
        return done.out

    async def git(self, *arguments: str, stdin: bytes = b"") -> str:
        """The standard output of a git command, as text without white space around it.

        Raises:
            GitError: it failed; the message is what it said.
        """
        return (await self.output(*arguments, stdin=stdin)).decode(errors="replace").strip()

    async def pack(self, into: Path, commit: str, *without: str) -> None:
        """Write all that a commit needs, but for what these others have."""
        wanted = "".join(f"{line}\n" for line in (commit, *(f"^{other}" for other in without)))
        into.parent.mkdir(parents=True, exist_ok=True)
        with into.open("xb") as file:
            done = await run_git(
                ("pack-objects", "-q", "--revs", "--thin", "--stdout"),
                cwd=self.root,
                stdin=wanted.encode(),
                stdout=file,
            )
        if done.code != 0:
            raise refused("pack-objects", done)

    async def named(self, *revisions: str) -> tuple[str | None, ...]:
        """The objects that these revisions name, in one go; None where there is none."""
        found = await self.looked_up(*revisions)
        return tuple(about.name if about else None for about in found)

    async def looked_up(self, *revisions: str) -> tuple[About | None, ...]:
        """What git knows of the objects that these revisions name.

        Raises:
            GitError: the repository can't be read.
        """
        assert not any("\n" in revision for revision in revisions), "revisions are single lines"
        told = await self._asking.ask(revisions)
        if told is None:
            lines = "".join(f"{revision}\n" for revision in revisions)
            out = await self.output("cat-file", "--batch-check", stdin=os.fsencode(lines))
            told = out.decode(errors="replace").split("\n")[: len(revisions)]
        return tuple(_about(line) for line in told)

    async def commit(self, revision: str) -> str | None:
        """The commit a revision names, if it does."""
        if "\n" in revision:
            return None
        (found,) = await self.named(f"{revision}^{{commit}}")
        return found

    async def branch(self, name: str) -> str | None:
        """The last commit of a branch; None where there is no such branch, or can't be."""
        ref = branch_ref(name)
        return None if ref is None else await self.commit(ref)

    async def is_at(self, ref: str, commit: str) -> bool:
        """Whether one of our own refs names this commit, which is known to be there."""
        with suppress(OSError):  # git may keep it elsewhere
            if content(f"{self._folders.common}/{ref}") == f"{commit}\n".encode():
                return True
        return await self.commit(ref) == commit

    async def is_ancestor(self, one: str, other: str) -> bool:
        """
        Raises:
            GitError: one of them isn't there.
        """
        done = await self.run("merge-base", "--is-ancestor", one, other)
        if done.code not in (0, 1):
            raise refused("merge-base", done)
        return done.code == 0

    async def set_refs(self, *lines: str) -> None:
        """All or none: each line is a command of `git update-ref --stdin`.

        It isn't cut off: git would leave a lock behind, and nobody could move that ref again.

        Raises:
            GitError: one of them is elsewhere, or locked.
        """
        text = "".join(f"{line}\n" for line in lines).encode()
        with anyio.CancelScope(shield=True):
            if await self._noting.note(lines):
                return
            done = await self.run(*UPDATE_REFS, stdin=text)
            if done.code != 0 and await self._unlocked(lines):
                done = await self.run(*UPDATE_REFS, stdin=text)
        if done.code != 0:
            raise refused("update-ref", done)

    async def _unlocked(self, lines: Sequence[str]) -> bool:
        """Whether a lock that a killed git left was removed; only where none but us write."""
        common = await self.common_dir()
        own = [ref for ref in map(ref_of, lines) if ref.startswith(OWN)]
        removed = [_is_removed(common / f"{ref}.lock") for ref in own]
        return any(removed)

    async def refs(self, *prefixes: str) -> dict[str, str]:
        """What refs below these there are, and the objects they name."""
        told = await self.git("for-each-ref", "--format=%(objectname) %(refname)", *prefixes)
        pairs = (line.split(" ", 1) for line in told.splitlines())
        return {ref: commit for commit, ref in pairs}

    async def common_dir(self) -> Path:
        """The git folder that all checkouts of this repository share."""
        if self._common is None:
            found = await self.git("rev-parse", "--path-format=absolute", "--git-common-dir")
            self._common = Path(found)
        return self._common

    async def object_stores(self) -> tuple[str, ...]:
        """Where its objects are: its own store first, then those it borrows from."""
        first = await self.git("rev-parse", "--path-format=absolute", "--git-path", "objects")
        found: list[str] = []
        waiting = [Path(first)]
        while waiting:
            store = waiting.pop(0)
            if str(store) not in found:
                found.append(str(store))
                waiting += _borrowed(store)
        return tuple(found)


def refused(command: str, done: Done) -> GitError:
    return GitError(f"git {command}: {done.said or f'exit code {done.code}'}")


@cache
def git_version() -> tuple[int, ...]:
    done = subprocess.run(["git", "version"], capture_output=True, text=True, check=False)
    return tuple(map(int, re.findall(r"\d+", done.stdout)[:2]))


def need_merge_tree(version: Sequence[int]) -> None:
    """
    Raises:
        GitError: this git can't merge without a work tree.
    """
    if tuple(version) < OLDEST:
        here, needed = (".".join(map(str, numbers)) for numbers in (version, OLDEST))
        raise GitError(
            f"git {here} can't merge outside a checkout", f"install git {needed} or newer"
        )


def _is_removed(lock: Path) -> bool:
    """A living git holds such a lock for a few milliseconds."""
    try:
        before = lock.stat().st_mtime
        touched = lock.with_name(f"{lock.name}.now")
        touched.touch()
        now = touched.stat().st_mtime  # by the clock of that disk
        touched.unlink()
        if now - before < STALE_S:
            return False
        lock.unlink()
    except OSError:
        return False
    return True


def _about(line: str) -> About | None:
    """None where git says that it is missing, or could be several."""
    name, _, rest = line.partition(" ")
    kind, _, size = rest.partition(" ")
    return About(name, kind, int(size)) if size.isdigit() and is_commit_name(name) else None


def _borrowed(store: Path) -> list[Path]:
    alternates = store / "info" / "alternates"
    if not alternates.is_file():
        return []
    lines = alternates.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    paths = [line for line in lines if line and not line.startswith("#")]
    return [Path(os.path.normpath(store / path)) for path in paths]


def find_root(start: Path) -> Path | None:
    """The top of the work tree that `start` lies in."""
    done = subprocess.run(
        ["git", "rev-parse", "--show-toplevel"],
        cwd=start,
        env=environment(),
        capture_output=True,
        check=False,
    )
    return Path(os.fsdecode(done.stdout.rstrip(b"\n"))) if done.returncode == 0 else None


def checked_out_branch(root: Path) -> str | None:
    """None where HEAD is on no branch."""
    done = subprocess.run(
        ["git", "symbolic-ref", "--quiet", "HEAD"],
        cwd=root,
        env=environment(),
        capture_output=True,
        check=False,
    )
    # the short form would say heads/main where a tag is called main too
    return done.stdout.decode().strip().removeprefix("refs/heads/") or None


def modes_on(root: Path, branch: str, paths: Sequence[str]) -> dict[str, str]:
    """What git says of each of these that the branch has: 100755 is a program, 160000 a submodule."""
    done = subprocess.run(
        ["git", "--literal-pathspecs", "ls-tree", "-z", f"refs/heads/{branch}", "--", *paths],
        cwd=root,
        env=environment(),
        capture_output=True,
        check=False,
    )
    entries = (os.fsdecode(each).partition("\t") for each in done.stdout.split(b"\0") if each)
    return {path: what.partition(" ")[0] for what, _, path in entries}


def commits_since(root: Path, ref: str, branch: str) -> int:
    """How many the branch has beyond it; 0 where there is no such ref."""
    done = subprocess.run(
        ["git", "rev-list", "--count", f"{ref}..refs/heads/{branch}", "--"],
        cwd=root,
        env=environment(),
        capture_output=True,
        check=False,
    )
    return int(done.stdout) if done.returncode == 0 else 0


def has_commit(root: Path, branch: str) -> bool:
    """Whether a branch is there: one of a new repository begins with its first commit."""
    done = subprocess.run(
        ["git", "rev-parse", "--quiet", "--verify", f"refs/heads/{branch}^{{commit}}"],
        cwd=root,
        env=environment(),
        capture_output=True,
        check=False,
    )
    return done.returncode == 0
