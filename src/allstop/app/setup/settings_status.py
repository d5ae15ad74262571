"""How the settings of the checkout's allstop.toml stand: which are written there, which count."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from msgspec import UNSET, Struct, to_builtins

from allstop.settings.aliases import rename
from allstop.settings.files.settings_file import Text, parse
from allstop.settings.key_path import split_dotted, value_at
from allstop.settings.loader import Loaded
from allstop.settings.origins import Flag, Variable

if TYPE_CHECKING:
    from allstop.settings.key_path import Document


class Standing(Struct, frozen=True, kw_only=True):
    """One setting."""

    value: object = UNSET
    """As the checkout's file has it; UNSET where it doesn't."""
    waits_for: str = ""
    """What must happen before that counts; "" where it does."""


class _Sides(NamedTuple):
    document: Document
    counts: Loaded
    checkout: Loaded
    counting: object
    coming: object


def standings(content: bytes, counts: Loaded, checkout: Loaded) -> dict[str, Standing]:
    """By key. `counts` is what work stands on, `checkout` what would count after a commit."""
    found = parse(content)
    sides = _Sides(
        document=rename(found.document).document if isinstance(found, Text) else {},
        counts=counts,
        checkout=checkout,
        counting=to_builtins(counts.settings),
        coming=to_builtins(checkout.settings),
    )
    return {key: _standing(key, sides) for key in {**counts.origins, **checkout.origins}}


def _standing(key: str, sides: _Sides) -> Standing:
    path = split_dotted(key) or ()
    written = value_at(sides.document, path, UNSET)
    obstacles = [] if written is UNSET else list(_obstacles(key, sides))
    return Standing(value=written, waits_for=next(iter([*obstacles, *_commit(path, sides)]), ""))


def _obstacles(key: str, sides: _Sides) -> Iterator[str]:
    for each in (*sides.checkout.untrusted, *sides.counts.untrusted):
        if each.key == key:
            yield f"`allstop trust`, since it {each.why}"
    match sides.checkout.origins.get(key):
        case Variable(name=name):
            yield f"{name} in the environment to be gone"
        case Flag():
            yield "a start without this option on the command line"
        case _:
            pass


def _commit(path: tuple[str, ...], sides: _Sides) -> Iterator[str]:
    if value_at(sides.counting, path, UNSET) != value_at(sides.coming, path, UNSET):
        yield "a commit: the target branch has an allstop.toml of its own"
