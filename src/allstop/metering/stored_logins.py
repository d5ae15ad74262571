"""Logins as Codex and Claude Code store them: their tokens, renewals, and placeholders for boxes."""

import base64
import binascii
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from msgspec import Struct

PLACEHOLDER = "allstop-placeholder"
"""What stands for each token, and for a key, in a box."""

_FAR = datetime(2100, 1, 1, tzinfo=UTC)
_EARLY = timedelta(minutes=5)
"""A token is renewed this long before it expires."""

_ISO = "%Y-%m-%dT%H:%M:%SZ"


CLAUDE_TOKEN = "sk-ant-oat"  # noqa: S105 - how those of `claude setup-token` begin


def is_claude_token(key: str) -> bool:
    """Whether it is a token of a subscription, which is sent in another header than a key."""
    return key.startswith(CLAUDE_TOKEN)


class LoginKind(StrEnum):
    """Whose login it is; it decides about the file's format and the renewal's address."""

    CODEX = "codex"
    CLAUDE = "claude"


CLIENTS = {
    LoginKind.CODEX: "app_EMoamEEZ73f0CkXaXp7hrann",
    LoginKind.CLAUDE: "9d1c250a-e61b-44d9-88ed-5944d1962f5e",
}
"""The public names by which the programs themselves renew their logins."""


class StoredLogin(Struct, frozen=True, kw_only=True):
    """The login in one program's file."""

    kind: LoginKind
    access: str
    refresh: str = ""  # "": it can't be renewed
    expires_at: datetime | None = None
    account: str = ""  # of ChatGPT, which each call names
    stored: Mapping[str, Any]  # the whole file

    def __repr__(self) -> str:
        return f"StoredLogin({self.kind})"

    def is_fresh(self, now: datetime) -> bool:
        return self.expires_at is None or now + _EARLY < self.expires_at


def read_login(kind: LoginKind, data: bytes) -> StoredLogin | None:
    """The login in a file; None if it holds no tokens in the known form, as one with a key does."""
    stored = _object(data)
    login = _codex(stored) if kind is LoginKind.CODEX else _claude(stored)
    texts = (login.access, login.refresh, login.account)
    return login if login.access and all(map(_is_plain, texts)) else None


def renewal_request(login: StoredLogin) -> bytes:
    """The body that asks the vendor for new tokens."""
    request = {
        "client_id": CLIENTS[login.kind],
        "grant_type": "refresh_token",
        "refresh_token": login.refresh,
    }
    if login.kind is LoginKind.CLAUDE and (scopes := _words(_tokens(login).get("scopes"))):
        request["scope"] = " ".join(scopes)
    return json.dumps(request).encode()


def renewed(login: StoredLogin, reply: bytes, now: datetime) -> StoredLogin | None:
    """The login with the tokens of the vendor's answer; None if it has none.

    All else in the file stays. A vendor may keep the token for renewals.
    """
    given = _object(reply)
    if not (access := _text(given.get("access_token"))):
        return None
    refresh = _text(given.get("refresh_token")) or login.refresh
    new: dict[str, Any]
    match login.kind:
        case LoginKind.CODEX:
            tokens = {**_tokens(login), "access_token": access, "refresh_token": refresh}
            if named := _text(given.get("id_token")):
                tokens["id_token"] = named
            new = {"tokens": tokens, "last_refresh": now.strftime(_ISO)}
        case LoginKind.CLAUDE:
            lasts = given.get("expires_in")
            lasts = lasts if isinstance(lasts, int) and 0 < lasts < 10**9 else 3600
            ends = int((now + timedelta(seconds=lasts)).timestamp() * 1000)
            tokens = {**_tokens(login), "accessToken": access, "refreshToken": refresh}
            new = {"claudeAiOauth": {**tokens, "expiresAt": ends}}
    return read_login(login.kind, json.dumps({**login.stored, **new}).encode())


