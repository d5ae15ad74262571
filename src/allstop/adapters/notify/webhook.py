"""Posts an alert as JSON to a webhook, at the checked address, without following redirects."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from allstop.addresses.background_call import run_in_thread
from allstop.addresses.resolved_address import RefusedError, Resolve, check_host, resolve
from allstop.views.alerts import Alert

if TYPE_CHECKING:
    import httpx2

TIMEOUT_S = 5.0
MAX_BYTES = 64 * 1024

PRIVATE_HINT = "`private = true` in [notify] allows it"


class Webhook:
    def __init__(self, url: str, *, private: bool = False, resolve: Resolve = resolve) -> None:
        self._url = url
        self._private = private
        self._resolve = resolve

    @property
    def name(self) -> str:
        """Without the path, which is often the password of a webhook."""
        parts = urlsplit(self._url)
        return f"{parts.scheme}://{parts.hostname}"

    async def tell(self, alert: Alert) -> str:
        host = urlsplit(self._url).hostname
        if not host:
            return "the address has no host"
        try:
            address, *_ = await check_host(
                host, self._resolve, private=self._private, hint=PRIVATE_HINT
            )
        except RefusedError as refused:
            return str(refused)
        async with await run_in_thread(_client) as client:
            return await _send(client, self._url, str(address), alert)


async def _send(client: httpx2.AsyncClient, url: str, address: str, alert: Alert) -> str:
    import httpx2

    try:
        return await _post(client, httpx2.URL(url), address, alert)
    except httpx2.TimeoutException:
        return f"no answer within {TIMEOUT_S:g} s"
    except httpx2.HTTPError as error:
        return f"the webhook can't be reached ({type(error).__name__})"
    except httpx2.InvalidURL:
        return "the address isn't a valid URL"


def _client() -> httpx2.AsyncClient:
    """Without proxies and passwords from the environment. Slow: it reads the certificates."""
    import httpx2

    return httpx2.AsyncClient(trust_env=False, follow_redirects=False, timeout=TIMEOUT_S)


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
            if size > MAX_BYTES:
                return f"the answer has more than {MAX_BYTES // 1024} kB"
    finally:
        await response.aclose()
    if response.is_redirect:
        return f"the webhook redirects ({response.status_code}); redirects are not followed"
    return "" if response.is_success else f"the webhook answered {response.status_code}"
