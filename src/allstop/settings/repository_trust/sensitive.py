"""Settings a repository may ask for but not decide: the list, and the reason for each.

They make something run on this machine outside the sandbox, open the sandbox, hand a key or
login to somebody else, or loosen a limit that the person has set. An agent can change the file:
without this it could allow itself more. What runs inside the sandbox (setup, checks) is not
among them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

from msgspec import UNSET, Struct

from allstop.settings.key_path import Document, put
from allstop.settings.model import STANDARD_KEY, Driver, GuardedFiles, Network, SandboxMode

LOCAL_ADDRESS = re.compile(
    r"https?://(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d{1,5})?(?:/[\w./%~-]*)?"
)
_LOCAL_HOST = re.compile(r"localhost|::1|127\.\d+\.\d+\.\d+")


class Claim(Struct, frozen=True, kw_only=True):
    """What a repository's file asks for, beside what would hold without that file."""

    value: object
    without: object
    driver: str | None
    """Of the agent whose setting it is."""
    is_yours: bool
    """Whether that agent exists without the repository's file."""
    home: Path
    repository: Path


class Sensitive(Struct, frozen=True, kw_only=True):
    key: tuple[str, ...]
    why: str
    needs_trust: Callable[[Claim], bool]


def _always(claim: Claim) -> bool:
    return bool(claim.value)


def _differs(claim: Claim) -> bool:
    return claim.value != claim.without


def _adds(claim: Claim) -> bool:
    return any(each not in _items(claim.without) for each in _items(claim.value))


def _further_than(order: tuple[str, ...]) -> Callable[[Claim], bool]:
    def needs_trust(claim: Claim) -> bool:
        return order.index(str(claim.value)) > order.index(str(claim.without))

    return needs_trust


def _changes_yours(claim: Claim) -> bool:
    return claim.without is not UNSET and _differs(claim)


def _runs_with_your_keys(claim: Claim) -> bool:
    """A program of its own for an agent that has no key and no login is just a sandboxed program."""
    if not _differs(claim):
        return False
    return claim.driver != Driver.COMMAND or claim.is_yours or _shows_your_files(claim)


def _shows_your_files(claim: Claim) -> bool:
    """Whether the program, which the sandbox must show, is a file in the person's home."""
    program = str(next(iter(_items(claim.value)), ""))
    if "/" not in program or program.startswith("~"):
        return "/" in program
    file = (claim.repository / program).resolve()
    in_home = file.is_relative_to(claim.home.resolve())
    return in_home and not file.is_relative_to(claim.repository.resolve())


def _leads_away(claim: Claim) -> bool:
    return _differs(claim) and (claim.is_yours or not LOCAL_ADDRESS.fullmatch(str(claim.value)))


def _takes_another_key(claim: Claim) -> bool:
    if claim.is_yours or claim.driver is None:
        return _differs(claim)
    return claim.value not in ("", STANDARD_KEY.get(Driver(claim.driver)))


def _is_reachable(claim: Claim) -> bool:
    return _differs(claim) and not _LOCAL_HOST.fullmatch(str(claim.value))


def _allows_more(claim: Claim) -> bool:
    allows = [rule for rule in _items(claim.value) if isinstance(rule, dict) and "allow" in rule]
    dropped = [rule for rule in _items(claim.without) if rule not in _items(claim.value)]
    return bool(dropped) or any(rule not in _items(claim.without) for rule in allows)


def _loosens(claim: Claim) -> bool:
    """Whether it is more than the person allows; who allows nothing in particular loses nothing."""
    numbers = (int, float)
    if not isinstance(claim.value, numbers) or not isinstance(claim.without, numbers):
        return False
    return claim.value > claim.without


