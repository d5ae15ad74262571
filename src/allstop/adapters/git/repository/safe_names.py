"""Folder and ref names that are safe for git and the file system, whatever a task is called."""

import hashlib
import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

_SAFE_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
_MAX_LENGTH = 150
_INVALID_BRANCH = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|\.lock(/|$)|(^|/)\.|\.$|^/|/$")
_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


@lru_cache(maxsize=1024)
def folder_name(workspace: str) -> str:
    """Return a name for a path and a ref, unique per workspace; plain names stay unchanged."""
    name = "".join(c if c in _SAFE_CHARACTERS else _percent_encoded(c) for c in workspace)
    name = re.sub(r"^[.-]|\.\.+|\.lock$|\.$", lambda found: _percent_encoded(found.group()), name)
    if len(name) > _MAX_LENGTH or not name:
        digest = hashlib.blake2b(workspace.encode(errors="surrogatepass"), digest_size=8)
        name = f"{name[: _MAX_LENGTH - 17].rstrip('%')}%{digest.hexdigest()}"
    return name


def _percent_encoded(odd: str) -> str:
    git_argv = (f"%{byte:02X}" for byte in odd.encode(errors="surrogatepass"))
    return "".join(git_argv)


def workspace_name(folder: str) -> str:
    """Return the name of the workspace in this folder; the folder's name if it can't be decoded."""
    name = unquote(folder, errors="surrogatepass")
    return name if folder_name(name) == folder else folder


class OwnRefs(NamedTuple):
    """The refs that keep the commits of workspaces.

    Linked checkouts of a repository share its refs, and each has its own board. So the refs of each
    linked checkout end in a mark.
    """

    mark: str = ""

    def base(self, workspace: str) -> str:
        """The commit that a workspace started from; the ref protects it from `git gc`."""
        return self._ref("base", workspace)

    def tip(self, workspace: str) -> str:
        """The last fetched commit of the work."""
        return self._ref("tip", workspace)

    def merge(self, workspace: str) -> str:
        """A merge commit that may not have landed yet."""
        return self._ref("merge", workspace)

    def given(self, workspace: str) -> str:
        """The commit that a person made from the work by hand."""
        return self._ref("given", workspace)

    def checkpoint(self, name: str) -> str:
        """The tip of the target when a checkpoint was made."""
        return self._ref("checkpoints", name)

    def backups(self, workspace: str) -> str:
        """The prefix of the backup refs; a number follows."""
        return f"{self._ref('backup', workspace)}/"

    def folder_of(self, ref: str) -> str | None:
        """Return the workspace's folder; None if the ref belongs to another checkout."""
        folder, mark = split_ref(ref)
        return folder if mark == self.mark.removeprefix("@") else None

    def _ref(self, kind: str, workspace: str) -> str:
        return f"refs/allstop/{kind}/{folder_name(workspace)}{self.mark}"


KEPT_REFS = tuple(f"refs/allstop/{kind}/" for kind in ("base", "tip", "merge", "given"))
"""Prefixes of the refs that keep commits of workspaces, in every checkout."""


def split_ref(ref: str) -> tuple[str, str]:
    """Split a ref into the workspace's folder and the mark of its checkout."""
    folder, _, mark = ref.split("/")[3].partition("@")
    return folder, mark


class GitFolders(NamedTuple):
    """The git folders of a checkout; a linked checkout has two."""

    own: Path  # HEAD and the index of this checkout
    common: Path  # branches, refs and objects

    @property
    def are_linked(self) -> bool:
        return self.own != self.common


def git_folders(root: Path) -> GitFolders:
    own = root / ".git"
    if own.is_file():
        own = root / _read_text(own).removeprefix("gitdir:").strip()
    link = own / "commondir"
    return GitFolders(own, own / _read_text(link).strip() if link.is_file() else own)


def _read_text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="surrogateescape")


def own_refs(root: Path) -> OwnRefs:
    folders = git_folders(root)
    return OwnRefs(f"@{folder_name(folders.own.name)}" if folders.are_linked else "")


def revert_ref(commit: str) -> str:
    return f"refs/allstop/revert/{commit}"


def branch_ref(branch: str) -> str | None:
    """Return the full ref of a branch; None if git doesn't allow that branch name."""
    return None if not branch or _INVALID_BRANCH.search(branch) else f"refs/heads/{branch}"


def is_commit_name(text: str) -> bool:
    return _COMMIT.fullmatch(text) is not None
