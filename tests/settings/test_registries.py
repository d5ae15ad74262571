"""G1: the package registries that lock files name, and the public one where they name none."""

import pytest

from allstop.settings.detection.registries import (
    MAX_HOSTS,
    PUBLIC,
    Ecosystem,
    is_lock_file,
    registries_in,
)
from support.cases import for_each

PYTHON, NPM, YARN = PUBLIC[Ecosystem.PYTHON], PUBLIC[Ecosystem.NPM], PUBLIC[Ecosystem.YARN]
CARGO, GO = PUBLIC[Ecosystem.CARGO], PUBLIC[Ecosystem.GO]
CRATES = "registry+https://github.com/rust-lang/crates.io-index"


@pytest.mark.parametrize(
    ("name", "text", "hosts"),
    [
        ("requirements.txt", "requests==2.0 --hash=sha256:00\n", PYTHON),
        ("requirements-dev.txt", "-r requirements.txt\nrequests\n", PYTHON),
        ("requirements.txt", "--index-url https://p.example/simple\nrequests==2\n", ("p.example",)),
        (
            "requirements.txt",
            "--extra-index-url https://p.example/simple\nrequests==2\n",
            ("p.example", *PYTHON),
        ),
        (
            "requirements.txt",
            "--index-url https://p.example\na @ git+https://me:pw@git.example:8443/a.git@v1\n",
            ("p.example", "git.example:8443"),
        ),
        ("requirements.txt", "# see https://docs.example/x\n", ()),
        ("uv.lock", 'source = { registry = "https://p.example/simple" }\n', ("p.example",)),
        ("uv.lock", f'source = {{ registry = "https://{PYTHON[0]}/simple" }}\n', PYTHON),
        (
            "uv.lock",
            'registry = "https://p.example/simple"\nurl = "https://files.example/a.tar.gz"\n',
            ("p.example", "files.example"),
        ),
        ("poetry.lock", '[[package]]\nname = "a"\n', PYTHON),
        ("poetry.lock", '[package.source]\ntype = "legacy"\nurl = "https://p.example/simple"\n', ("p.example",)),
        ("Pipfile.lock", '{"_meta": {"sources": [{"url": "https://p.example/simple"}]}}', ("p.example",)),
        ("package-lock.json", '{"lockfileVersion": 3, "packages": {}}', NPM),
        ("package-lock.json", '{"resolved": "https://n.example/a.tgz", "funding": "https://f.example"}', ("n.example",)),
        ("package-lock.json", '{"resolved": "git+ssh://git@git.example/a.git#1"}', NPM),
        ("pnpm-lock.yaml", "lockfileVersion: '9.0'\n", NPM),
        ("pnpm-lock.yaml", "resolution: {integrity: x, tarball: https://n.example/a.tgz}\n", ("n.example",)),
        ("yarn.lock", 'a@^1:\n  resolved "https://n.example/a.tgz#00"\n', ("n.example",)),
        ("yarn.lock", '"a@npm:^1":\n  resolution: "a@npm:1.0.0"\n', YARN),
        ("Cargo.lock", f'source = "{CRATES}"\n', CARGO),
        ("Cargo.lock", '[[package]]\nname = "own"\n', CARGO),
        ("Cargo.lock", 'source = "sparse+https://c.example/index/"\n', ("c.example",)),
        (
            "Cargo.lock",
            f'source = "{CRATES}"\nsource = "git+https://git.example/a?rev=1#1"\n',
            (*CARGO, "git.example"),
        ),
        ("go.sum", "example.com/a v1.0.0 h1:x\n", GO),
        ("go.mod", "module example.com/own\n", GO),
        ("package.json", '{"resolved": "https://n.example/a.tgz"}', ()),
    ],
)  # fmt: skip
def test_g1_the_registries_of_a_lock_file(name, text, hosts):
    assert registries_in(name, text) == hosts


@for_each(
    "text",
    ["", "\0\xff", "https://", "https://[", "https://a:b:c@d", 'url = "https://127.0.0.1/x"',
     'url = "https://localhost/x"', 'url = "https://10.0.0.1:8443"', 'url = "http://p.example/simple"',
     'url = "https://p.example:99999/x"', 'url = "https://p.example\\n.evil.example"'],
)  # fmt: skip
def test_g1_what_is_no_host_is_left_out(text):
    assert set(registries_in("poetry.lock", text)) <= {*PYTHON, "p.example"}


def test_g1_a_lock_file_names_a_bounded_number_of_hosts():
    text = "".join(f'url = "https://h{number}.example/"\n' for number in range(500))

    assert len(registries_in("poetry.lock", text)) == MAX_HOSTS


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("uv.lock", True),
        ("requirements-dev.txt", True),
        ("requirements.in", False),
        ("lock", False),
    ],
)
def test_g1_lock_files_are_known_by_name(name, is_one):
    assert is_lock_file(name) is is_one
