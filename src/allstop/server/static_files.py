"""The static files of the page, and the pages shown before sign-in and without a build."""

import re
from collections.abc import Mapping
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

_PLAIN = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Allstop</title><h1>{title}</h1>{text}
"""

LOG_IN = _PLAIN.format(
    title="This browser isn't signed in",
    text="<p>Run <code>allstop up --open</code> in the repository. It opens this page with a key "
    "that works once; you don't have to type anything here.</p>",
)
LINK_EXPIRED = _PLAIN.format(
    title="This sign-in link doesn't work any more",
    text="<p>A link works once, and for 15 minutes. Run <code>allstop up --open</code> in the "
    "repository for a new one. To stop everything, run <code>allstop stop</code>.</p>",
)
COOKIE_INVALID = _PLAIN.format(
    title="This browser isn't signed in",
    text="<p>Its cookie isn't valid: the token has changed, or another page on this computer has "
    "replaced the cookie. Run <code>allstop up --open</code> in the repository to sign in again. "
    "To stop everything, run <code>allstop stop</code>.</p>",
)
NOT_BUILT = _PLAIN.format(
    title="The page is not built",
    text="<p>In a checkout of the source, run <code>make web</code>, then start "
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
