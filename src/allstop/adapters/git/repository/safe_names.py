"""Names that git and the file system take without harm, whatever a task or a branch is called."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

_PLAIN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
_LONGEST = 150
_ODD = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|\.lock(/|$)|(^|/)\.|\.$|^/|/$")
_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


@lru_cache(maxsize=1024)
def folder_name(workspace: str) -> str:
    """One part of a path and of a ref, another for every workspace; plain names stay as they are."""
    name = "".join(c if c in _PLAIN else _spelled(c) for c in workspace)
    name = re.sub(r"^[.-]|\.\.+|\.lock$|\.$", lambda found: _spelled(found.group()), name)
    if len(name) > _LONGEST or not name:
        digest = hashlib.blake2b(workspace.encode(errors="surrogatepass"), digest_size=8)
        name = f"{name[: _LONGEST - 17].rstrip('%')}%{digest.hexdigest()}"
    return name


def _spelled(odd: str) -> str:
    spelled = (f"%{byte:02X}" for byte in odd.encode(errors="surrogatepass"))
    return "".join(spelled)


def name_of(folder: str) -> str:
    """Of the workspace that lies there; the folder's own where that can't be told."""
    name = unquote(folder, errors="surrogatepass")
    return name if folder_name(name) == folder else folder


class OwnRefs(NamedTuple):
    """Where commits of workspaces are kept. Linked checkouts of a repository share its refs, and
    each has a board of its own: so each but the main one has a mark.
    """

    mark: str = ""

    def base(self, workspace: str) -> str:
        """Keeps the commit a workspace started from, whatever the user's own tidying does."""
        return self._ref("base", workspace)

    def tip(self, workspace: str) -> str:
        """The work as it was last brought home."""
        return self._ref("tip", workspace)

    def merge(self, workspace: str) -> str:
        """A merge that was made and may not have landed yet."""
        return self._ref("merge", workspace)

    def given(self, workspace: str) -> str:
        """What a person has made of the work by hand."""
        return self._ref("given", workspace)

    def backups(self, workspace: str) -> str:
        """Below this, a number is a ref."""
        return f"{self._ref('backup', workspace)}/"

    def folder_of(self, ref: str) -> str | None:
        """The workspace's folder; None where it is of another checkout."""
        folder, mark = parts_of(ref)
        return folder if mark == self.mark.removeprefix("@") else None

    def _ref(self, kind: str, workspace: str) -> str:
        return f"refs/allstop/{kind}/{folder_name(workspace)}{self.mark}"


KEPT_REFS = tuple(f"refs/allstop/{kind}/" for kind in ("base", "tip", "merge", "given"))
"""What there is for a workspace, in every checkout."""


def parts_of(ref: str) -> tuple[str, str]:
    """The workspace's folder and the mark of its checkout, of a ref that keeps its commits."""
    folder, _, mark = ref.split("/")[3].partition("@")
    return folder, mark


class GitFolders(NamedTuple):
    """Where git keeps what it knows of a checkout: in a linked one, these are two."""

    own: Path  # what is checked out
    common: Path  # branches, refs and objects

    @property
    def are_linked(self) -> bool:
        return self.own != self.common


def git_folders(root: Path) -> GitFolders:
    """Of the checkout at `root`."""
    own = root / ".git"
    if own.is_file():
        own = root / _told_by(own).removeprefix("gitdir:").strip()
    link = own / "commondir"
    return GitFolders(own, own / _told_by(link).strip() if link.is_file() else own)


def _told_by(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="surrogateescape")


def own_refs(root: Path) -> OwnRefs:
    """Those of the checkout at `root`."""
    folders = git_folders(root)
    return OwnRefs(f"@{folder_name(folders.own.name)}" if folders.are_linked else "")


def revert_ref(commit: str) -> str:
    return f"refs/allstop/revert/{commit}"


def branch_ref(branch: str) -> str | None:
    """None where no branch can be called that."""
    return None if not branch or _ODD.search(branch) else f"refs/heads/{branch}"


def is_commit_name(text: str) -> bool:
    return _COMMIT.fullmatch(text) is not None
