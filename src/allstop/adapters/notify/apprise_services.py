"""An alert through apprise, which knows a hundred services by their addresses."""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import TYPE_CHECKING

from allstop.adapters.notify.background_call import aside
from allstop.adapters.notify.resolved_address import (
    NowhereError,
    RefusedError,
    Resolve,
    checked,
    resolve,
)
from allstop.views.alerts import Alert, Level

if TYPE_CHECKING:
    from apprise import NotifyBase

MISSING = 'apprise is not installed: pip install "allstop[notify]"'

_KINDS = {
    Level.INFO: "info",
    Level.NEEDS_YOU: "warning",
    Level.ERROR: "failure",
    Level.DONE: "success",
    Level.STOPPED: "warning",
}

_CALLS = re.compile(r"(?<!\w)@(?=\w)|<(?=[!@#])")
"""What calls everybody together in a chat, as `@here` and `<!channel>` do: agents may write it."""


def _unheard(found: re.Match[str]) -> str:
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
        service = self._service = self._service or await aside(lambda: _made(self._url))
        if service is None:
            return "apprise does not understand the address"
        try:
            await self._check(service)
        except RefusedError as refused:
            return str(refused)
        told = await aside(lambda: _notify(service, alert))
        return "" if told else "apprise could not deliver it"

    async def _check(self, service: NotifyBase) -> None:
        """The host that its address names; most name an account at a host that apprise knows."""
        mail_host: str = getattr(service, "smtp_host", "") or ""
        templates: tuple[str, ...] = service.templates
        named = ["{host}" in template for template in templates]
        if not mail_host and not any(named):
            return
        try:
            await checked(mail_host or str(service.host), self._resolve, private=self._private)
        except NowhereError:
            if mail_host or all(
                named
            ):  # else it may be a name of something else, as in ntfy://topic
                raise


def _made(url: str) -> NotifyBase | None:
    """What it says of redirects in its address is its own affair; ours is that none is followed."""
    from apprise import Apprise, AppriseAsset

    service = Apprise.instantiate(url, asset=AppriseAsset(http_redirects=False))
    if service is not None:
        service.redirects = False
    return service


def _notify(service: NotifyBase, alert: Alert) -> bool:
    """As words: where a service takes HTML or Markdown, apprise writes them so that they stay words."""
    title, text = (_CALLS.sub(_unheard, said) for said in (alert.title, alert.text))
    kind = _KINDS[alert.level]
    return bool(
        service.notify(body=text or title, title=title, notify_type=kind, body_format="text")
    )
