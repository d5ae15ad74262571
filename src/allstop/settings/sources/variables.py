"""The layer of environment variables, for example ALLSTOP_LOOP_MAX_PARALLEL=4."""

import re
from collections.abc import Iterable, Mapping
from functools import cache

from allstop.settings.aliases import ALIASES
from allstop.settings.model import Agent
from allstop.settings.origins import Variable
from allstop.settings.problems import Problem, nearest
from allstop.settings.schema import fixed_keys, kind_at
from allstop.settings.sources.layers import Layer
from allstop.settings.sources.single_values import GivenValue, values_layer
from allstop.settings.sources.text_values import read_text

PREFIX = "ALLSTOP_"

NOT_SETTINGS = frozenset(
    PREFIX + name for name in ("BENCH", "CHROMIUM", "HOME", "KILLS", "PORT", "SEEDS", "WEB")
)
"""Variables of Allstop that aren't settings."""

_FACTS = (
    "HOOK", "TASK", "TITLE", "STATUS", "TARGET", "BRANCH", "RUN", "ATTEMPT", "OUTCOME", "NOTE",
    "COMMIT", "WORKSPACE", "COST_USD", "TOKENS", "ITERATIONS",
)  # fmt: skip
HOOK_VARIABLES = frozenset(PREFIX + fact for fact in _FACTS)
"""Variables set for hooks; a hook may call Allstop itself."""

_NOT_READ = NOT_SETTINGS | HOOK_VARIABLES

_OTHER_NAMES = {
    "ALLSTOP_GUIDANCE_MODE": ("auto", "guidance"),
    "ALLSTOP_GUIDANCE_MODEL": ("auto", "guidance_model"),
}

_AGENT_KEYS = sorted(Agent.__struct_fields__, key=len, reverse=True)
"""Longest first, because API_KEY_ENV also ends in ENV."""


def variables_layer(variables: Mapping[str, str], agents: Iterable[str]) -> Layer:
    """An empty variable counts as unset. `agents` are the names in the files."""
    known = _known_names()
    by_name = {_as_variable(name): name for name in agents}
    given: list[GivenValue] = []
    problems: list[Problem] = []
    for variable in sorted(variables):
        text = variables[variable]
        if not variable.startswith(PREFIX) or variable in _NOT_READ or not text.strip():
            continue
        if not _is_unicode(variable + text):
            problems.append(_not_unicode(variable))
            continue
        key = known.get(variable) or _agent_key(variable, by_name)
        kind = None if key is None else kind_at(key)
        if key is None or kind is None:
            problems.append(_unknown(variable, known, by_name))
            continue
        given.append(
            GivenValue(origin=Variable(name=variable), key=key, value=read_text(text, kind))
        )
    return values_layer(given, problems)


@cache
def _known_names() -> dict[str, tuple[str, ...]]:
    own = {_variable_of(key): key for key in fixed_keys()}
    return {**{_variable_of(alias): key for alias, key in ALIASES.items()}, **own, **_OTHER_NAMES}


def _agent_key(variable: str, by_name: Mapping[str, str]) -> tuple[str, ...] | None:
    """ALLSTOP_AGENTS_CLAUDE_MODEL"""
    rest = variable.removeprefix(f"{PREFIX}AGENTS_")
    if rest == variable:
        return None
    for key in _AGENT_KEYS:
        name = rest.removesuffix("_" + key.upper())
        if name not in (rest, ""):
            return "agents", by_name.get(name, name.lower()), key
    return None


def _unknown(variable: str, known: Iterable[str], agents: Iterable[str]) -> Problem:
    """Compare names without the common prefix, which would make all of them similar."""
    of_agents = (f"AGENTS_{name}_{key.upper()}" for name in agents for key in _AGENT_KEYS)
    candidates = (*(name.removeprefix(PREFIX) for name in known), *of_agents)
    close = nearest(variable.removeprefix(PREFIX), candidates)
    hint = None if close is None else f"did you mean {PREFIX}{close}?"
    return Problem(file="environment", key=variable, message="unknown setting", hint=hint)


def _is_unicode(text: str) -> bool:
    """Python maps invalid bytes to lone surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _not_unicode(variable: str) -> Problem:
    name = variable.encode("ascii", "backslashreplace").decode()
    return Problem(file="environment", key=name, message="not UTF-8 text")


def _variable_of(key: tuple[str, ...]) -> str:
    return PREFIX + "_".join(map(_as_variable, key))


def _as_variable(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "_", name).upper()
