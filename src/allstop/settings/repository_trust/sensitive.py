"""Sensitive settings: the keys that a repository can't set without trust, each with the reason.

They run something outside the sandbox, open the sandbox, pass a key or login to another party,
or loosen a limit of the person. An agent can edit allstop.toml and could otherwise give itself
more rights. Commands inside the sandbox (setup, checks) aren't sensitive.
"""

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


class Request(Struct, frozen=True, kw_only=True):
    """A value in a repository's file, and the value without that file."""

    value: object
    without: object
    driver: str | None
    """The driver of the agent that the setting belongs to."""
    is_yours: bool
    """Whether that agent exists without the repository's file."""
    home: Path
    repository: Path


class Sensitive(Struct, frozen=True, kw_only=True):
    key: tuple[str, ...]
    why: str
    needs_trust: Callable[[Request], bool]


def _always(request: Request) -> bool:
    return bool(request.value)


def _differs(request: Request) -> bool:
    return request.value != request.without


def _adds(request: Request) -> bool:
    return any(each not in _items(request.without) for each in _items(request.value))


def _further_than(order: tuple[str, ...]) -> Callable[[Request], bool]:
    def needs_trust(request: Request) -> bool:
        return order.index(str(request.value)) > order.index(str(request.without))

    return needs_trust


def _changes_yours(request: Request) -> bool:
    return request.without is not UNSET and _differs(request)


def _runs_with_your_keys(request: Request) -> bool:
    """A `command` agent without key and login is only a sandboxed program."""
    if not _differs(request):
        return False
    return request.driver != Driver.COMMAND or request.is_yours or _shows_your_files(request)


def _shows_your_files(request: Request) -> bool:
    """Whether the program, which the sandbox must expose, is in the person's home folder."""
    program = str(next(iter(_items(request.value)), ""))
    if "/" not in program or program.startswith("~"):
        return "/" in program
    file = (request.repository / program).resolve()
    in_home = file.is_relative_to(request.home.resolve())
    return in_home and not file.is_relative_to(request.repository.resolve())


def _is_foreign_address(request: Request) -> bool:
    return _differs(request) and (
        request.is_yours or not LOCAL_ADDRESS.fullmatch(str(request.value))
    )


def _takes_another_key(request: Request) -> bool:
    if request.is_yours or request.driver is None:
        return _differs(request)
    return request.value not in ("", STANDARD_KEY.get(Driver(request.driver)))


def _is_reachable(request: Request) -> bool:
    return _differs(request) and not _LOCAL_HOST.fullmatch(str(request.value))


def _allows_more(request: Request) -> bool:
    allows = [rule for rule in _items(request.value) if isinstance(rule, dict) and "allow" in rule]
    dropped = [rule for rule in _items(request.without) if rule not in _items(request.value)]
    return bool(dropped) or any(rule not in _items(request.without) for rule in allows)


