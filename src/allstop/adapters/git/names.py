"""Names that git and the file system take without harm, whatever a task or a branch is called."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

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


def base_ref(workspace: str) -> str:
    """Keeps the commit a workspace started from, whatever the user's own tidying does."""
    return f"refs/allstop/base/{folder_name(workspace)}"


def tip_ref(workspace: str) -> str:
    """The work as it was last brought home."""
    return f"refs/allstop/tip/{folder_name(workspace)}"


def merge_ref(workspace: str) -> str:
    """A merge that was made and may not have landed yet."""
    return f"refs/allstop/merge/{folder_name(workspace)}"


def given_ref(workspace: str) -> str:
    """What a person has made of the work by hand."""
    return f"refs/allstop/given/{folder_name(workspace)}"


def revert_ref(commit: str) -> str:
    return f"refs/allstop/revert/{commit}"


def backup_ref(workspace: str, number: int) -> str:
    return f"refs/allstop/backup/{folder_name(workspace)}/{number}"


def branch_ref(branch: str) -> str | None:
    """None where no branch can be called that."""
    return None if not branch or _ODD.search(branch) else f"refs/heads/{branch}"


def is_commit_name(text: str) -> bool:
    return _COMMIT.fullmatch(text) is not None
