"""Sends an alert through apprise, which supports over a hundred services by URL."""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import TYPE_CHECKING

from allstop.adapters.notify.webhook import PRIVATE_HINT
from allstop.addresses.background_call import run_in_thread
from allstop.addresses.resolved_address import (
    NoAddressError,
    RefusedError,
    Resolve,
    check_host,
    resolve,
)
from allstop.views.alerts import Alert, Level

if TYPE_CHECKING:
    from apprise import NotifyBase

MISSING = 'apprise is not installed: in the clone of Allstop, pipx install --force ".[notify]"'

_KINDS = {
    Level.INFO: "info",
    Level.NEEDS_YOU: "warning",
    Level.ERROR: "failure",
    Level.DONE: "success",
    Level.STOPPED: "warning",
}

_MENTIONS = re.compile(r"(?<!\w)@(?=\w)|<(?=[!@#])")
"""Mentions that notify everybody in a chat, such as `@here`: agents may write them."""


def _defuse(found: re.Match[str]) -> str:
    return "\N{FULLWIDTH COMMERCIAL AT}" if found[0] == "@" else "("


def is_installed() -> bool:
    return find_spec("apprise") is not None


class Service:
    def __init__(self, url: str, *, private: bool = False, resolve: Resolve = resolve) -> None:
        self._url = url
        self._private = private
        self._resolve = resolve
        self._service: NotifyBase | None = None

    @property
    def name(self) -> str:
        return f"{self._url.partition('://')[0]}://***"

    async def tell(self, alert: Alert) -> str:
        if not is_installed():
            return MISSING
        service = self._service = self._service or await run_in_thread(lambda: _create(self._url))
        if service is None:
            return "apprise doesn't support this address"
        try:
            await self._check(service)
        except RefusedError as refused:
            return str(refused)
        was_sent = await run_in_thread(lambda: _notify(service, alert))
        return "" if was_sent else "apprise could not deliver it"

    async def _check(self, service: NotifyBase) -> None:
        """Check the host if the URL names one; most URLs name an account at a known service."""
        mail_host: str = getattr(service, "smtp_host", "") or ""
        templates: tuple[str, ...] = service.templates
        named = ["{host}" in template for template in templates]
        if not mail_host and not any(named):
            return
        try:
            await check_host(
                mail_host or str(service.host),
                self._resolve,
                private=self._private,
                hint=PRIVATE_HINT,
            )
        except NoAddressError:
            if mail_host or all(
                named
            ):  # else the host part may be something else, as in ntfy://topic
                raise


def _create(url: str) -> NotifyBase | None:
    """Create the service; redirects are switched off even if the URL asks for them."""
    from apprise import Apprise, AppriseAsset

    service = Apprise.instantiate(url, asset=AppriseAsset(http_redirects=False))
    if service is not None:
        service.redirects = False
    return service


def _notify(service: NotifyBase, alert: Alert) -> bool:
    """Send plain text: for HTML and Markdown services, apprise escapes it."""
    title, text = (_MENTIONS.sub(_defuse, part) for part in (alert.title, alert.text))
    kind = _KINDS[alert.level]
    return bool(
        service.notify(body=text or title, title=title, notify_type=kind, body_format="text")
    )