def _loosens(request: Request) -> bool:
    """Whether a limit exceeds the person's own; without an own limit nothing is loosened."""
    numbers = (int, float)
    if not isinstance(request.value, numbers) or not isinstance(request.without, numbers):
        return False
    return request.value > request.without


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
        key=("sandbox", "read"), why="exposes more of your files to agents", needs_trust=_adds
    ),
    Sensitive(
        key=("sandbox", "network"),
        why="opens the network to agents",
        needs_trust=_further_than(_NETWORKS),
    ),
    Sensitive(
        key=("workspace", "link"),
        why="exposes more folders of your checkout to agents, even if they are symbolic links",
        needs_trust=_adds,
    ),
    Sensitive(
        key=("workspace", "copy"),
        why="exposes more untracked files of your checkout to agents",
        needs_trust=_adds,
    ),
    Sensitive(
        key=("approvals", "rules"),
        why="lets agents run commands without asking you, or removes one of your rules",
        needs_trust=_allows_more,
    ),
    Sensitive(
        key=("auto", "guarded_files"),
        why="lets agents change files that control CI, hooks or other agents without your review",
        needs_trust=_further_than(_GUARDED),
    ),
    Sensitive(
        key=("agents", "*", "driver"),
        why="replaces the program of one of your agents",
        needs_trust=_changes_yours,
    ),
    Sensitive(
        key=("agents", "*", "command"),
        why="runs a program with your key or login, or exposes one from your home folder",
        needs_trust=_runs_with_your_keys,
    ),
    Sensitive(
        key=("agents", "*", "base_url"),
        why="sends your key and all messages to another address",
        needs_trust=_is_foreign_address,
    ),
    Sensitive(
        key=("agents", "*", "api_key_env"),
        why="passes one of your environment variables to this agent's provider",
        needs_trust=_takes_another_key,
    ),
    Sensitive(
        key=("agents", "*", "mode"),
        why="can let an agent act without asking you",
        needs_trust=_always,
    ),
    Sensitive(
        key=("agents", "*", "account"),
        why="chooses which of your logins the agent uses",
        needs_trust=_differs,
    ),
    Sensitive(
        key=("agents", "*", "env"),
        why="can redirect an agent's key or load code into it",
        needs_trust=_always,
    ),
    Sensitive(
        key=("agents", "*", "pass_env"),
        why="passes your environment variables to an agent",
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
        why="sends traces of your runs to another program",
        needs_trust=_differs,
    ),
    Sensitive(
        key=("traces", "endpoint"),
        why="sends traces to an address you didn't choose",
        needs_trust=_differs,
    ),
    Sensitive(
        key=("traces", "content"),
        why="sends the texts of people and agents to another program",
        needs_trust=_differs,
    ),
    Sensitive(
        key=("server", "host"),
        why="lets other machines reach the control room",
        needs_trust=_is_reachable,
    ),
    Sensitive(
        key=("server", "hosts"),
        why="accepts more host names for the control room",
        needs_trust=_adds,
    ),
    Sensitive(
        key=("server", "behind_proxy"),
        why="lets other machines reach the control room without its own TLS",
        needs_trust=_always,
    ),
    Sensitive(
        key=("server", "tls_cert"),
        why="chooses the certificate of the control room",
        needs_trust=_differs,
    ),
    Sensitive(
        key=("server", "tls_key"),
        why="chooses the certificate of the control room",
        needs_trust=_differs,
    ),
    Sensitive(
        key=("store", "url"),
        why="stores the journal in a database you didn't choose",
        needs_trust=_differs,
    ),
    Sensitive(
        key=("prices", "*"),
        why="sets the prices of models, and so how much of your budget is used",
        needs_trust=_differs,
    ),
    Sensitive(
        key=("agents", "*", "flat_rate"),
        why="counts no costs for this agent, regardless of your budget",
        needs_trust=_always,
    ),
    *(Sensitive(key=key, why="exceeds your own limit", needs_trust=_loosens) for key in _LIMITS),
)


def occurrences(
    document: Document, key: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], object]]:
    """The values in the document that match a key pattern, with their paths."""
    head, *rest = key
    for name in list(document) if head == "*" else [head] * (head in document):
        value = document[name]
        if not rest:
            yield (name,), value
        elif isinstance(value, dict):
            for path, inner in occurrences(value, tuple(rest)):
                yield (name, *path), inner


def sensitive_part(document: Document) -> Document:
    """The sensitive values of the document, in its own shape."""
    part: Document = {}
    for sensitive in SENSITIVE:
        for path, value in occurrences(document, sensitive.key):
            put(part, path, value)
    return part


@lru_cache(maxsize=2048)  # called for each listed setting
def reason_for(path: tuple[str, ...]) -> str:
    """Why this setting may need trust; "" if it never does."""
    for sensitive in SENSITIVE:
        fits = (part in ("*", name) for part, name in zip(sensitive.key, path, strict=False))
        if len(path) >= len(sensitive.key) and all(fits):
            return sensitive.why
    return ""
