"""What is written down of the files that work has changed: the first, and those that steer others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from allstop.adapters.git.repository.change_report import Raw, shown
from allstop.core.text import one_line
from allstop.policy.guarded_files import guard_reason_by_path

MOST_NAMED = 20
NAME_CHARS = 200


def sketched(changed: Sequence[Raw]) -> tuple[str, ...]:
    first = changed[:MOST_NAMED]
    names = named([raw.path for raw in first])
    return tuple(f"{raw.status} {name}" for raw, name in zip(first, names, strict=True))


def named(paths: Sequence[str]) -> tuple[str, ...]:
    """The first of them: an agent may have made any number, of any length."""
    return tuple(one_line(shown(path), NAME_CHARS) for path in paths[:MOST_NAMED])


def guarded_among(changed: Iterable[Raw]) -> dict[str, str]:
    """Each with the reason for which a person would have been asked about it."""
    paths = (shown(raw.path) for raw in changed)
    found = ((path, guard_reason_by_path(tuple(path.split("/")))) for path in paths)
    return dict(islice(((path, why) for path, why in found if why), MOST_NAMED))
