"""G9: the logins that Codex and Claude Code store, and what stands for them in a box."""

import base64
import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.metering.stored_logins import (
    PLACEHOLDER,
    LoginKind,
    placeholder_answer,
    placeholder_file,
    read_login,
    renewal_request,
    renewed,
)
from allstop.testing.model_server.login_endpoint import Logins, claude_file, codex_file
from support.cases import for_each

NOW = datetime(2026, 11, 19, 12, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
STORES = {LoginKind.CODEX: codex_file, LoginKind.CLAUDE: claude_file}


def stored(kind, ends=LATER):
    return read_login(kind, STORES[kind](Logins(), ends).encode())


def claims(token):
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


@pytest.mark.parametrize("kind", LoginKind)
def test_g9_a_login_is_read_with_its_end(kind):
    login = stored(kind)

    assert (login.refresh, login.expires_at) == ("refresh-0", LATER)
    assert login.account == ("account-7" if kind is LoginKind.CODEX else "")
    assert login.is_fresh(NOW)
    assert not login.is_fresh(LATER - timedelta(minutes=1))
    assert "refresh" not in repr(login)


@for_each(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"OPENAI_API_KEY": "sk-key", "tokens": null}',
        '{"tokens": {"access_token": ""}}',
        '{"tokens": {"access_token": 5}, "claudeAiOauth": []}',
        '{"tokens": {"access_token": "a\\r\\nhost: evil"}}',
        '{"tokens": {"access_token": "a", "account_id": "a\\nb"}}',
        '{"claudeAiOauth": {"accessToken": "n\\u00e4me"}}',
        "[" * 100_000,
    ],
)
def test_g9_a_file_without_usable_tokens_is_no_login(text):
    """G9: a value that could break out of a header is none."""
    assert [read_login(kind, text.encode()) for kind in LoginKind] == [None, None]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda each: st.lists(each) | st.dictionaries(st.text(), each),
)
NAMES = st.sampled_from(["access_token", "refresh_token", "account_id", "id_token", "accessToken", "expiresAt"])  # fmt: skip


@given(st.dictionaries(NAMES, JSON | st.just("a.b.c")))
def test_g9_no_file_breaks_the_reader(fields):
    data = json.dumps({"tokens": fields, "claudeAiOauth": fields}).encode()
    for kind in LoginKind:
        if (login := read_login(kind, data)) is not None:
            login.is_fresh(NOW)
            placeholder_file(login, NOW)
            renewal_request(login)


@pytest.mark.parametrize("kind", LoginKind)
def test_g9_a_box_gets_no_token_but_the_plan(kind):
    login = stored(kind)

    for text in (placeholder_file(login, NOW), placeholder_answer(login).decode()):
        assert PLACEHOLDER in text
        assert login.access not in text
        assert "refresh-0" not in text
        assert "someone@example.com" not in text
        assert "account-7" not in text
    made = json.loads(placeholder_file(login, NOW))
    if kind is LoginKind.CLAUDE:
        own = made["claudeAiOauth"]
        assert (own["subscriptionType"], own["expiresAt"]) == ("max", 4_102_444_800_000)
    else:
        told = claims(made["tokens"]["id_token"])
        assert told["https://api.openai.com/auth"]["chatgpt_plan_type"] == "plus"
        assert told["exp"] == 4_102_444_800
        assert base64.urlsafe_b64encode(b"account-7").decode()[:10] not in str(made)


@pytest.mark.parametrize("kind", LoginKind)
def test_g9_a_renewal_replaces_the_tokens_and_keeps_all_else(kind):
    login = stored(kind)
    reply = {"access_token": "new", "refresh_token": "next", "expires_in": 60}

    new = renewed(login, json.dumps(reply).encode(), NOW)
    kept = renewed(login, b'{"access_token": "new"}', NOW)

    assert (new.access, new.refresh, kept.refresh) == ("new", "next", "refresh-0")
    assert set(new.stored) == set(login.stored)
    if kind is LoginKind.CLAUDE:
        assert new.expires_at == NOW + timedelta(minutes=1)
        assert new.stored["claudeAiOauth"]["subscriptionType"] == "max"
    else:
        assert new.account == "account-7"
        assert new.stored["last_refresh"] == "2026-11-19T12:00:00Z"


@for_each("reply", [b"", b"{}", b"[]", b'{"access_token": ""}', b'{"access_token": "a b"}'])
def test_g9_an_answer_without_a_token_is_no_renewal(reply):
    assert [renewed(stored(kind), reply, NOW) for kind in LoginKind] == [None, None]
