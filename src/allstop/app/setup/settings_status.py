"""Status of the settings in the checkout's allstop.toml: which are set there, and in force."""

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


class SettingStatus(Struct, frozen=True, kw_only=True):
    """One setting."""

    value: object = UNSET
    """The value in the checkout's file, or UNSET."""
    waits_for: str = ""
    """What must happen before that value is in force; "" if it is."""


class _Sources(NamedTuple):
    document: Document
    in_force: Loaded
    checkout: Loaded
    values_in_force: object
    checkout_values: object


def setting_statuses(
    content: bytes, in_force: Loaded, checkout: Loaded
) -> dict[str, SettingStatus]:
    """By key. `checkout` are the settings that a commit of the file would put in force."""
    found = parse(content)
    sources = _Sources(
        document=rename(found.document).document if isinstance(found, Text) else {},
        in_force=in_force,
        checkout=checkout,
        values_in_force=to_builtins(in_force.settings),
        checkout_values=to_builtins(checkout.settings),
    )
    return {key: _status(key, sources) for key in {**in_force.origins, **checkout.origins}}


def _status(key: str, sources: _Sources) -> SettingStatus:
    path = split_dotted(key) or ()
    written = value_at(sources.document, path, UNSET)
    obstacles = [] if written is UNSET else list(_obstacles(key, sources))
    waits_for = next(iter([*obstacles, *_commit(path, sources)]), "")
    return SettingStatus(value=written, waits_for=waits_for)


def _obstacles(key: str, sources: _Sources) -> Iterator[str]:
    for each in (*sources.checkout.untrusted, *sources.in_force.untrusted):
        if each.key == key:
            yield f"`allstop trust`, since it {each.why}"
    match sources.checkout.origins.get(key):
        case Variable(name=name):
            yield f"{name} to be removed from the environment"
        case Flag():
            yield "a start without this option on the command line"
        case _:
            pass


def _commit(path: tuple[str, ...], sources: _Sources) -> Iterator[str]:
    in_force = value_at(sources.values_in_force, path, UNSET)
    if in_force != value_at(sources.checkout_values, path, UNSET):
        yield "a commit: the target branch has its own allstop.toml"
