"""Logins whose tokens stay outside of boxes, because the gateway adds them to each call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from allstop.app.agents.logins import has_login, login_home
from allstop.metering.stored_logins import (
    LoginKind,
    StoredLogin,
    placeholder_answer,
    placeholder_file,
)
from allstop.metering.wire_formats import Provider
from allstop.settings.model import Agent, Driver

if TYPE_CHECKING:
    import ssl

    from allstop.adapters.gateway.login_tokens import LoginTokens
    from allstop.adapters.gateway.turn_gateway import OwnAnswers
    from allstop.app.project import Project

KINDS = {Driver.CODEX: LoginKind.CODEX, Driver.CLAUDE_CODE: LoginKind.CLAUDE}


class LoginAddresses(NamedTuple):
    model: str  # where calls with a login go
    renewal: str


ADDRESSES: Mapping[LoginKind, LoginAddresses] = {
    LoginKind.CODEX: LoginAddresses(
        "https://chatgpt.com/backend-api/codex", "https://auth.openai.com/oauth/token"
    ),
    LoginKind.CLAUDE: LoginAddresses(
        "https://api.anthropic.com", "https://platform.claude.com/v1/oauth/token"
    ),
}


def find_outside_login(project: Project, name: str, settings: Agent) -> StoredLogin | None:
    """The agent's login, if the gateway can add it: None for other programs and unknown files."""
    kind = KINDS.get(settings.driver)
    if kind is None or not has_login(project, name, settings):
        return None
    from allstop.adapters.gateway.login_tokens import stored_login

    return stored_login(kind, login_home(project, name, settings))


def box_files(project: Project, login: StoredLogin | None) -> dict[str, str]:
    """What stands for the login in a box; nothing without one."""
    if login is None:
        return {}
    from allstop.adapters.gateway.login_tokens import FILES
    from allstop.adapters.processes.sandbox.box_paths import HOME

    return {f"{HOME}/{FILES[login.kind]}": placeholder_file(login, project.clock.now())}


def tokens_of(
    project: Project,
    name: str,
    settings: Agent,
    tls: ssl.SSLContext,
    addresses: Mapping[LoginKind, LoginAddresses],
) -> LoginTokens:
    from allstop.adapters.gateway.login_tokens import LoginTokens
    from allstop.adapters.gateway.model_connection import Target, Upstream

    kind = KINDS[settings.driver]
    at = urlsplit(addresses[kind].renewal)
    target = Target(provider=Provider.OPENAI, base_url=f"{at.scheme}://{at.netloc}", key="")
    home = login_home(project, name, settings)
    return LoginTokens(kind, home, Upstream(target, tls, max_idle=0), at.path, project.clock)


def own_answers(login: StoredLogin) -> OwnAnswers:
    """What the gateway answers itself: codex renews its login, and asks about its account."""
    from allstop.adapters.agents.codex.launch import CHATGPT_PATH, RENEWAL_PATH
    from allstop.metering.refusals import JSON_HEADERS, Answer

    if login.kind is not LoginKind.CODEX:
        return {}
    renewal = Answer(status=200, headers=JSON_HEADERS, body=placeholder_answer(login))
    nothing = Answer(status=404, headers=JSON_HEADERS, body=b"{}")
    asked = ("wham/accounts/check", "wham/settings/user", "wham/usage", "codex/models")
    return {
        ("POST", RENEWAL_PATH): renewal,
        **{("GET", CHATGPT_PATH + path): nothing for path in asked},
    }
