"""G10: pip, npm and git reach an allowed host from a real box, with TLS unbroken, and no other."""

import base64
import hashlib
import io
import json
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace

from allstop.adapters.checks import BoxedChecks
from allstop.adapters.processes.sandbox_probe import make_launcher
from allstop.app.gateway.hosts import hosts_opener
from allstop.core.gate import Check
from allstop.ports import HOSTS_PORT, Box, Network
from support.tls_site import tls_site

HOST, OTHER = "files.example", "other.example"


@pytest.fixture
def anyio_backend():
    return "asyncio"


def make_wheel(folder):
    record = (
        "tinything.py,,\ntinything-1.0.dist-info/METADATA,,\ntinything-1.0.dist-info/RECORD,,\n"
    )
    files = {
        "tinything.py": "ANSWER = 42\n",
        "tinything-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tinything\nVersion: 1.0\n",
        "tinything-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "tinything-1.0.dist-info/RECORD": record,
    }
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "tinything-1.0-py3-none-any.whl", "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
    link = '<a href="tinything-1.0-py3-none-any.whl">tinything-1.0-py3-none-any.whl</a>'
    (folder / "index.html").write_text(f"<!DOCTYPE html><html><body>{link}</body></html>")


def make_npm_package(folder):
    folder.mkdir(parents=True)
    content = json.dumps({"name": "tinything", "version": "1.0.0"}).encode()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        entry = tarfile.TarInfo("package/package.json")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    (folder / "tinything.tgz").write_bytes(packed.getvalue())
    digest = base64.b64encode(hashlib.sha512(packed.getvalue()).digest()).decode()
    dist = {"tarball": f"https://{HOST}/npm/tinything.tgz", "integrity": f"sha512-{digest}"}
    version = {"name": "tinything", "version": "1.0.0", "dist": dist}
    about = {
        "name": "tinything",
        "dist-tags": {"latest": "1.0.0"},
        "versions": {"1.0.0": version},
    }
    (folder / "tinything").write_text(json.dumps(about))


