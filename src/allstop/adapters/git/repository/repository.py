"""Git commands in the user's own repository, never in a tree that an agent can write."""

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, NamedTuple

import anyio

from allstop.adapters.git.repository.cached_files import read_small
from allstop.adapters.git.repository.git_command import GitResult, environment, run_git
from allstop.adapters.git.repository.git_processes import (
    OWN_PREFIX,
    UPDATE_REFS,
    ObjectLookup,
    RefWriter,
    ref_of,
)
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
    """Git failed or refused."""

    default_code = "git_failed"


class ObjectInfo(NamedTuple):
    name: str
    kind: str
    size_bytes: int


class Repository:
    """The user's repository. Allstop writes only branches and refs below `refs/allstop`."""

    def __init__(self, root: Path, git_root: Path | None = None) -> None:
        """`root` is the checkout; `git_root` holds the objects and refs, by default the same."""
        self.root = root
        self.git_root = git_root = git_root or root
        self.own = own_refs(git_root)
        self._folders = git_folders(git_root)
        self._common: Path | None = None
        self._object_lookup = ObjectLookup(git_root)
        self._ref_writer = RefWriter(git_root)

    def close(self) -> None:
        """End the long-lived git processes; later calls start them again."""
        self._object_lookup.close()
        self._ref_writer.close()

    async def run(
        self,
        *arguments: str,
        stdin: bytes | IO[bytes] = b"",
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> GitResult:
        """Run git and return its result, whatever the exit code."""
        return await run_git(arguments, stdin=stdin, cwd=cwd or self.git_root, env=env)

    async def output(
        self,
        *arguments: str,
        stdin: bytes | IO[bytes] = b"",
        env: Mapping[str, str] | None = None,
    ) -> bytes:
        """Run git and return its standard output.

        Raises GitError if git failed; the message is its error output.
        """
        done = await self.run(*arguments, stdin=stdin, env=env)
        if done.code != 0:
            raise git_error(arguments[0], done)
        return done.out

    async def git(self, *arguments: str, stdin: bytes = b"") -> str:
        """Run git and return its standard output as stripped text.

        Raises GitError if git failed; the message is its error output.
        """
        return (await self.output(*arguments, stdin=stdin)).decode(errors="replace").strip()

    async def pack(self, into: Path, commit: str, *without: str, alone: bool = False) -> None:
        """Write a pack of a commit's objects, without those that the commits in `without` have.

        With `alone` its history is left out.
        """
        lines = (commit, *(f"^{other}" for other in without))
        if alone:
            lines = (f"--shallow {commit}", *lines)
        wanted, how = "".join(f"{line}\n" for line in lines), "--shallow" if alone else "--thin"
        into.parent.mkdir(parents=True, exist_ok=True)
        with into.open("xb") as file:
            done = await run_git(
                ("pack-objects", "-q", "--revs", how, "--stdout"),
                cwd=self.git_root,
                stdin=wanted.encode(),
                stdout=file,
            )
        if done.code != 0:
            raise git_error("pack-objects", done)

    async def resolve(self, *revisions: str) -> tuple[str | None, ...]:
        """Return the names of the objects behind these revisions; None for missing ones."""
        found = await self.look_up(*revisions)
        return tuple(info.name if info else None for info in found)

    async def look_up(self, *revisions: str) -> tuple[ObjectInfo | None, ...]:
        """Return name, kind and size of the objects behind these revisions.

        Raises GitError if the repository can't be read.
        """
        assert not any("\n" in revision for revision in revisions), "revisions are single lines"
        answers = await self._object_lookup.look_up(revisions)
        if answers is None:
            lines = "".join(f"{revision}\n" for revision in revisions)
            out = await self.output("cat-file", "--batch-check", stdin=os.fsencode(lines))
            answers = out.decode(errors="replace").split("\n")[: len(revisions)]
        return tuple(_parse_info(line) for line in answers)

    async def commit(self, revision: str) -> str | None:
        """Return the commit that a revision names, or None."""
        if "\n" in revision:
            return None
        (found,) = await self.resolve(f"{revision}^{{commit}}")
        return found

    async def branch(self, name: str) -> str | None:
        """Return the tip of a branch; None if it doesn't exist or the name isn't allowed."""
        ref = branch_ref(name)
        return None if ref is None else await self.commit(ref)

    async def is_at(self, ref: str, commit: str) -> bool:
        """Whether one of Allstop's refs points to this commit, which must exist."""
        with suppress(OSError):  # the ref may be packed
            if read_small(f"{self._folders.common}/{ref}") == f"{commit}\n".encode():
                return True
        return await self.commit(ref) == commit

    async def is_ancestor(self, one: str, other: str) -> bool:
        """Raises GitError if one of the commits doesn't exist."""
        done = await self.run("merge-base", "--is-ancestor", one, other)
        if done.code not in (0, 1):
            raise git_error("merge-base", done)
        return done.code == 0

    async def set_refs(self, *lines: str) -> None:
        """Run commands of `git update-ref --stdin` in one transaction.

        Cancellation waits for git: killed, it would leave a lock file that blocks the ref.

        Raises GitError if a ref has another value than expected, or is locked.
        """
        text = "".join(f"{line}\n" for line in lines).encode()
        with anyio.CancelScope(shield=True):
            if await self._ref_writer.write(lines):
                return
            done = await self.run(*UPDATE_REFS, stdin=text)
            if done.code != 0 and await self._unlocked(lines):
                done = await self.run(*UPDATE_REFS, stdin=text)
        if done.code != 0:
            raise git_error("update-ref", done)

    async def _unlocked(self, lines: Sequence[str]) -> bool:
        """Remove stale lock files of Allstop's own refs; True if there were any."""
        common = await self.common_dir()
        own = [ref for ref in map(ref_of, lines) if ref.startswith(OWN_PREFIX)]
        removed = [_remove_if_stale(common / f"{ref}.lock") for ref in own]
        return any(removed)

    async def refs(self, *prefixes: str) -> dict[str, str]:
        """Return all refs below these prefixes with the objects they point to."""
        answers = await self.git("for-each-ref", "--format=%(objectname) %(refname)", *prefixes)
        pairs = (line.split(" ", 1) for line in answers.splitlines())
        return {ref: commit for commit, ref in pairs}

    async def common_dir(self) -> Path:
        """Return the git folder that all checkouts of this repository share."""
        if self._common is None:
            found = await self.git("rev-parse", "--path-format=absolute", "--git-common-dir")
            self._common = Path(found)
        return self._common

    async def object_stores(self) -> tuple[str, ...]:
        """Return the repository's object store, then the stores it borrows from."""
        first = await self.git("rev-parse", "--path-format=absolute", "--git-path", "objects")
        found: list[str] = []
        waiting = [Path(first)]
        while waiting:
            store = waiting.pop(0)
            if str(store) not in found:
                found.append(str(store))
                waiting += _alternates(store)
        return tuple(found)


def git_error(command: str, done: GitResult) -> GitError:
    return GitError(f"git {command}: {done.stderr or f'exit code {done.code}'}")


@cache
def git_version() -> tuple[int, ...]:
    done = subprocess.run(["git", "version"], capture_output=True, text=True, check=False)
    return tuple(map(int, re.findall(r"\d+", done.stdout)[:2]))


def require_merge_tree(version: Sequence[int]) -> None:
    """Raises GitError if this git can't merge without a work tree."""
    if tuple(version) < OLDEST:
        here, needed = (".".join(map(str, numbers)) for numbers in (version, OLDEST))
        raise GitError(
            f"git {here} can't merge without a checkout",
            f"install git {needed} or newer",
            code="git_too_old",
        )


def _remove_if_stale(lock: Path) -> bool:
    """Remove a lock file that is older than `STALE_S`; a live git holds one for milliseconds."""
    try:
        before = lock.stat().st_mtime
        touched = lock.with_name(f"{lock.name}.now")
        touched.touch()
        now = touched.stat().st_mtime  # by the clock of that file system
        touched.unlink()
        if now - before < STALE_S:
            return False
        lock.unlink()
    except OSError:
        return False
    return True


def _parse_info(line: str) -> ObjectInfo | None:
    """Parse a line of `--batch-check`; None if the object is missing or ambiguous."""
    name, _, rest = line.partition(" ")
    kind, _, size = rest.partition(" ")
    return ObjectInfo(name, kind, int(size)) if size.isdigit() and is_commit_name(name) else None


def _alternates(store: Path) -> list[Path]:
    alternates = store / "info" / "alternates"
    if not alternates.is_file():
        return []
    lines = alternates.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    paths = [line for line in lines if line and not line.startswith("#")]
    return [Path(os.path.normpath(store / path)) for path in paths]


def _run_now(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run git without an event loop."""
    argv = ["git", *arguments]
    return subprocess.run(argv, cwd=folder, env=environment(), capture_output=True, check=False)


def find_root(start: Path) -> Path | None:
    """Return the top folder of the work tree that contains `start`."""
    done = _run_now(start, "rev-parse", "--show-toplevel")
    return Path(os.fsdecode(done.stdout.rstrip(b"\n"))) if done.returncode == 0 else None


def checked_out_branch(root: Path) -> str | None:
    """Return the current branch; None if HEAD is detached."""
    done = _run_now(root, "symbolic-ref", "--quiet", "HEAD")
    # the short form prints heads/main if a tag is called main too
    return done.stdout.decode().strip().removeprefix("refs/heads/") or None


def file_modes(root: Path, branch: str, paths: Sequence[str]) -> dict[str, str]:
    """Return git's mode of each path on the branch: 100755 is executable, 160000 a submodule."""
    done = _run_now(
        root, "--literal-pathspecs", "ls-tree", "-z", f"refs/heads/{branch}", "--", *paths
    )
    entries = (os.fsdecode(each).partition("\t") for each in done.stdout.split(b"\0") if each)
    return {path: what.partition(" ")[0] for what, _, path in entries}


def commits_since(root: Path, ref: str, branch: str) -> int:
    """Count the commits of the branch that `ref` doesn't have; 0 if there is no such ref."""
    done = _run_now(root, "rev-list", "--count", f"{ref}..refs/heads/{branch}", "--")
    return int(done.stdout) if done.returncode == 0 else 0


def remote_address(root: Path, name: str, *options: str) -> str:
    """Return where a remote is; "" if there is none of that name."""
    done = _run_now(root, "remote", "get-url", *options, "--", name)
    address = os.fsdecode(done.stdout.partition(b"\n")[0]) if done.returncode == 0 else ""
    beside = root / address
    return str(beside.resolve()) if address and beside.exists() else address


def has_commit(root: Path, branch: str) -> bool:
    """Whether a branch has a commit: a branch of an empty repository has none."""
    done = _run_now(root, "rev-parse", "--quiet", "--verify", f"refs/heads/{branch}^{{commit}}")
    return done.returncode == 0
