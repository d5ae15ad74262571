"""The page's files: only those there are, kept for long where their name says what is in them."""

import gzip

import pytest
from starlette.requests import Request

from allstop.server.static_files import NOT_BUILT, files_in, page


@pytest.fixture
def built(tmp_path):
    (tmp_path / "assets").mkdir()
    for name, text in {
        "index.html": "<!doctype html>the page",
        "assets/index-CccNnXkD.js": "a script",
        "icon.svg": "<svg/>",
        ".hidden": "x",
        "notes.txt": "x",
    }.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "assets" / "index-CccNnXkD.js.gz").write_bytes(gzip.compress(b"a script"))
    (tmp_path / "out.js").symlink_to("/etc/passwd")
    return files_in(tmp_path)


def _asked(path, **headers):
    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "method": "GET", "path": path, "headers": pairs})


def test_only_files_of_known_kinds_are_served(built):
    assert set(built) == {"/index.html", "/assets/index-CccNnXkD.js", "/icon.svg"}


def test_a_file_whose_name_has_a_hash_is_kept_and_the_page_is_not(built):
    script = page(built, _asked("/assets/index-CccNnXkD.js"))
    index = page(built, _asked("/"))

    assert script.headers["cache-control"] == "private, max-age=31536000, immutable"
    assert script.headers["content-type"].startswith("text/javascript")
    assert script.body == b"a script"
    assert index.headers["cache-control"] == "no-store"
    assert page(built, _asked("/icon.svg")).headers["cache-control"] == "no-store"


def test_whoever_takes_gzip_gets_it(built):
    answer = page(built, _asked("/assets/index-CccNnXkD.js", accept_encoding="br, gzip"))

    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["vary"] == "accept-encoding"
    assert gzip.decompress(answer.body) == b"a script"


def test_an_upgrade_under_a_server_that_runs_does_not_mix_two_pages(tmp_path):
    script = tmp_path / "index-CccNnXkD.js"
    script.write_text("of this version")
    files = files_in(tmp_path)
    script.unlink()

    assert page(files, _asked("/index-CccNnXkD.js")).body == b"of this version"


@pytest.mark.parametrize("path", ["/", "/board", "/runs/board/T1.1", "/rooms/default"])
def test_the_page_has_addresses_of_its_own(built, path):
    assert page(built, _asked(path, accept="text/html")).body == b"<!doctype html>the page"


@pytest.mark.parametrize("path", ["/nothing.js", "/../x", "//x", "/.git/config", "/a/../b"])
def test_there_is_nothing_else(built, path):
    assert page(built, _asked(path, accept="*/*")) is None
    if path != "/nothing.js":
        assert page(built, _asked(path, accept="text/html")) is None


def test_where_there_is_no_page_that_is_said(tmp_path):
    answer = page(files_in(tmp_path / "nowhere"), _asked("/"))

    assert answer.body.decode() == NOT_BUILT
