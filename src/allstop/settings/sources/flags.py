"""The layer of flags: settings given by the caller as dotted keys and values."""

from collections.abc import Mapping

from msgspec import to_builtins

from allstop.settings.aliases import ALIASES
from allstop.settings.key_path import dotted, split_dotted
from allstop.settings.origins import Flag, source_of
from allstop.settings.problems import Problem, did_you_mean
from allstop.settings.schema import fixed_keys, kind_at
from allstop.settings.sources.layers import Layer
from allstop.settings.sources.single_values import GivenValue, values_layer
from allstop.settings.sources.text_values import read_text


def flags_layer(flags: Mapping[str, object]) -> Layer:
    """None means that the flag wasn't given. Strings are parsed by the type of their key."""
    given: list[GivenValue] = []
    problems: list[Problem] = []
    for flag, value in flags.items():
        if value is None:
            continue
        names = split_dotted(flag) or ()
        key = ALIASES.get(names, names)
        kind = kind_at(key) if key else None
        if kind is None:
            problems.append(_unknown(flag))
            continue
        plain = read_text(value, kind) if isinstance(value, str) else _plain(value)
        given.append(GivenValue(origin=Flag(), key=key, value=plain))
    return values_layer(given, problems)


def _plain(value: object) -> object:
    """The value as TOML types: lists for tuples, strings for enums and paths."""
    return _lists(to_builtins(value, enc_hook=str, builtin_types=()))


def _lists(value: object) -> object:
    if isinstance(value, list | tuple):
        return [_lists(each) for each in value]
    if isinstance(value, dict):
        return {name: _lists(each) for name, each in value.items()}
    return value


def _unknown(flag: str) -> Problem:
    hint = did_you_mean(flag, map(dotted, fixed_keys()))
    return Problem(file=source_of(Flag()), key=flag, message="unknown key", hint=hint)
