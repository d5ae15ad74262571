"""The files that a shell would put in place of a pattern such as `src/*.py`."""

import re
from collections.abc import Callable
from pathlib import Path

_MAX_ENTRIES = 5000
_MAX_MATCHES = 100


def file_matches(folder: str) -> Callable[[str], tuple[str, ...] | None]:
    """Return a function that lists the matches of a pattern in a folder of the host.

    It lists at least what any shell would: hidden files, and names in another case, too. Without
    a match it returns the pattern, as shells do. None means that the matches can't be told.
    """

    def matches(pattern: str) -> tuple[str, ...] | None:
        found = ["/" if pattern.startswith("/") else ""]
        for step in pattern.split("/"):
            further = _next_step(folder, found, step) if step else found
            if further is None:
                return None
            found = further
        if pattern.endswith("/"):
            found = [f"{each}/" for each in found if Path(folder, each).is_dir()]
        if any(name.startswith("-") for name in found) and not pattern.startswith("-"):
            return None
        return tuple(sorted(found)) or (pattern,)

    return matches


def _next_step(folder: str, before: list[str], step: str) -> list[str] | None:
    """The paths one step further; None if there are too many."""
    if not re.search(r"[*?]", step):
        return [_joined(each, step) for each in before]
    shape = re.compile(
        "".join({"*": ".*", "?": "."}.get(mark, re.escape(mark)) for mark in step),
        re.IGNORECASE | re.DOTALL,
    )
    found: list[str] = []
    for each in before:
        try:
            names = [entry.name for entry in Path(folder, each).iterdir()]
        except OSError:
            continue
        found += [_joined(each, name) for name in names if shape.fullmatch(name)]
        if len(names) > _MAX_ENTRIES or len(found) > _MAX_MATCHES:
            return None
    return found


def _joined(before: str, step: str) -> str:
    """As a shell writes it: a dot at the start stays."""
    return f"{before.rstrip('/') if before != '/' else ''}/{step}" if before else step
