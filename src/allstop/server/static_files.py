"""The static files of the page, and the pages shown before sign-in and without a build."""

import re
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

import allstop

FOLDER = Path(allstop.__file__).parent / "_web"

_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
_HASHED = re.compile(r".*[-.][A-Za-z0-9_-]{8,}\.[a-z0-9]+")
_ADDRESS = re.compile(r"/|(?:/[\w:~@-][\w.:~@-]*)+")
_CACHE_FOREVER = "private, max-age=31536000, immutable"

STYLE = """
:root { color-scheme: light dark }
body { display: grid; min-height: 100dvh; margin: 0; place-items: center;
  background: light-dark(#f4f5f7, #0d1014); color: light-dark(#15191f, #e4e8ed);
  font: 0.875rem/1.5 system-ui, sans-serif }
main { box-sizing: border-box; width: min(26rem, 100% - 2rem); padding: 2rem; text-align: center;
  border: 1px solid light-dark(#dcdfe4, #262c35); border-radius: 10px;
  background: light-dark(#fff, #14181e) }
main::before { content: ""; display: block; width: 2rem; height: 2rem; margin: 0 auto 1rem;
  background: currentColor; clip-path: polygon(30% 0, 70% 0, 100% 30%, 100% 70%, 70% 100%, 30% 100%,
  0 70%, 0 30%) }
h1 { margin: 0 0 0.5rem; font-size: 1.25rem }
p { margin: 0 0 1rem; color: light-dark(#545d69, #9aa4b1) }
p.refused { color: light-dark(#835000, #ecb957) }
code { font-family: ui-monospace, monospace; color: light-dark(#15191f, #e4e8ed) }
form { display: flex; gap: 0.5rem }
label { flex: 1; display: grid; gap: 0.25rem; text-align: left }
input, button { box-sizing: border-box; min-height: 40px; font: inherit; border-radius: 6px }
input { width: 100%; padding: 0 0.75rem; border: 1px solid light-dark(#8b94a1, #5a6472);
  background: none; color: inherit }
button { align-self: end; padding: 0 1rem; border: 0; font-weight: 500;
  background: light-dark(#2257c4, #8ab0ff); color: light-dark(#fff, #0b1220) }
"""

STYLE_SOURCE = f"'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'"
"""Lets the content security policy allow this style and no other inline one."""

_PLAIN = """<!doctype html>
<html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Allstop</title><style>{style}</style><main><h1>{title}</h1>{text}</main>
"""

_SIGN_IN = """<p>Open the address that <code>allstop up</code> printed, or run
<code>allstop up --open</code> in the repository.</p>
{note}<form action="/" autocomplete="off"><label>Key
<input name="key" required placeholder="the part after key=" spellcheck="false"></label>
<button>Sign in</button></form>"""


def _plain(title: str, text: str) -> str:
    return _PLAIN.format(style=STYLE, title=title, text=text)


LOG_IN = _plain("This browser isn't signed in", _SIGN_IN.format(note=""))
LINK_EXPIRED = _plain(
    "This sign-in link doesn't work any more",
    _SIGN_IN.format(
        note='<p class="refused" role="alert">A link works once, and for 15 minutes. To stop '
        "everything, run <code>allstop stop</code>.</p>"
    ),
)
COOKIE_INVALID = _plain(
    "This browser isn't signed in",
    _SIGN_IN.format(
        note='<p class="refused" role="alert">Its cookie isn\'t valid: the token has changed, or '
        "another page on this computer has replaced the cookie. To stop everything, run "
        "<code>allstop stop</code>.</p>"
    ),
)
NOT_BUILT = _plain(
    "The page is not built",
    "<p>In a checkout of the source, run <code>make web</code>, then start "
    "<code>allstop up</code> again. You can also do everything in a terminal: see "
    "<code>allstop --help</code>. The API is at <code>/api/v1</code>.</p>",
)


class File(NamedTuple):
    body: bytes
    kind: str
    cache: str
    gzipped: bytes | None


def load_files(folder: Path) -> dict[str, File]:
    """Read every served file, by its path in the URL.

    They are read once, so that an upgrade doesn't mix files of two versions.
    """
    found = {}
    for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
        name = path.relative_to(folder).as_posix()
        if path.is_symlink() or not path.is_file() or path.suffix not in _MEDIA_TYPES:
            continue
        gzipped = path.with_name(f"{path.name}.gz")
        cache = _CACHE_FOREVER if _HASHED.fullmatch(path.name) else "no-store"
        found[f"/{name}"] = File(
            path.read_bytes(),
            _MEDIA_TYPES[path.suffix],
            cache,
            gzipped.read_bytes() if gzipped.is_file() else None,
        )
    return found


def page(files: Mapping[str, File], request: Request) -> Response | None:
    """Return the file of a path, or the page for the paths that it routes itself; else None."""
    path = request.scope["path"]
    if path in files:
        return _answer(files[path], request)
    is_page = path == "/" or "text/html" in request.headers.get("accept", "")
    if not is_page or not _ADDRESS.fullmatch(path):
        return None
    if "/index.html" in files:
        return _answer(files["/index.html"], request)
    return HTMLResponse(NOT_BUILT, headers={"cache-control": "no-store"})


def _answer(file: File, request: Request) -> Response:
    headers = {"cache-control": file.cache, "content-type": file.kind}
    if file.gzipped and "gzip" in request.headers.get("accept-encoding", ""):
        headers |= {"content-encoding": "gzip", "vary": "accept-encoding"}
        return Response(file.gzipped, headers=headers)
    return Response(file.body, headers=headers)
