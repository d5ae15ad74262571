"""Problems of the settings, with file, line, key and hint."""

from collections.abc import Iterable

from msgspec import Struct

from allstop.settings.key_path import KeyPath, dotted
from allstop.settings.origins import Origin, RepositoryFile, UserFile, Variable, source_of


class Problem(Struct, frozen=True, kw_only=True):
    file: str
    message: str
    line: int | None = None
    key: str | None = None
    hint: str | None = None

    def __str__(self) -> str:
        """allstop.toml:12: loop.max_paralel: unknown key (did you mean max_parallel?)"""
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        key = "" if self.key is None else f"{self.key}: "
        hint = "" if self.hint is None else f" ({self.hint})"
        return f"{place}: {key}{self.message}{hint}"


class SettingsError(Exception):
    """The settings can't be used; `problems` lists all reasons."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class Fault(Struct, frozen=True):
    """A problem by key path, without file and line."""

    path: KeyPath
    message: str
    hint: str | None = None


def locate(fault: Fault, origin: Origin) -> Problem:
    line = origin.line if isinstance(origin, UserFile | RepositoryFile) else None
    key = origin.name if isinstance(origin, Variable) else dotted(fault.path)
    return Problem(
        file=source_of(origin), line=line, key=key, message=fault.message, hint=fault.hint
    )


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word most similar to this one; None if none is close."""
    import difflib

    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return close[0] if close else None


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    close = nearest(word, known)
    return None if close is None else f"did you mean {close}?"
