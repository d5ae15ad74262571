"""What of a repository's file doesn't count until the person has accepted it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct, structs

from allstop.settings.key_path import Document, dotted, put, table_at, value_at
from allstop.settings.model import STANDARD_KEY
from allstop.settings.origins import RepositoryFile, source_of
from allstop.settings.repository_trust.sensitive import SENSITIVE, Claim, occurrences
from allstop.settings.schema import default_at, kind_at, merges
from allstop.settings.sources.layers import Layer, merged, origin_of

HINT = "run `allstop trust` to accept it"


class Untrusted(Struct, frozen=True, kw_only=True):
    """A setting that is asked for and not in force."""

    key: str
    file: str
    line: int
    why: str
    hint: str = HINT

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.key}: {self.why} ({self.hint})"


class Sides(Struct, frozen=True, kw_only=True):
    """A repository's layer among the others, and where things are on this machine."""

    asked: Layer
    weaker: tuple[Layer, ...] = ()
    stronger: tuple[Layer, ...] = ()
    home: Path
    repository: Path


class Kept(Struct, frozen=True, kw_only=True):
    layer: Layer
    untrusted: tuple[Untrusted, ...]


def withhold(sides: Sides) -> Kept:
    """The repository's layer without what needs trust."""
    without = merged(layer.document for layer in (*sides.weaker, *sides.stronger))
    withheld = dict(_withheld(sides, without))
    unkeyed = set(_unkeyed(sides, without)) - withheld.keys()
    untrusted = [_untrusted(sides, path, path, why) for path, why in withheld.items()]
    untrusted += [
        _untrusted(sides, _key_of(path), path, _NO_KEY)
        for path in unkeyed
        if _key_of(path) not in withheld
    ]
    document = _without(sides.asked.document, withheld)
    for path in unkeyed:
        put(document, _key_of(path), "")
    return Kept(
        layer=structs.replace(sides.asked, document=document),
        untrusted=tuple(sorted(untrusted, key=lambda each: (each.line, each.key))),
    )


_NO_KEY = "your key is not sent to an address the repository chose"

_MAKES_IT_YOURS = ("driver", "command", "base_url", "api_key_env", "account", "env", "pass_env")


def _withheld(sides: Sides, without: Document) -> Iterator[tuple[tuple[str, ...], str]]:
    for sensitive in SENSITIVE:
        for path, value in occurrences(sides.asked.document, sensitive.key):
            if _is_overridden(sides, path):
                continue
            if sensitive.needs_trust(_claim(sides, without, path, value)):
                yield path, sensitive.why


def _claim(sides: Sides, without: Document, path: tuple[str, ...], value: object) -> Claim:
    agent = path[:2] if path[0] == "agents" else ()
    yours = table_at(without, agent) if agent else {}
    driver = yours.get("driver") or value_at(sides.asked.document, (*agent, "driver"))
    return Claim(
        value=value,
        without=value_at(without, path, default_at(path)),
        driver=driver if isinstance(driver, str) else None,
        is_yours=any(key in yours for key in _MAKES_IT_YOURS),
        home=sides.home,
        repository=sides.repository,
    )


def _unkeyed(sides: Sides, without: Document) -> Iterator[tuple[str, ...]]:
    """Local addresses, which are harmless but for the key that would be sent to them.

    A process in the sandbox can listen on one as long as it shares the network.
    """
    for path, value in occurrences(sides.asked.document, ("agents", "*", "base_url")):
        driver = value_at(sides.asked.document, (*path[:2], "driver"))
        differs = value != value_at(without, path)
        if driver in STANDARD_KEY and differs and not _is_overridden(sides, path):
            yield path


def _key_of(path: tuple[str, ...]) -> tuple[str, ...]:
    return (*path[:2], "api_key_env")


_ABSENT = object()


def _is_overridden(sides: Sides, path: tuple[str, ...]) -> bool:
    kind = kind_at(path)
    if kind is None or merges(kind):
        return False
    return any(value_at(each.document, path, _ABSENT) is not _ABSENT for each in sides.stronger)


def _untrusted(sides: Sides, key: tuple[str, ...], written: tuple[str, ...], why: str) -> Untrusted:
    origin = origin_of((sides.asked,), written)
    line = origin.line if isinstance(origin, RepositoryFile) else 1
    return Untrusted(key=dotted(key), file=source_of(origin), line=line, why=why)


def _without(document: Document, paths: Iterable[tuple[str, ...]]) -> Document:
    """A copy; what it shares with the original is never changed."""
    gone = set(paths)

    def copy(table: Document, path: tuple[str, ...]) -> Document:
        return {
            name: copy(value, (*path, name)) if isinstance(value, dict) else value
            for name, value in table.items()
            if (*path, name) not in gone
        }

    return copy(document, ())
