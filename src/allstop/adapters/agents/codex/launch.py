"""How codex is started: its settings as arguments, its environment, what it must be able to read.

Nothing is written into its home: that is the agent's, and the host never writes where an agent can.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import lru_cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from allstop.ports import Box, Launch

VENDOR_URL = "https://api.openai.com/v1"
VENDOR = "openai"
PROVIDER = "allstop"

OFF = (
    "apps",
    "plugins",
    "remote_plugin",  # these look for the network when it starts, and when it ends
    "daemon_auto_start",
    "goals",  # it would take turns nobody asked for
    "multi_agent",  # … in conversations nobody watches
    "unbounded_connection_retries",  # retries are decided where they are recorded
)


class Approvals(StrEnum):
    """Which commands it asks about. In a box the first asks about hardly any, the second about all."""

    ON_REQUEST = "on-request"
    UNTRUSTED = "untrusted"
    NEVER = "never"


class Setup(Struct, frozen=True, kw_only=True):
    """What one agent is started with."""

    program: str  # its whole path
    room: Box  # for conversations without a workspace; its home is for all, where there is a login
    model: str | None = None
    base_url: str | None = None
    key: str = ""
    key_name: str = ""  # the variable it is from
    login: bool = False  # its home holds one, in place of a key
    approvals: Approvals = Approvals.ON_REQUEST
    ruled: bool = False  # every command is shown to the rules
    retries: int = 2  # of a broken connection, within a turn
    answer_within_s: float = 60.0  # a request; a turn may take as long as it is given
    env: Mapping[str, str] = {}

    @property
    def provider(self) -> str:
        return VENDOR if self.login else PROVIDER

    def __repr__(self) -> str:
        return f"Setup({self.program})"


def launch_of(setup: Setup, place: Box | None, label: str) -> Launch:
    box = place or setup.room
    if setup.login:
        box = replace(box, home=setup.room.home)
    box = replace(box, read=tuple(dict.fromkeys((*box.read, *beside(setup.program)))))
    return Launch(
        argv=(setup.program, "app-server", *arguments(setup)),
        box=box,
        label=label,
        env={**box.env, **environment(setup)},
    )


def environment(setup: Setup) -> dict[str, str]:
    """`CODEX_HOME` is not among them: it is `.codex` in the home, never the user's own.

    Codex refuses a home within the temporary folder; the launcher gives it one elsewhere.
    """
    key = {setup.key_name: setup.key} if setup.key and setup.key_name else {}
    return {"TZ": "UTC", "RUST_LOG": "error", **setup.env, **key}


def arguments(setup: Setup) -> tuple[str, ...]:
    return tuple(word for setting in _settings(setup) for word in ("-c", setting))


def beside(program: str) -> tuple[str, ...]:
    """The folder of the package that a program belongs to: it starts others that are in it."""
    try:
        about = os.stat(program)  # noqa: PTH116 - asked for each turn, and it hardly ever changes
    except OSError:
        return ()
    return _beside(program, about.st_dev, about.st_ino, about.st_ctime_ns)


@lru_cache(maxsize=16)
def _beside(program: str, device: int, inode: int, changed_ns: int) -> tuple[str, ...]:
    """The numbers say which file it was: another one is looked at anew."""
    folder = Path(program).resolve().parent.parent
    return (str(folder),) if (folder / "codex-package.json").is_file() else ()


def _settings(setup: Setup) -> Iterator[str]:
    if setup.model:
        yield f"model={_quoted(setup.model)}"
    yield "check_for_update_on_startup=false"
    yield "suppress_unstable_features_warning=true"
    yield "analytics.enabled=false"
    yield "tools.update_plan.enabled=true"  # else there is no plan to show
    yield "features.default_mode_request_user_input=true"
    yield from (f"features.{feature}=false" for feature in OFF)
    if setup.key_name:
        yield f"shell_environment_policy.exclude=[{_quoted(setup.key_name)}]"
    yield f"model_provider={_quoted(setup.provider)}"
    if not setup.login:
        yield f"model_providers.{PROVIDER}={{{', '.join(_provider(setup))}}}"


def _provider(setup: Setup) -> Iterator[str]:
    yield f"name={_quoted(PROVIDER)}"
    yield f"base_url={_quoted(setup.base_url or VENDOR_URL)}"
    yield 'wire_api="responses"'
    if setup.key:
        yield f"env_key={_quoted(setup.key_name)}"
    yield f"request_max_retries={setup.retries}"
    yield f"stream_max_retries={setup.retries}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
