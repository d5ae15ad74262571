"""Logins of agents: each account has a home of its own, which only its driver's boxes can see.

An agent can write to that home, so the host never runs anything in it: a login starts in an empty
folder, which takes the old one's place when it went well.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from allstop.app.agents.api_models import AgentSetupError
from allstop.core.errors import AllstopError
from allstop.settings.model import Agent, Driver

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allstop.app.project import Project


class Login(NamedTuple):
    """How a program logs in, and where it then keeps what nobody else should have."""

    words: tuple[str, ...]
    file: str


LOGINS = {
    Driver.CODEX: Login(("login",), ".codex/auth.json"),
    Driver.CLAUDE_CODE: Login(("auth", "login"), ".claude/.credentials.json"),
}

PASSED = frozenset(
    {
        *("PATH", "TERM", "COLORTERM", "LANG", "LC_ALL", "TZ"),
        *("BROWSER", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR"),
        *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR"),
    }
)
"""What a login may need: a terminal, a browser, a way out. No keys."""


def login_home(project: Project, name: str, settings: Agent) -> Path:
    """Of the agent's account; agents of one account share it."""
    return project.environment.trust_file.parent / "logins" / (settings.account or name)


def has_login(project: Project, name: str, settings: Agent) -> bool:
    """A variable that is named for the key, or an address, comes before a login."""
    if settings.api_key_env is not None or settings.base_url is not None:
        return False
    login = LOGINS.get(settings.driver)
    return login is not None and (login_home(project, name, settings) / login.file).is_file()


def log_in(project: Project, name: str, program: str, words: Sequence[str]) -> Path:
    """Let the agent's own program log in, at this terminal; the home that it then has.

    Raises:
        AllstopError: it did not.
    """
    settings = project.settings.agents[name]
    login, home = LOGINS[settings.driver], login_home(project, name, settings)
    home.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=home.parent) as folder:
        fresh = Path(folder) / "home"
        fresh.mkdir(mode=0o700)
        _run((program, *login.words, *words), fresh, project.environment.variables)
        if not (fresh / login.file).is_file():
            raise AllstopError(f"{program} left no login behind", "see what it said above")
        if home.exists():
            shutil.rmtree(home)
        fresh.rename(home)
    return home


def can_log_in(name: str, settings: Agent) -> None:
    """
    Raises:
        CrewError: there is nothing to log in to.
    """
    if settings.driver not in LOGINS:
        with_one = ", ".join(driver.value for driver in LOGINS)
        driver = settings.driver.value
        raise AgentSetupError(
            f"agent {name!r}: {driver} has no login", f"drivers that have: {with_one}"
        )


def _run(argv: tuple[str, ...], home: Path, host: Mapping[str, str]) -> None:
    env = {each: value for each, value in host.items() if each in PASSED}
    try:
        code = subprocess.run(
            argv, cwd=home, env={**env, "HOME": str(home)}, check=False
        ).returncode
    except OSError as error:
        raise AllstopError(f"{argv[0]} can't be started: {error}") from error
    if code:
        raise AllstopError(f"{' '.join(argv)} ended with exit code {code}", "nothing was changed")