def placeholder_file(login: StoredLogin, now: datetime) -> str:
    """The program's file for a box: no token, but the plan, by which it chooses its model."""
    made: dict[str, Any]
    match login.kind:
        case LoginKind.CODEX:
            made = {
                "OPENAI_API_KEY": None,
                "tokens": {**_placeholder_tokens(login), "account_id": PLACEHOLDER},
                "last_refresh": now.strftime(_ISO),
            }
        case LoginKind.CLAUDE:
            tokens = _tokens(login)
            kept = {n: tokens[n] for n in ("scopes", "subscriptionType", "rateLimitTier") if n in tokens}  # fmt: skip
            far = int(_FAR.timestamp() * 1000)
            made = {
                "claudeAiOauth": {
                    **kept,
                    "accessToken": PLACEHOLDER,
                    "refreshToken": PLACEHOLDER,
                    "expiresAt": far,
                }
            }
    return json.dumps(made)


def placeholder_answer(login: StoredLogin) -> bytes:
    """What a box gets if it asks for new tokens: the gateway renews the real ones."""
    return json.dumps(_placeholder_tokens(login)).encode()


def _codex(stored: dict[str, Any]) -> StoredLogin:
    tokens = _dict(stored.get("tokens"))
    access, named = _text(tokens.get("access_token")), _claims(tokens.get("id_token"))
    account = _text(tokens.get("account_id")) or _text(_openai(named).get("chatgpt_account_id"))
    return StoredLogin(
        kind=LoginKind.CODEX,
        access=access,
        refresh=_text(tokens.get("refresh_token")),
        expires_at=_instant(_claims(access).get("exp"), 1),
        account=account,
        stored=stored,
    )


def _claude(stored: dict[str, Any]) -> StoredLogin:
    tokens = _dict(stored.get("claudeAiOauth"))
    return StoredLogin(
        kind=LoginKind.CLAUDE,
        access=_text(tokens.get("accessToken")),
        refresh=_text(tokens.get("refreshToken")),
        expires_at=_instant(tokens.get("expiresAt"), 1000),
        stored=stored,
    )


def _tokens(login: StoredLogin) -> dict[str, Any]:
    name = "tokens" if login.kind is LoginKind.CODEX else "claudeAiOauth"
    return _dict(login.stored.get(name))


def _placeholder_tokens(login: StoredLogin) -> dict[str, str]:
    """Codex reads the claims in its tokens, and doesn't check their signatures."""
    plan = _text(_openai(_claims(_tokens(login).get("id_token"))).get("chatgpt_plan_type"))
    about = {"chatgpt_account_id": PLACEHOLDER, "chatgpt_user_id": PLACEHOLDER}
    claims = {
        "exp": int(_FAR.timestamp()),
        "email": "agent@allstop.invalid",
        _CLAIMS_OF_OPENAI: {**about, **({"chatgpt_plan_type": plan} if plan else {})},
    }
    token = ".".join((_encoded({"alg": "none", "typ": "JWT"}), _encoded(claims), "none"))
    return {"id_token": token, "access_token": token, "refresh_token": PLACEHOLDER}


_CLAIMS_OF_OPENAI = "https://api.openai.com/auth"


def _openai(claims: Mapping[str, Any]) -> dict[str, Any]:
    return _dict(claims.get(_CLAIMS_OF_OPENAI))


def _encoded(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def _claims(token: object) -> dict[str, Any]:
    """What a JSON web token says; the vendor checks its signature, not Allstop."""
    parts = _text(token).split(".")
    if len(parts) != 3:
        return {}
    try:
        return _object(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (binascii.Error, ValueError):
        return {}


def _instant(value: object, per_second: int) -> datetime | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return datetime.fromtimestamp(value / per_second, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _is_plain(text: str) -> bool:
    """Whether it can stand in a header."""
    return text.isascii() and (not text or (text.isprintable() and " " not in text))


def _object(data: bytes) -> dict[str, Any]:
    try:
        return _dict(json.loads(data))
    except (ValueError, RecursionError):
        return {}


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _words(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
