"""An alert as JSON to an http address: to the very host that was checked, and no further."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from allstop.adapters.notify.background_call import aside
from allstop.adapters.notify.resolved_address import RefusedError, Resolve, checked, resolve
from allstop.views.alerts import Alert

if TYPE_CHECKING:
    import httpx2

PATIENCE_S = 5.0
MOST_BYTES = 64 * 1024


class Webhook:
    def __init__(self, url: str, *, private: bool = False, resolve: Resolve = resolve) -> None:
        self._url = url
        self._private = private
        self._resolve = resolve

    @property
    def name(self) -> str:
        """The path of a webhook is often its password."""
        parts = urlsplit(self._url)
        return f"{parts.scheme}://{parts.hostname}"

    async def tell(self, alert: Alert) -> str:
        host = urlsplit(self._url).hostname
        if not host:
            return "the address has no host in it"
        try:
            address = await checked(host, self._resolve, private=self._private)
        except RefusedError as refused:
            return str(refused)
        async with await aside(_client) as client:
            return await _sent(client, self._url, str(address), alert)


async def _sent(client: httpx2.AsyncClient, url: str, address: str, alert: Alert) -> str:
    import httpx2

    try:
        return await _post(client, httpx2.URL(url), address, alert)
    except httpx2.TimeoutException:
        return f"no answer within {PATIENCE_S:g} s"
    except httpx2.HTTPError as error:
        return f"it can't be reached ({type(error).__name__})"
    except httpx2.InvalidURL:
        return "the address makes no sense"


def _client() -> httpx2.AsyncClient:
    """No proxies and no passwords from the environment; to read the certificates takes a while."""
    import httpx2

    return httpx2.AsyncClient(trust_env=False, follow_redirects=False, timeout=PATIENCE_S)


async def _post(client: httpx2.AsyncClient, url: httpx2.URL, address: str, alert: Alert) -> str:
    request = client.build_request(
        "POST",
        url.copy_with(host=address),
        content=msgspec.json.encode(alert),
        headers={"host": url.netloc.decode("ascii"), "content-type": "application/json"},
        extensions={"sni_hostname": url.host},
    )
    response = await client.send(request, stream=True)
    try:
        size = 0
        async for chunk in response.aiter_raw():
            size += len(chunk)
            if size > MOST_BYTES:
                return f"it answered with more than {MOST_BYTES // 1024} kB"
    finally:
        await response.aclose()
    if response.is_redirect:
        return f"it wants to send us elsewhere ({response.status_code}); that is not followed"
    return "" if response.is_success else f"it answered {response.status_code}"
