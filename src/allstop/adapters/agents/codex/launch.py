"""Builds the launch of codex: its settings as arguments, its environment, its readable folders.

It writes nothing into codex's home, because the host never writes where an agent can.
"""

import json
import os
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from allstop.adapters.agents.box_files import writing
from allstop.ports import Box, Launch

VENDOR_URL = "https://api.openai.com/v1"
VENDOR = "openai"
PROVIDER = "allstop"

RENEWAL_VARIABLE = "CODEX_REFRESH_TOKEN_URL_OVERRIDE"
RENEWAL_PATH, CHATGPT_PATH = "/oauth/token", "/backend-api/"
"""Where codex with a placeholder of a login renews it, and asks about its account."""

DISABLED_FEATURES = (
    "apps",
    "plugins",
    "remote_plugin",  # these use the network at start and exit
    "daemon_auto_start",
    "goals",  # takes turns on its own
    "multi_agent",  # works in conversations that nothing watches
    "unbounded_connection_retries",  # the drive decides about retries and records them
)


class Approvals(StrEnum):
    """Which commands codex asks about; in a box, hardly any, all, or none."""

    ON_REQUEST = "on-request"
    UNTRUSTED = "untrusted"
    NEVER = "never"


class Setup(Struct, frozen=True, kw_only=True):
    """The settings of one codex agent."""

    program: str  # absolute path
    fallback_box: Box  # for turns without a workspace; with a login, all turns use its home
    model: str | None = None
    base_url: str | None = None
    key: str = ""
    key_name: str = ""  # the environment variable that holds the key
    login: bool = False  # its home holds a login instead of a key
    files: Mapping[str, str] = {}  # a placeholder of a login, written in the box before it starts
    approvals: Approvals = Approvals.ON_REQUEST
    ruled: bool = False  # the rules see every command
    retries: int = 2  # after a broken connection, within a turn
    answer_within_s: float = 60.0  # for a request; the drive limits the turn
    env: Mapping[str, str] = {}

    @property
    def provider(self) -> str:
        return VENDOR if self.login else PROVIDER

    def __repr__(self) -> str:
        return f"Setup({self.program})"


def build_launch(setup: Setup, turn_box: Box | None, label: str) -> Launch:
    box = turn_box or setup.fallback_box
    if setup.login:
        box = replace(box, home=setup.fallback_box.home)
    box = replace(box, read=tuple(dict.fromkeys((*box.read, *package_folder(setup.program)))))
    return Launch(
        argv=writing(setup.files, (setup.program, "app-server", *arguments(setup))),
        box=box,
        label=label,
        env={**box.env, **environment(setup)},
        programs=(setup.program,) if setup.files else (),
    )


def environment(setup: Setup) -> dict[str, str]:
    """The variables of codex, without `CODEX_HOME`: it is `.codex` in the home of the box.

    Codex refuses a home within the temporary folder; the launcher gives it one elsewhere.
    """
    key = {setup.key_name: setup.key} if setup.key and setup.key_name else {}
    renewal = {RENEWAL_VARIABLE: _beside(setup, RENEWAL_PATH)} if setup.files else {}
    return {"TZ": "UTC", "RUST_LOG": "error", **setup.env, **key, **renewal}


def arguments(setup: Setup) -> tuple[str, ...]:
    return tuple(word for setting in _settings(setup) for word in ("-c", setting))


def package_folder(program: str) -> tuple[str, ...]:
    """The folder of codex's package, because codex starts other programs in it."""
    try:
        about = os.stat(program)  # noqa: PTH116 - faster, and called in each turn
    except OSError:
        return ()
    return _package_folder(program, about.st_dev, about.st_ino, about.st_ctime_ns)


@lru_cache(maxsize=16)
def _package_folder(program: str, device: int, inode: int, changed_ns: int) -> tuple[str, ...]:
    """The numbers identify the file, so that a replaced program is read again."""
    folder = Path(program).resolve().parent.parent
    return (str(folder),) if (folder / "codex-package.json").is_file() else ()


def _settings(setup: Setup) -> Iterator[str]:
    if setup.model:
        yield f"model={_quoted(setup.model)}"
    yield "check_for_update_on_startup=false"
    yield "suppress_unstable_features_warning=true"
    yield "analytics.enabled=false"
    yield "tools.update_plan.enabled=true"  # else codex reports no plan
    yield "features.default_mode_request_user_input=true"
    yield from (f"features.{feature}=false" for feature in DISABLED_FEATURES)
    if setup.key_name:
        yield f"shell_environment_policy.exclude=[{_quoted(setup.key_name)}]"
    yield f"model_provider={_quoted(setup.provider)}"
    if setup.files:
        yield f"chatgpt_base_url={_quoted(_beside(setup, CHATGPT_PATH))}"
    if not setup.login:
        yield f"model_providers.{PROVIDER}={{{', '.join(_provider(setup))}}}"


def _provider(setup: Setup) -> Iterator[str]:
    yield f"name={_quoted(PROVIDER)}"
    yield f"base_url={_quoted(setup.base_url or VENDOR_URL)}"
    yield 'wire_api="responses"'
    if setup.files:
        yield "requires_openai_auth=true"
    elif setup.key:
        yield f"env_key={_quoted(setup.key_name)}"
    yield f"request_max_retries={setup.retries}"
    yield f"stream_max_retries={setup.retries}"


def _beside(setup: Setup, path: str) -> str:
    """An address of the gateway, which answers it itself."""
    at = urlsplit(setup.base_url or VENDOR_URL)
    return f"{at.scheme}://{at.netloc}{path}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
