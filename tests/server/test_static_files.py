"""The page's files: only known types are served; those with a hash in their name are cached."""

import gzip

import pytest
from starlette.requests import Request

from allstop.server.static_files import NOT_BUILT, load_files, page


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
    return load_files(tmp_path)


def _request(path, **headers):
    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "method": "GET", "path": path, "headers": pairs})


def test_only_files_of_known_types_are_served(built):
    assert set(built) == {"/index.html", "/assets/index-CccNnXkD.js", "/icon.svg"}


def test_a_file_with_a_hash_in_its_name_is_cached_and_the_page_is_not(built):
    script = page(built, _request("/assets/index-CccNnXkD.js"))
    index = page(built, _request("/"))

    assert script.headers["cache-control"] == "private, max-age=31536000, immutable"
    assert script.headers["content-type"].startswith("text/javascript")
    assert script.body == b"a script"
    assert index.headers["cache-control"] == "no-store"
    assert page(built, _request("/icon.svg")).headers["cache-control"] == "no-store"


def test_a_client_that_accepts_gzip_gets_gzip(built):
    answer = page(built, _request("/assets/index-CccNnXkD.js", accept_encoding="br, gzip"))

    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["vary"] == "accept-encoding"
    assert gzip.decompress(answer.body) == b"a script"


def test_an_upgrade_while_the_server_runs_does_not_mix_two_pages(tmp_path):
    script = tmp_path / "index-CccNnXkD.js"
    script.write_text("of this version")
    files = load_files(tmp_path)
    script.unlink()

    assert page(files, _request("/index-CccNnXkD.js")).body == b"of this version"


@pytest.mark.parametrize("path", ["/", "/board", "/runs/board/T1.1", "/rooms/default"])
def test_addresses_of_the_page_return_the_page(built, path):
    assert page(built, _request(path, accept="text/html")).body == b"<!doctype html>the page"


@pytest.mark.parametrize("path", ["/nothing.js", "/../x", "//x", "/.git/config", "/a/../b"])
def test_other_paths_are_not_found(built, path):
    assert page(built, _request(path, accept="*/*")) is None
    if path != "/nothing.js":
        assert page(built, _request(path, accept="text/html")) is None


def test_without_a_built_page_a_message_says_so(tmp_path):
    answer = page(load_files(tmp_path / "nowhere"), _request("/"))

    assert answer.body.decode() == NOT_BUILT
