"""Reads the allstop.toml of a branch with git."""

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from allstop.core.errors import AllstopError
from allstop.open_files import restore_limit
from allstop.settings.files.settings_file import LARGEST_BYTES
from allstop.settings.loader import FILE_NAME

MAX_EARLIER = 50


class Branches:
    def __init__(
        self, root: Path, variables: Mapping[str, str], checkout: Path | None = None
    ) -> None:
        """`checkout` is the clone whose branch is checked out, if `root` is a mirror without one."""
        self._root = root
        self._variables = variables
        self._checkout = checkout or root

    def checked_out(self) -> str | None:
        """The branch's name, taken from the full ref: git's short name is longer beside a tag."""
        with self._git("symbolic-ref", "--quiet", "HEAD", root=self._checkout) as git:
            name = git.communicate()[0].decode(errors="replace").strip()
        return name.removeprefix("refs/heads/") or None

    def file(self, branch: str) -> bytes | None:
        """The branch's allstop.toml; None if it has none."""
        return self._content(f"refs/heads/{branch}:{FILE_NAME}", branch)

    def blob(self, name: str, branch: str) -> bytes:
        """The content of a blob that was the branch's allstop.toml.

        Raises AllstopError if git can't read it.
        """
        content = self._content(name, branch)
        if content is None:
            message = f"git can't read {FILE_NAME} on {branch}: the object {name} is missing"
            raise AllstopError(message, code="settings_object_missing")
        return content

    def earlier(self) -> Iterator[tuple[str, bytes]]:
        """The versions of allstop.toml in the branch's history with their commits, newest first."""
        branch = self.checked_out() if self._checkout != self._root else None
        tip = f"refs/heads/{branch}" if branch else "HEAD"
        words = ("log", f"--max-count={MAX_EARLIER}", "--format=%H", tip, "--", FILE_NAME)
        with self._git(*words) as git:
            commits = git.communicate()[0].decode(errors="replace").split()
        for commit in commits:
            content = self._content(f"{commit}:{FILE_NAME}", commit)
            if content is not None:
                yield commit, content

    def _content(self, revision: str, branch: str) -> bytes | None:
        """At most one byte more than the settings accept; None if there is no such file.

        Only git's own answer "missing" means that; any other failure is an error.
        """
        with self._git("cat-file", "--batch") as git:
            assert git.stdin
            assert git.stdout
            assert git.stderr
            with suppress(BrokenPipeError):
                git.stdin.write(f"{revision}\n".encode())
                git.stdin.close()
            match git.stdout.readline().split():
                case [_, b"blob", size]:
                    return git.stdout.read(min(int(size), LARGEST_BYTES + 1))
                case []:
                    why = git.stderr.read().decode(errors="replace").strip()
                    message = f"git can't read {FILE_NAME} on {branch}: {why}"
                    raise AllstopError(message, code="git_failed")
                case _:
                    return None

    def _git(self, *arguments: str, root: Path | None = None) -> subprocess.Popen[bytes]:
        host = self._variables.items()
        kept = {name: value for name, value in host if not name.startswith("GIT_")}
        process = subprocess.Popen(
            ["git", *arguments],
            cwd=root or self._root,
            env={**kept, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        restore_limit(process.pid)
        return process
