"""Consistency checks across settings, run after all sources are merged."""

import re
import warnings
from collections.abc import Callable, Iterable, Iterator

from allstop.settings.key_path import Document, KeyPath, table_at, value_at
from allstop.settings.model import Driver, Room, TargetKind
from allstop.settings.problems import Fault, did_you_mean
from allstop.settings.value_types import choices, shown

RESERVED_NAMES = frozenset({"router", "you", "all", "system"})
"""Speakers in a room that aren't agents."""


def inconsistencies(document: Document) -> Iterator[Fault]:
    """Faults of a merged document whose single values are valid."""
    for rule in _RULES:
        yield from rule(document)


_WITHOUT_ACCOUNTS = (Driver.COMMAND, Driver.SCRIPTED, Driver.OLLAMA)
"""Drivers that use neither a login nor a key of the provider."""


def _integrity(document: Document) -> Iterator[Fault]:
    table = table_at(document, ("verification",))
    if "integrity" in table and "protection" in table:
        message = "integrity and protection are both set"
        yield Fault(("verification", "protection"), message, "keep integrity")


def _variables_of_checks(document: Document) -> Iterator[Fault]:
    """What only checks may have goes to no agent."""
    only = value_at(document, ("verification", "env"))
    names = set(only) if isinstance(only, list | tuple) else set()
    for name, agent in table_at(document, ("agents",)).items():
        given = agent if isinstance(agent, dict) else {}
        passed = given.get("pass_env")
        its_own = [*passed] if isinstance(passed, list | tuple) else []
        for variable in sorted(names & {*its_own, given.get("api_key_env")}, key=str):
            message = f"{variable} is for checks only, and the agent {name} gets it"
            yield Fault(("verification", "env"), message, "remove it from one of them")


def _agents(document: Document) -> Iterator[Fault]:
    for name, agent in table_at(document, ("agents",)).items():
        path: KeyPath = ("agents", name)
        if name.lower() in RESERVED_NAMES:
            yield Fault(path, "the name is reserved", "choose another name")
        if isinstance(agent, dict):
            yield from _agent(agent, path)
            yield from _accounts(agent, path)


def _agent(agent: Document, path: KeyPath) -> Iterator[Fault]:
    match agent.get("driver"):
        case None:
            one_of = ", ".join(choices(Driver))
            yield Fault(path, "has no driver", f"set one of {one_of}")
        case Driver.COMMAND | Driver.ACP as driver if not agent.get("command"):
            yield Fault(
                path,
                f"the {driver} driver needs a command",
                'for example command = ["my-agent", "--flag"]',
            )
        case Driver.SCRIPTED if not agent.get("script"):
            yield Fault(
                path, "the scripted driver needs a script", 'for example script = "demo.toml"'
            )
        case driver if agent.get("mode") and driver != Driver.ACP:
            yield Fault(
                (*path, "mode"),
                f"the {driver} driver has no modes",
                "remove it, or use the driver acp",
            )
        case _:
            pass


def _accounts(agent: Document, path: KeyPath) -> Iterator[Fault]:
    named = agent.get("accounts")
    if not isinstance(named, list | tuple) or not named:
        return
    if agent.get("account"):
        yield Fault((*path, "account"), "account and accounts are both set", "keep accounts")
    if len(set(map(str, named))) < len(named):
        yield Fault((*path, "accounts"), "an account is named twice")
    if (driver := agent.get("driver")) in _WITHOUT_ACCOUNTS:
        hint = "remove it, or name another agent as the fallback"
        yield Fault((*path, "accounts"), f"the {driver} driver has no accounts", hint)


_AGENTS = (
    ("loop", "agent"),
    ("loop", "fallback"),
    ("auto", "decision_agent"),
    ("review", "second"),
)
"""Settings that name an agent."""


def _names_of_agents(document: Document) -> Iterator[Fault]:
    agents = table_at(document, ("agents",))
    for path in _AGENTS:
        yield from _no_such_agent(value_at(document, path), path, agents)
    order = value_at(document, ("loop", "order"))
    for place, name in enumerate(order if isinstance(order, list) else []):
        yield from _no_such_agent(name, ("loop", "order", place), agents)


def _no_such_agent(name: object, path: KeyPath, agents: Iterable[str]) -> Iterator[Fault]:
    if isinstance(name, str) and name not in agents:
        hint = did_you_mean(name, agents) or f"add [agents.{name}]"
        yield Fault(path, f"there is no agent {shown(name)}", hint)


def _windows(document: Document) -> Iterator[Fault]:
    room = table_at(document, ("room",))
    for least, most in (
        ("window_items", "window_items_max"),
        ("window_tokens", "window_tokens_max"),
    ):
        low, high = room.get(least, getattr(Room(), least)), room.get(most, getattr(Room(), most))
        assert isinstance(low, int)
        assert isinstance(high, int)
        if high < low:
            key = most if most in room else least
            yield Fault(("room", key), f"{most} ({high}) is below {least} ({low})")


def _sprint_target(document: Document) -> Iterator[Fault]:
    target = table_at(document, ("sprint", "target"))
    path: KeyPath = ("sprint", "target")
    value = target.get("value")
    match target.get("type"):
        case TargetKind.COUNT if not _is_count(value):
            yield Fault(path, "count needs a number of tasks", "for example value = 10")
        case TargetKind.DURATION if not _is_hours(value):
            yield Fault(path, "duration needs a number of hours", "for example value = 2.5")
        case TargetKind.UNTIL_TIME if not _is_time(value):
            yield Fault(path, "until_time needs a time", 'for example value = "07:00"')
        case TargetKind.NO_READY if value is not None:
            yield Fault(path, "no_ready takes no value")
        case _:
            pass


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 10**9


def _is_hours(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 8760


def _is_time(value: object) -> bool:
    return isinstance(value, str) and bool(re.fullmatch(r"([01]?\d|2[0-3]):[0-5]\d", value))


def _zone(document: Document) -> Iterator[Fault]:
    zone = value_at(document, ("notify", "zone"))
    if not isinstance(zone, str):
        return
    from zoneinfo import ZoneInfo  # slow to import, rarely needed

    try:
        ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        hint = "for example Europe/Berlin; remove it to use this machine's time zone"
        message = f"there is no time zone {shown(zone)}"
        yield Fault(("notify", "zone"), message, hint)


def _approval_rules(document: Document) -> Iterator[Fault]:
    if value_at(document, ("approvals", "rules")):
        from allstop.settings.approval_rules import rule_faults

        yield from rule_faults(document)


_REPEATED_GROUP = re.compile(r"\)(?:[*+]|\{\d*,\d*\})")


def _patterns(document: Document) -> Iterator[Fault]:
    patterns = value_at(document, ("retry", "rate_limit_patterns"))
    for place, pattern in enumerate(patterns if isinstance(patterns, list) else []):
        path: KeyPath = ("retry", "rate_limit_patterns", place)
        if error := _compile_error(pattern):
            yield Fault(path, f"not a regular expression: {error}")
        elif _REPEATED_GROUP.search(pattern):
            message = "a repeated group can take very long to match"
            yield Fault(path, message, "remove the repetition")


def _compile_error(pattern: str) -> str | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            return str(error)
        return None


_RULES: tuple[Callable[[Document], Iterator[Fault]], ...] = (
    _agents,
    _names_of_agents,
    _windows,
    _sprint_target,
    _approval_rules,
    _patterns,
    _zone,
    _integrity,
    _variables_of_checks,
)
