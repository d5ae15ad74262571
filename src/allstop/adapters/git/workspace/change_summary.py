"""A short summary of changed files for the journal: the first ones, and guarded ones."""

from collections.abc import Iterable, Sequence
from itertools import islice

from allstop.adapters.git.repository.change_report import RawChange, printable
from allstop.core.text import one_line
from allstop.policy.guarded_files import guard_reason_by_path

MAX_NAMED = 20
NAME_CHARS = 200


def summarize(changed: Sequence[RawChange]) -> tuple[str, ...]:
    first = changed[:MAX_NAMED]
    names = shorten_names([raw.path for raw in first])
    return tuple(f"{raw.status} {name}" for raw, name in zip(first, names, strict=True))


def shorten_names(paths: Sequence[str]) -> tuple[str, ...]:
    """Return the first names, shortened: an agent may create any number, of any length."""
    return tuple(one_line(printable(path), NAME_CHARS) for path in paths[:MAX_NAMED])


def guarded_files(changed: Iterable[RawChange]) -> dict[str, str]:
    """Return guarded files, each with the reason why a person would have been asked about it."""
    paths = (printable(raw.path) for raw in changed)
    found = ((path, guard_reason_by_path(tuple(path.split("/")))) for path in paths)
    return dict(islice(((path, why) for path, why in found if why), MAX_NAMED))