def make_repository(folder):
    """Served as files: git's simplest protocol."""
    work = folder.parent / "work-of-git"
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run([*git, "init", "-q", "-b", "main", work], check=True)
    subprocess.run([*git, "-C", work, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    subprocess.run([*git, "clone", "-q", "--bare", work, folder], check=True)
    subprocess.run([*git, "-C", folder, "update-server-info"], check=True)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    root = folder / "root"
    make_wheel(root / "simple" / "tinything")
    make_npm_package(root / "npm")
    make_repository(root / "thing.git")
    with tls_site(folder / "certificates", root, HOST) as served:
        yield served


@pytest.fixture
async def check(site, tmp_path):
    """Runs a command in a box that reaches only HOST, or what it is told; returns its result."""
    launcher = await make_launcher("auto", tmp_path / "live")
    assert launcher.isolation.boxed, launcher.isolation.hint
    certificates = tmp_path / "certificates"
    certificates.mkdir()
    authority = shutil.copy(site.authority, certificates)
    for name in ("home", "work"):
        (tmp_path / name).mkdir()
    programs = Path(sys.executable).parent
    box = Box(
        home=str(tmp_path / "home"),
        workspace=str(tmp_path / "work"),
        read=(str(certificates), sys.prefix, sys.base_prefix),
        path=(str(programs), "/usr/bin", "/bin"),
        network=Network.NONE,
        hosts=(HOST,),
        env=dict.fromkeys(
            ("PIP_CERT", "npm_config_cafile", "GIT_SSL_CAINFO", "SSL_CERT_FILE"), authority
        ),
    )
    boxed = BoxedChecks(launcher, open_hosts=hosts_opener(launcher, "verification", site.connect))

    async def run(command, **how):
        asked = Check(name="install", run=command, timeout_s=100)
        return await boxed.run(asked, replace(box, **how), "run", lambda live: None)

    return run


PIP = "python -m pip --no-cache-dir --disable-pip-version-check --retries 0 --no-input"
INSTALLS = {
    "pip": (
        f"{PIP} install -q --no-deps --target here --index-url https://{{host}}/simple tinything"
        " && grep 42 here/tinything.py"
    ),
    "npm": (
        "npm install --no-audit --no-fund --fetch-retries=0 --registry=https://{host}/npm/ tinything"
        " && cat node_modules/tinything/package.json"
    ),
    "git": "git clone -q https://{host}/thing.git && git -C thing log --oneline",
}


@pytest.mark.parametrize("tool", INSTALLS)
async def test_g10_a_tool_reaches_an_allowed_host_by_https(check, site, tool):
    result = await check(INSTALLS[tool].format(host=HOST))

    assert result.passed, result.output
    assert result.unreached == ()
    assert any(each.startswith(HOST) for each in site.asked)


@pytest.mark.parametrize("tool", INSTALLS)
async def test_g10_a_tool_that_wants_another_host_is_told_what_to_add(check, site, tool):
    """G10: pip itself only says that there is no such package."""
    del site.asked[:]

    result = await check(INSTALLS[tool].format(host=OTHER))

    said = f'{OTHER} could not be reached: add "{OTHER}" to hosts in [verification] of allstop.toml'
    assert not result.passed
    assert result.unreached == (said,)
    assert result.output.endswith(f"\nAllstop: {said}")
    assert site.asked == []


SERVER = """
import threading, urllib.request, http.server
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
for name in ("127.0.0.1", "localhost"):
    assert urllib.request.urlopen(f"http://{name}:{server.server_port}/").status == 200
"""


async def test_g10_a_check_has_its_own_loopback(check):
    """G10: services inside the box work as before."""
    result = await check(f"python -c '{SERVER}'")

    assert (result.passed, result.unreached) == (True, ()), result.output


ESCAPE = """
import socket, sys
def tunnel(place):
    with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 20) as end:
        end.sendall(f"CONNECT {place} HTTP/1.1\\r\\nHost: {place}\\r\\n\\r\\n".encode())
        return end.recv(12).decode()
print(*[tunnel(place) for place in sys.argv[2:]], sep="\\n")
"""


async def test_g10_only_the_listed_name_gets_out_of_the_box(check, site):
    places = [
        f"{HOST}:443", f"{HOST}:{site.port}", f"127.0.0.1:{site.port}", f"[::1]:{site.port}",
        f"localhost:{site.port}", f"sub.{HOST}:443", "169.254.169.254:443",
    ]  # fmt: skip
    proxy = "${HTTPS_PROXY##*:}"

    result = await check(f"python -c '{ESCAPE}' {proxy} {' '.join(places)}")

    assert result.output.split("\n")[:7] == ["HTTP/1.1 200", *["HTTP/1.1 403"] * 6]


async def test_g2_a_box_shows_no_socket_file_of_ours(check):
    result = await check("cat /proc/net/unix")

    assert (result.passed, len(result.output.splitlines())) == (True, 1)  # only its header


async def test_g2_another_box_can_not_use_the_way_out(check, tmp_path, site):
    """G2: it leads only out of the network that it was made in, while its program runs."""
    others = [tmp_path / name for name in ("other-home", "other-work")]
    for folder in others:
        folder.mkdir()
    home, work = map(str, others)
    began, may_end = tmp_path / "work" / "began", tmp_path / "work" / "may-end"
    first = []

    async def hold():
        wait = "touch began; until test -e may-end; do sleep 0.05; done"
        first.append(await check(f"{wait}; python -c '{ESCAPE}' {HOSTS_PORT} {HOST}:443"))

    async with anyio.create_task_group() as group:
        group.start_soon(hold)
        with anyio.fail_after(60):
            while not began.exists():
                await anyio.sleep(0.02)
        attempt = f"python -c '{ESCAPE}' {HOSTS_PORT} {HOST}:443"
        second = await check(attempt, hosts=None, home=home, workspace=work)
        may_end.touch()

    assert (second.passed, "Connection refused" in second.output) == (False, True), second.output
    assert first[0].output.startswith("HTTP/1.1 200"), first[0].output


async def test_g10_ten_boxes_have_their_own_lists(check, tmp_path):
    """G10: they run at the same time in one process."""
    results = {}

    async def one(number):
        folders = [tmp_path / f"{name}{number}" for name in ("home-", "work-")]
        for folder in folders:
            folder.mkdir()
        home, work = map(str, folders)
        places = " ".join(f"h{each}.example:443" for each in range(10))
        results[number] = await check(
            f"python -c '{ESCAPE}' {HOSTS_PORT} {places}",
            hosts=(f"h{number}.example",),
            home=home,
            workspace=work,
        )

    async with anyio.create_task_group() as group:
        for number in range(10):
            group.start_soon(one, number)

    for number, result in results.items():
        statuses = [line[9:12] for line in result.output.splitlines()[:10]]
        assert statuses == ["200" if each == number else "403" for each in range(10)], result.output
