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

from allstop.settings.key_path import Document, put, value_at
from allstop.settings.model import (
    STANDARD_KEY,
    Driver,
    GuardedFiles,
    History,
    Network,
    SandboxMode,
    WorkNetwork,
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
    person: Document
    """All settings without that file."""
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


def _opens_network(request: Request) -> bool:
    """An unset network is one without hosts."""
    without = Network.MODEL_ONLY if request.without is None else Network(str(request.without))
    return _NETWORKS.index(Network(str(request.value))) > _NETWORKS.index(without)


def _opens_work(request: Request) -> bool:
    """Compared with the person's own setting, or what follows from their [sandbox] network."""
    own = request.without or value_at(request.person, ("sandbox", "network"))
    without = WorkNetwork(str(own)) if own in list(WorkNetwork) else WorkNetwork.ALLOW
    return _WORK_NETWORKS.index(WorkNetwork(str(request.value))) > _WORK_NETWORKS.index(without)


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
_NETWORKS = (Network.NONE, Network.MODEL_ONLY, Network.ALLOW, Network.FULL)
_WORK_NETWORKS = (WorkNetwork.NONE, WorkNetwork.ALLOW, WorkNetwork.FULL)
_HISTORIES = (History.BRANCH, History.FULL)
_GUARDED = (GuardedFiles.PAUSE, GuardedFiles.CONTINUE)

_SUMS = ("turns", "tokens", "cost_usd", "minutes")
_RESOURCES = ("processes", "memory_mb", "file_mb", "disk_mb")
_LIMITS = (
    *(f"budget.{name}" for name in _SUMS),
    *(f"budget.{whose}.{name}" for whose in ("task", "sprint", "day") for name in _SUMS),
    *(f"limits.{name}" for name in _RESOURCES),
    "agents.*.max_tokens_per_call",
)

_RULES: tuple[tuple[str, Callable[[Request], bool], str], ...] = (
    ("hooks.*", _always, "runs a command on this machine, outside the sandbox"),
    ("sandbox.mode", _further_than(_MODES), "lets agents run without a sandbox"),
    ("sandbox.read", _adds, "exposes more of your files to agents"),
    ("sandbox.network", _opens_network, "opens the network to agents"),
    ("sandbox.hosts", _adds, "lets agents reach more hosts"),
    ("verification.network", _opens_work, "opens the network to checks"),
    ("verification.hosts", _adds, "lets checks reach more hosts"),
    ("workspace.network", _opens_work, "opens the network to the setup command"),
    ("workspace.hosts", _adds, "lets the setup command reach more hosts"),
    (
        "workspace.link",
        _adds,
        "exposes more folders of your checkout to agents, even if they are symbolic links",
    ),
    ("workspace.copy", _adds, "exposes more untracked files of your checkout to agents"),
    (
        "workspace.history",
        _further_than(_HISTORIES),
        "shows agents all branches and dangling objects of the repository",
    ),
    (
        "approvals.rules",
        _allows_more,
        "lets agents run commands without asking you, or removes one of your rules",
    ),
    (
        "auto.guarded_files",
        _further_than(_GUARDED),
        "lets agents change files that control CI, hooks or other agents without your review",
    ),
    ("agents.*.driver", _changes_yours, "replaces the program of one of your agents"),
    (
        "agents.*.command",
        _runs_with_your_keys,
        "runs a program with your key or login, or exposes one from your home folder",
    ),
    (
        "agents.*.base_url",
        _differs,
        "sends your key and all messages to another address",
    ),
    (
        "agents.*.api_key_env",
        _takes_another_key,
        "passes one of your environment variables to this agent's provider",
    ),
    (
        "agents.*.api_key_file",
        _differs,
        "sends a file of yours to this agent's provider",
    ),
    (
        "agents.*.api_key_command",
        _always,
        "runs a command on this machine, outside the sandbox",
    ),
    (
        "agents.*.gateway",
        _differs,
        "chooses the provider that gets your key",
    ),
    ("verification.env", _adds, "passes your environment variables to checks"),
    ("agents.*.mode", _always, "can let an agent act without asking you"),
    ("agents.*.account", _differs, "chooses which of your logins the agent uses"),
    ("agents.*.accounts", _differs, "chooses which of your logins the agent uses"),
    ("agents.*.env", _always, "can redirect an agent's key or load code into it"),
    ("agents.*.pass_env", _adds, "passes your environment variables to an agent"),
    ("notify.urls", _adds, "sends messages from this machine to addresses you didn't choose"),
    ("notify.private", _always, "sends messages to this machine or your own network"),
    ("traces.on", _differs, "sends traces of your runs to another program"),
    ("traces.endpoint", _differs, "sends traces to an address you didn't choose"),
    ("traces.content", _differs, "sends the texts of people and agents to another program"),
    ("server.host", _is_reachable, "lets other machines reach the control room"),
    ("server.hosts", _adds, "accepts more host names for the control room"),
    (
        "server.behind_proxy",
        _always,
        "lets other machines reach the control room without its own TLS",
    ),
    ("server.tls_cert", _differs, "chooses the certificate of the control room"),
    ("server.tls_key", _differs, "chooses the certificate of the control room"),
    ("fleet.remote", _differs, "sends all work to a repository you didn't choose"),
    ("store.url", _differs, "stores the journal in a database you didn't choose"),
    ("prices.*", _differs, "sets the prices of models, and so how much of your budget is used"),
    ("agents.*.record", _always, "keeps the texts of your model calls on this disk"),
    ("agents.*.flat_rate", _always, "counts no costs for this agent, regardless of your budget"),
    *((key, _loosens, "exceeds your own limit") for key in _LIMITS),
)
SENSITIVE = tuple(
    Sensitive(key=tuple(key.split(".")), why=why, needs_trust=needs_trust)
    for key, needs_trust, why in _RULES
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