def _items(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []


_MODES = (SandboxMode.ON, SandboxMode.AUTO, SandboxMode.OFF)
_NETWORKS = (Network.NONE, Network.MODEL_ONLY, Network.FULL)
_GUARDED = (GuardedFiles.PAUSE, GuardedFiles.CONTINUE)

_SUMS = ("turns", "tokens", "cost_usd", "minutes")
_RESOURCES = ("processes", "memory_mb", "file_mb", "disk_mb")
_LIMITS = (
    *(("budget", name) for name in _SUMS),
    *(("budget", whose, name) for whose in ("task", "sprint", "day") for name in _SUMS),
    *(("limits", name) for name in _RESOURCES),
    ("agents", "*", "max_tokens_per_call"),
)

SENSITIVE: tuple[Sensitive, ...] = (
    Sensitive(
        key=("hooks", "*"),
        why="runs a command on this machine, outside the sandbox",
        needs_trust=_always,
    ),
    Sensitive(
        key=("sandbox", "mode"),
        why="lets agents run without a sandbox",
        needs_trust=_further_than(_MODES),
    ),
    Sensitive(
        key=("sandbox", "read"), why="shows further files of yours to agents", needs_trust=_adds
    ),
    Sensitive(
        key=("sandbox", "network"),
        why="opens the network to agents",
        needs_trust=_further_than(_NETWORKS),
    ),
    Sensitive(
        key=("workspace", "link"),
        why="shows further folders of your checkout to agents, wherever they lead",
        needs_trust=_adds,
    ),
    Sensitive(
        key=("workspace", "copy"),
        why="shows further untracked files of your checkout to agents",
        needs_trust=_adds,
    ),
    Sensitive(
        key=("approvals", "rules"),
        why="lets agents run commands you would be asked about, or drops a rule of yours",
        needs_trust=_allows_more,
    ),
    Sensitive(
        key=("auto", "guarded_files"),
        why="lets agents change what steers CI, hooks or other agents without your look",
        needs_trust=_further_than(_GUARDED),
    ),
    Sensitive(
        key=("agents", "*", "driver"),
        why="puts another program behind an agent of yours",
        needs_trust=_changes_yours,
    ),
    Sensitive(
        key=("agents", "*", "command"),
        why="runs a program with your key or login, or shows one from your home to the sandbox",
        needs_trust=_runs_with_your_keys,
    ),
    Sensitive(
        key=("agents", "*", "base_url"),
        why="sends your key and everything said to another address",
        needs_trust=_leads_away,
    ),
    Sensitive(
        key=("agents", "*", "api_key_env"),
        why="hands a variable of yours to whoever is behind this agent",
        needs_trust=_takes_another_key,
    ),
    Sensitive(
        key=("agents", "*", "mode"),
        why="can let an agent do what it would ask you about",
        needs_trust=_always,
    ),
    Sensitive(
        key=("agents", "*", "account"),
        why="chooses which of your logins the agent gets",
        needs_trust=_differs,
    ),
    Sensitive(
        key=("agents", "*", "env"),
        why="can redirect an agent's key or load code into it",
        needs_trust=_always,
    ),
    Sensitive(
        key=("agents", "*", "pass_env"),
        why="hands variables of yours to an agent",
        needs_trust=_adds,
    ),
    Sensitive(
        key=("notify", "urls"),
        why="sends messages from this machine to addresses you didn't choose",
        needs_trust=_adds,
    ),
    Sensitive(
        key=("notify", "private"),
        why="sends messages to this machine or your own network",
        needs_trust=_always,
    ),
    Sensitive(
        key=("traces", "on"),
        why="sends what happens here to another program",
        needs_trust=_differs,
    ),
    Sensitive(
        key=("traces", "endpoint"),
        why="sends traces to an address you didn't choose",
        needs_trust=_differs,
    ),
    Sensitive(
        key=("traces", "content"),
        why="sends what people and agents say to another program",
        needs_trust=_differs,
    ),
    Sensitive(
        key=("server", "host"),
        why="lets other machines reach the control room",
        needs_trust=_is_reachable,
    ),
    Sensitive(
        key=("server", "hosts"),
        why="lets the control room be called by further names",
        needs_trust=_adds,
    ),
    Sensitive(
        key=("server", "behind_proxy"),
        why="lets the control room be reached without TLS of its own",
        needs_trust=_always,
    ),
    Sensitive(
        key=("server", "tls_cert"),
        why="decides by which certificate the control room is known",
        needs_trust=_differs,
    ),
    Sensitive(
        key=("server", "tls_key"),
        why="decides by which certificate the control room is known",
        needs_trust=_differs,
    ),
    Sensitive(
        key=("store", "url"),
        why="keeps everything that happens in a database you didn't choose",
        needs_trust=_differs,
    ),
    Sensitive(
        key=("prices", "*"),
        why="says what models cost, and so how much of your budget is used",
        needs_trust=_differs,
    ),
    Sensitive(
        key=("agents", "*", "flat_rate"),
        why="counts no money for this agent, whatever your budget",
        needs_trust=_always,
    ),
    *(
        Sensitive(key=key, why="allows more than you allow", needs_trust=_loosens)
        for key in _LIMITS
    ),
)


def occurrences(
    document: Document, key: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], object]]:
    """Each value of the document that a key of the list names, with its whole path."""
    head, *rest = key
    for name in list(document) if head == "*" else [head] * (head in document):
        value = document[name]
        if not rest:
            yield (name,), value
        elif isinstance(value, dict):
            for path, inner in occurrences(value, tuple(rest)):
                yield (name, *path), inner


def sensitive_part(document: Document) -> Document:
    """Just what the list names, in the document's own shape."""
    part: Document = {}
    for sensitive in SENSITIVE:
        for path, value in occurrences(document, sensitive.key):
            put(part, path, value)
    return part


@lru_cache(maxsize=2048)  # asked for each setting that is listed
def reason_for(path: tuple[str, ...]) -> str:
    """Why this setting may need to be accepted; "" where it never does."""
    for sensitive in SENSITIVE:
        fits = (part in ("*", name) for part, name in zip(sensitive.key, path, strict=False))
        if len(path) >= len(sensitive.key) and all(fits):
            return sensitive.why
    return ""
