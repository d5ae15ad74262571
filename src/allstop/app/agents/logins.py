"""Logins of agents: each account has its own home folder, visible only in its driver's boxes.

An agent can write to that home, so the host never runs a program there. A login runs in an empty
folder, which replaces the home if the login succeeds.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from allstop.adapters.processes.tools.network_variables import CERTIFICATES, PROXIES
from allstop.app.agents.agent_programs import AgentSetupError
from allstop.core.errors import AllstopError
from allstop.settings.detection.presets import PRESETS, preset_of
from allstop.settings.model import Agent, Driver

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from allstop.app.project import Project


class Login(NamedTuple):
    """A program's login arguments, and the file in which it stores its credentials."""

    words: tuple[str, ...]
    file: str = ""  # "": any file


LOGINS = {
    Driver.CODEX: Login(("login",), ".codex/auth.json"),
    Driver.CLAUDE_CODE: Login(("auth", "login"), ".claude/.credentials.json"),
}

PASSED = frozenset(
    {
        *("PATH", "TERM", "COLORTERM", "LANG", "LC_ALL", "TZ"),
        *("BROWSER", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR"),
        *PROXIES,
        *CERTIFICATES,
    }
)
"""Variables that a login may need for the terminal, a browser and the network. No keys."""


def login_home(project: Project, name: str, settings: Agent) -> Path:
    """The home folder of the agent's account; agents of one account share it."""
    return project.environment.trust_file.parent / "logins" / (settings.account or name)


def has_login(project: Project, name: str, settings: Agent) -> bool:
    """False if a key or `base_url` is set: those take precedence over a login."""
    if settings.api_key_file or settings.api_key_command:
        return False
    if settings.api_key_env is not None or settings.base_url is not None:
        return False
    login = login_of(settings)
    return login is not None and _is_stored(login, login_home(project, name, settings))


def login_of(settings: Agent) -> Login | None:
    """How the agent's program logs in; None if no login is known."""
    if settings.driver in LOGINS:
        return LOGINS[settings.driver]
    preset = preset_of(settings.command) if settings.driver is Driver.ACP else None
    return Login(preset.login) if preset and preset.login else None


def _is_stored(login: Login, home: Path) -> bool:
    if login.file:
        return (home / login.file).is_file()
    return any(path.is_file() for path in home.rglob("*"))


def log_in(
    project: Project, name: str, settings: Agent, program: str, words: Sequence[str]
) -> Path:
    """Run the program's login in this terminal; returns the account's home folder.

    Raises AllstopError if the login failed.
    """
    login, home = require_login(name, settings), login_home(project, name, settings)
    home.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _interruptible(), tempfile.TemporaryDirectory(prefix=".new-", dir=home.parent) as folder:
        fresh = Path(folder) / "home"
        fresh.mkdir(mode=0o700)
        _run((program, *login.words, *words), fresh, project.environment.variables)
        if not _is_stored(login, fresh):
            raise AllstopError(
                f"{program} stored no login", "see its output above", code="login_missing"
            )
        if home.exists():
            shutil.rmtree(home)
        fresh.rename(home)
    return home


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let a signal that would end this process remove the unfinished folder first."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = {each: signal.signal(each, interrupt) for each in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def require_login(name: str, settings: Agent) -> Login:
    """Raises AgentSetupError if no login of the agent's program is known."""
    if (login := login_of(settings)) is None:
        acp = [preset.name for preset in PRESETS if preset.login and preset.driver is Driver.ACP]
        with_one = ", ".join((*(driver.value for driver in LOGINS), *acp))
        driver = settings.driver.value
        raise AgentSetupError(
            f"agent {name!r}: {driver} has no login",
            f"agents with a login: {with_one}",
            code="login_unsupported",
        )
    return login


def _run(argv: tuple[str, ...], home: Path, host: Mapping[str, str]) -> None:
    env = {each: value for each, value in host.items() if each in PASSED}
    try:
        with subprocess.Popen(argv, cwd=home, env={**env, "HOME": str(home)}) as child:
            try:
                code = child.wait()
            except BaseException:  # it must not write to the folder that is about to be removed
                child.kill()
                raise
    except OSError as error:
        message = f"{argv[0]} can't be started: {error}"
        raise AllstopError(message, code="login_not_started") from error
    if code:
        raise AllstopError(
            f"{' '.join(argv)} ended with exit code {code}",
            "the earlier login, if any, is unchanged",
            code="login_failed",
        )
