"""G9: the tokens of a login are renewed outside of boxes, once, and stored."""

import json
import os
import ssl
from contextlib import asynccontextmanager
from datetime import timedelta
from types import SimpleNamespace

import anyio
import pytest

from allstop.adapters.clock import SystemClock
from allstop.adapters.gateway.login_tokens import LoginTokens, stored_login
from allstop.adapters.gateway.model_connection import LoginError, Target, Upstream, UpstreamError
from allstop.metering.stored_logins import LoginKind
from allstop.metering.wire_formats import Provider
from allstop.testing.model_server import Logins, model_server
from allstop.testing.model_server.login_endpoint import claude_file, codex_file

CLOCK = SystemClock()
SOON, GONE, LATER = timedelta(minutes=2), timedelta(minutes=-2), timedelta(hours=1)


def tokens_at(url, home, kind=LoginKind.CLAUDE):
    target = Target(provider=Provider.OPENAI, base_url=url, key="")
    vendor = Upstream(target, ssl.create_default_context(), max_idle=0)
    return LoginTokens(kind, home, vendor, "/oauth/token", CLOCK)


@asynccontextmanager
async def vendor(tmp_path, ends=LATER):
    """A stored login of Claude Code, and the vendor that renews it."""
    logins = Logins()
    file = tmp_path / "it" / ".claude" / ".credentials.json"
    file.parent.mkdir(parents=True)
    file.write_text(claude_file(logins, CLOCK.now() + ends))
    async with model_server([], logins=logins) as server:
        made = [tokens_at(server.anthropic_url, tmp_path / "it") for _ in range(2)]
        yield SimpleNamespace(logins=logins, file=file, tokens=made[0], others=made[1])


async def test_g9_a_token_that_lasts_is_used_as_it_is(tmp_path):
    async with vendor(tmp_path) as there:
        login = await there.tokens.current()

    assert (login.access, there.logins.renewals) == ("access-0", [])


@pytest.mark.parametrize("ends", [SOON, GONE])
async def test_g9_many_calls_at_once_renew_a_token_once(tmp_path, ends):
    """G9: also those of another process, which would end each other's tokens."""
    seen = []

    async def call(tokens):
        seen.append((await tokens.current()).access)

    async with vendor(tmp_path, ends) as there, anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(call, there.tokens)
            group.start_soon(call, there.others)

    assert seen == ["access-1"] * 8
    (renewal,) = there.logins.renewals
    assert renewal["scope"] == "user:inference user:profile"
    stored = json.loads(there.file.read_text())["claudeAiOauth"]
    assert (stored["refreshToken"], stored["subscriptionType"]) == ("refresh-1", "max")
    assert there.file.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in there.file.parent.iterdir()] == [".credentials.json"]


async def test_g9_a_refused_token_is_renewed_unless_another_call_has_done_it(tmp_path):
    async with vendor(tmp_path) as there:
        old = await there.tokens.current()
        renewed = [(await each.renew(old)).access for each in (there.tokens, there.others)]

    assert renewed == ["access-1", "access-1"]
    assert len(there.logins.renewals) == 1


async def test_g9_a_login_that_has_ended_is_asked_for_once(tmp_path):
    async with vendor(tmp_path, GONE) as there:
        there.logins.is_over = True
        for _ in range(3):
            with pytest.raises(LoginError, match="log in again with `allstop agents login`"):
                await there.tokens.current()

    assert len(there.logins.renewals) == 1


@pytest.mark.parametrize(("ends", "is_used"), [(SOON, True), (GONE, False)])
async def test_g9_while_the_vendor_is_away_a_token_is_used_to_its_end(tmp_path, ends, is_used):
    async with vendor(tmp_path, ends):
        pass
    tokens = tokens_at("http://127.0.0.1:9", tmp_path / "it")

    if is_used:
        assert (await tokens.current()).access == "access-0"
    else:
        with pytest.raises(UpstreamError, match="connection"):
            await tokens.current()


async def test_g9_a_renewal_is_stored_although_its_turn_is_stopped(tmp_path):
    """G9, K2: the vendor has ended the old tokens by then."""
    async with vendor(tmp_path, GONE) as there:
        with anyio.CancelScope() as turn:
            turn.cancel()
            await there.tokens.current()

    assert turn.cancelled_caught or there.logins.renewals
    assert json.loads(there.file.read_text())["claudeAiOauth"]["accessToken"] == there.logins.access


async def test_g9_without_a_token_for_renewals_the_vendor_decides(tmp_path):
    async with vendor(tmp_path, GONE) as there:
        own = json.loads(there.file.read_text())
        own["claudeAiOauth"]["refreshToken"] = None
        there.file.write_text(json.dumps(own))
        login = await there.tokens.current()
        with pytest.raises(LoginError, match="has ended"):
            await there.tokens.renew(login)

    assert (login.access, there.logins.renewals) == ("access-0", [])


def home_with(tmp_path, name):
    home, secret = tmp_path / "home", tmp_path / "secret"
    secret.mkdir(exist_ok=True)
    (secret / "auth.json").write_text(codex_file(Logins(), CLOCK.now() + LATER))
    home.mkdir()
    match name:
        case "a linked folder":
            (home / ".codex").symlink_to(secret)
        case "a linked file":
            (home / ".codex").mkdir()
            (home / ".codex" / "auth.json").symlink_to(secret / "auth.json")
        case "a pipe":
            (home / ".codex").mkdir()
            os.mkfifo(home / ".codex" / "auth.json")
        case "a folder":
            (home / ".codex" / "auth.json").mkdir(parents=True)
        case "a large file":
            (home / ".codex").mkdir()
            with (home / ".codex" / "auth.json").open("wb") as file:
                file.truncate(10**9)
    return home


@pytest.mark.parametrize(
    "name", ["nothing", "a linked folder", "a linked file", "a pipe", "a folder", "a large file"]
)
def test_g9_what_an_agent_may_have_left_in_the_home_is_not_followed(tmp_path, name):
    assert stored_login(LoginKind.CODEX, home_with(tmp_path, name)) is None
