"""Aliases: alternative names of settings."""

from collections.abc import Iterator

from msgspec import Struct

from allstop.settings.key_path import Document, dotted, is_set, put, table_at
from allstop.settings.problems import Fault

_AUTOPILOT = {
    "primaryAgent": ("loop", "agent"),
    "fallbackAgent": ("loop", "fallback"),
    "errorStrategy": ("retry", "error_strategy"),
    "maxRetries": ("retry", "max_retries"),
    "retryBaseMs": ("retry", "base_ms"),
    "maxRateLimitRetries": ("retry", "max_rate_limit_retries"),
    "stepDelay": ("retry", "step_delay_ms"),
    "recoverPrimary": ("retry", "recover_primary"),
    "autoCommit": ("retry", "auto_commit"),
}

ALIASES: dict[tuple[str, ...], tuple[str, ...]] = {
    ("room", "max_turns_emergency"): ("room", "max_turns"),
    ("room", "max_tokens_emergency"): ("room", "max_tokens"),
    ("room", "max_elapsed_minutes"): ("room", "max_minutes"),
    ("retry", "step_delay"): ("retry", "step_delay_ms"),
    **{(section, name): key for section in ("loop", "retry") for name, key in _AUTOPILOT.items()},
    **{
        ("budget", "run", name): ("budget", name)
        for name in ("turns", "tokens", "cost_usd", "minutes")
    },
}

ALIAS_TABLES: dict[tuple[str, ...], tuple[str, ...]] = {("budget", "run"): ("budget", "task")}
"""Tables that contain only aliases, each with a real table of the same type."""


class Renamed(Struct, frozen=True, kw_only=True):
    document: Document
    written: dict[tuple[str, ...], tuple[str, ...]]
    """The alias used in the source, by the setting's own key."""


def duplicates(document: Document) -> Iterator[Fault]:
    """Faults for settings given by two of their names."""
    seen: dict[tuple[str, ...], tuple[str, ...]] = {}
    for written, key in _names():
        if not is_set(document, written):
            continue
        if key in seen:
            message = f"duplicates {dotted(seen[key])}; remove one of them"
            yield Fault(written, message)
        seen.setdefault(key, written)


def rename(document: Document) -> Renamed:
    """Replace aliases by the settings' own names."""
    document = _copy(document)
    written: dict[tuple[str, ...], tuple[str, ...]] = {}
    for alias, key in ALIASES.items():
        table = table_at(document, alias[:-1])
        if alias[-1] in table:
            put(document, key, table.pop(alias[-1]))
            written[key] = alias
    for path in ALIAS_TABLES:
        table_at(document, path[:-1]).pop(path[-1], None)
    return Renamed(document=document, written=written)


def _names() -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Pairs of (name, key); each setting's own name comes before its aliases."""
    for key in dict.fromkeys(ALIASES.values()):
        yield key, key
    yield from ALIASES.items()


def _copy(document: Document) -> Document:
    """Copy the tables; values are shared."""
    return {
        name: _copy(value) if isinstance(value, dict) else value for name, value in document.items()
    }
