"""The user's own repository, as far as the settings look into it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from allstop.core.errors import AllstopError
from allstop.open_files import restore_limit
from allstop.settings.files.settings_file import LARGEST_BYTES
from allstop.settings.loader import FILE_NAME


class Branches:
    def __init__(self, root: Path, variables: Mapping[str, str]) -> None:
        self._root = root
        self._variables = variables

    def checked_out(self) -> str | None:
        """By its whole name: git's short one is another where a tag is called the same."""
        with self._git("symbolic-ref", "--quiet", "HEAD") as git:
            name = git.communicate()[0].decode(errors="replace").strip()
        return name.removeprefix("refs/heads/") or None

    def file(self, branch: str) -> bytes | None:
        """None where the branch has none."""
        return self._content(f"refs/heads/{branch}:{FILE_NAME}", branch)

    def blob(self, name: str, branch: str) -> bytes:
        """What the file was when git named it, wherever the branch is by now.

        Raises:
            AllstopError: it can't be read.
        """
        content = self._content(name, branch)
        if content is None:
            raise AllstopError(f"git can't read {FILE_NAME} on {branch}: it has lost {name}")
        return content

    def _content(self, revision: str, branch: str) -> bytes | None:
        """No more of it than the settings read. Git says by word whether there is such a file:
        any other failure must not pass for a branch without one.
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
                    said = git.stderr.read().decode(errors="replace").strip()
                    raise AllstopError(f"git can't read {FILE_NAME} on {branch}: {said}")
                case _:
                    return None

    def _git(self, *arguments: str) -> subprocess.Popen[bytes]:
        host = self._variables.items()
        kept = {name: value for name, value in host if not name.startswith("GIT_")}
        process = subprocess.Popen(
            ["git", *arguments],
            cwd=self._root,
            env={**kept, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        restore_limit(process.pid)
        return process
