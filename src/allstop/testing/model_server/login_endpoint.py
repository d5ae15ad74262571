"""A vendor's logins: access tokens that end, and renewals that replace both tokens."""

import base64
import json
from datetime import datetime
from typing import Any


class Logins:
    """One person's login. Only its newest access token is accepted, and each renewal once."""

    def __init__(self, access: str = "access-0", refresh: str = "refresh-0") -> None:
        self.access, self.refresh = access, refresh
        self.renewals: list[dict[str, Any]] = []
        self.is_over = False  # the vendor renews it no more

    def accepts(self, authorization: str) -> bool:
        return authorization == f"Bearer {self.access}"

    def renew(self, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """The status and the body of the answer."""
        self.renewals.append(request)
        if self.is_over or request.get("refresh_token") != self.refresh:
            return 400, {"error": "invalid_grant", "error_description": "it was used already"}
        number = len(self.renewals)
        self.access, self.refresh = f"access-{number}", f"refresh-{number}"
        return 200, {
            "access_token": self.access,
            "refresh_token": self.refresh,
            "expires_in": 28_800,
            "token_type": "Bearer",
        }


def codex_file(logins: Logins, ends: datetime) -> str:
    """What codex stores; its access token is a JSON web token that tells when it ends."""
    about = {"chatgpt_account_id": "account-7", "chatgpt_plan_type": "plus"}
    claims = {"exp": int(ends.timestamp()), "https://api.openai.com/auth": about}
    logins.access = _web_token({**claims, "for": logins.access})
    tokens = {
        "id_token": _web_token({**claims, "email": "someone@example.com"}),
        "access_token": logins.access,
        "refresh_token": logins.refresh,
        "account_id": "account-7",
    }
    stored = {"OPENAI_API_KEY": None, "tokens": tokens, "last_refresh": "2026-01-01T00:00:00Z"}
    return json.dumps(stored)


def claude_file(logins: Logins, ends: datetime) -> str:
    """What Claude Code stores."""
    own = {
        "accessToken": logins.access,
        "refreshToken": logins.refresh,
        "expiresAt": int(ends.timestamp() * 1000),
        "scopes": ["user:inference", "user:profile"],
        "subscriptionType": "max",
    }
    return json.dumps({"claudeAiOauth": own})


def _web_token(claims: dict[str, Any]) -> str:
    parts = ({"alg": "none", "typ": "JWT"}, claims)
    encoded = (base64.urlsafe_b64encode(json.dumps(each).encode()) for each in parts)
    return ".".join((*(each.rstrip(b"=").decode() for each in encoded), "signature"))
