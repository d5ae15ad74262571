"""K14: the sandbox has the programs that the person's shell would run, and nothing more."""

import json
import sys
from pathlib import Path

import pytest

from adapters.processes.launch_fixture import run
from allstop.adapters.processes.tools.named_programs import named_programs
from allstop.adapters.processes.tools.network_variables import network_variables
from allstop.adapters.processes.tools.person_tools import find_tools, installed_elsewhere
from allstop.adapters.processes.tools.version_files import Asker
from allstop.adapters.processes.tools.version_managers import expand


@pytest.fixture
def home(tmp_path):
    home = tmp_path / "users-home"
    home.mkdir(mode=0o700)
    return home


@pytest.fixture
def repository(home):
    folder = home / "code/app"
    folder.mkdir(parents=True)
    return folder


def program(path, text="#!/bin/sh\necho $0\n"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def text(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def asker(home, repository, **variables):
    return Asker(home=home, folder=repository, variables=variables)


def behind(home, repository, folder, **variables):
    """The folders behind a folder of PATH, relative to the home."""
    found = expand([str(home / folder), "/usr/bin"], asker(home, repository, **variables))
    assert found[-1] == "/usr/bin"
    return [str(Path(each).relative_to(home)) for each in found[:-1]]


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("uv run pytest -q", ("uv",)),
        ("cd web && npm test", ("npm",)),
        ("FOO=1 timeout 60 pytest; make", ("timeout", "pytest", "make")),
        ("bash -lc 'cargo test | tee log'", ("bash", "cargo", "tee")),
        ("if true; then node a.js; fi", ("node",)),
        ("for f in *.js; do node $f; done", ("node",)),
        ("$PY -m pytest", ()),
        (".venv/bin/pytest && go vet ./...", ("go",)),
        ("# all\nruff check .\nmypy", ("ruff", "mypy")),
        ("echo 'open", ()),
    ],
)
def test_k14_the_programs_that_a_command_line_names(line, names):
    assert named_programs(line) == names


def pyenv(home, *versions, default=""):
    for version in versions:
        program(home / f".pyenv/versions/{version}/bin/python3")
        (home / f".pyenv/versions/{version}/lib").mkdir()
    program(home / ".pyenv/shims/python3", "#!/bin/sh\nexec pyenv exec python3\n")
    if default:
        text(home / ".pyenv/version", f"{default}\n")


def test_k14_pyenv_leads_to_the_version_in_use(home, repository):
    pyenv(home, "3.11.7", "3.12.1", "3.12.10", default="3.11.7")
    shims = ".pyenv/shims"

    default = behind(home, repository, shims)
    text(repository / ".python-version", "3.12\n")
    pinned = behind(home, repository, shims)
    given = behind(home, repository, shims, PYENV_VERSION="3.12.1:3.11.7")

    assert default == [".pyenv/versions/3.11.7/bin"]
    assert pinned == [".pyenv/versions/3.12.10/bin"]
    assert given == [".pyenv/versions/3.12.1/bin", ".pyenv/versions/3.11.7/bin"]


@pytest.mark.parametrize("version", ["../../../secrets", "/etc", "system", "2.7", "*", ""])
def test_k15_a_version_in_the_repository_leads_nowhere_else(home, repository, version):
    pyenv(home, "3.11.7")
    (home / "secrets/bin").mkdir(parents=True)
    text(repository / ".python-version", version)

    assert behind(home, repository, ".pyenv/shims") == []


def test_k14_rustup_leads_to_the_toolchain_and_keeps_installed_programs(home, repository):
    for name in ("rustup", "cargo", "just"):
        program(home / ".cargo/bin" / name)
    for name in ("stable-x86_64-unknown-linux-gnu", "1.75.0-x86_64-unknown-linux-gnu"):
        program(home / ".rustup/toolchains" / name / "bin/cargo")
    text(home / ".rustup/settings.toml", 'default_toolchain = "stable-x86_64-unknown-linux-gnu"\n')

    default = behind(home, repository, ".cargo/bin")
    text(repository / "rust-toolchain.toml", '[toolchain]\nchannel = "1.75.0"\n')
    pinned = behind(home, repository, ".cargo/bin")
    (repository / "rust-toolchain.toml").unlink()
    text(repository / "rust-toolchain", "1.75.0\n")

    toolchains = ".rustup/toolchains"
    assert default == [f"{toolchains}/stable-x86_64-unknown-linux-gnu/bin", ".cargo/bin"]
    assert pinned == [f"{toolchains}/1.75.0-x86_64-unknown-linux-gnu/bin", ".cargo/bin"]
    assert behind(home, repository, ".cargo/bin") == pinned


def test_k14_volta_leads_to_the_version_in_use(home, repository):
    for name in ("node/20.1.0", "node/18.0.0", "npm/10.2.0", "packages/typescript"):
        program(home / ".volta/tools/image" / name / "bin/any")
    platform = {"node": {"runtime": "20.1.0", "npm": "10.2.0"}, "yarn": None}
    text(home / ".volta/tools/user/platform.json", json.dumps(platform))

    default = behind(home, repository, ".volta/bin")
    text(repository / "package.json", '{"volta": {"node": "18.0.0"}}')
    pinned = behind(home, repository, ".volta/bin")

    image = ".volta/tools/image"
    rest = [f"{image}/packages/typescript/bin"]
    assert default == [f"{image}/npm/10.2.0/bin", f"{image}/node/20.1.0/bin", *rest]
    assert pinned == [f"{image}/npm/10.2.0/bin", f"{image}/node/18.0.0/bin", *rest]


def test_k14_asdf_leads_to_the_versions_in_use(home, repository):
    for name in ("nodejs/20.1.0/bin", "nodejs/18.0.0/bin", "golang/1.22/go/bin", "python/3.9/bin"):
        program(home / ".asdf/installs" / name / "any")
    (home / ".asdf/shims").mkdir()
    text(home / ".tool-versions", "nodejs 20.1.0\ngolang 1.22 # both\n")

    default = behind(home, repository, ".asdf/shims")
    text(repository / ".tool-versions", "nodejs 18.0.0\n")
    pinned = behind(home, repository, ".asdf/shims")
    given = behind(home, repository, ".asdf/shims", ASDF_PYTHON_VERSION="3.9")

    installs = ".asdf/installs"
    assert default == [f"{installs}/golang/1.22/go/bin", f"{installs}/nodejs/20.1.0/bin"]
    assert pinned == [f"{installs}/golang/1.22/go/bin", f"{installs}/nodejs/18.0.0/bin"]
    assert given == [*pinned, f"{installs}/python/3.9/bin"]


def test_k14_mise_leads_to_the_versions_in_use(home, repository):
    installs = ".local/share/mise/installs"
    for name in ("node/20.1.0/bin", "node/18.0.0/bin", "python/3.12.1/bin", "just/1.0"):
        program(home / installs / name / "any")
    (home / ".local/share/mise/shims").mkdir()
    own = '[tools]\nnode = "20"\npython = ["3.12"]\njust = {version = "1.0"}\n'
    text(home / ".config/mise/config.toml", own)

    default = behind(home, repository, ".local/share/mise/shims")
    text(repository / "mise.toml", '[tools]\nnode = "18"\n')
    pinned = behind(home, repository, ".local/share/mise/shims")

    rest = [f"{installs}/python/3.12.1/bin"]
    assert default == [f"{installs}/just/1.0", f"{installs}/node/20.1.0/bin", *rest]
    assert pinned == [f"{installs}/just/1.0", f"{installs}/node/18.0.0/bin", *rest]


def test_k15_folders_of_the_repository_are_not_on_the_path(home, repository):
    """K15: an agent may have written the programs in them."""
    program(repository / "node_modules/.bin/npm")
    path = f"{repository}/node_modules/.bin:relative:{home}/.local/bin/:/usr/bin"

    tools = find_tools(asker(home, repository, PATH=path))

    assert tools.path == (f"{home}/.local/bin", "/usr/bin")


def test_k14_only_programs_that_are_named_or_common_are_shown(home, repository):
    for name in ("uv", "deploy", "my-check"):
        program(home / ".local/bin" / name)
    (home / ".local/share/uv/python").mkdir(parents=True)

    tools = find_tools(asker(home, repository, PATH=f"{home}/.local/bin:/usr/bin"), ["my-check"])

    assert set(tools.programs) == {f"{home}/.local/bin/my-check", f"{home}/.local/bin/uv"}
    assert tools.read == (f"{home}/.local/share/uv/python",)
    assert tools.env == {"UV_PYTHON_INSTALL_DIR": f"{home}/.local/share/uv/python"}


def test_k14_a_program_that_is_not_on_the_path_is_found(home, repository):
    node = program(home / ".nvm/versions/node/v20.1.0/bin/node")
    tools = asker(home, repository, PATH="/usr/bin")

    assert installed_elsewhere("node", tools) == str(node)
    assert installed_elsewhere("no-such-program", tools) == ""


def in_box(box_folders, tools, script):
    own = {"path": tools.path, "tools": tools.programs}
    return box_folders.launch("/bin/sh", "-c", script, env=tools.env, **own)


async def test_k14_a_name_leads_to_the_same_program_inside(launcher, box_folders, home, repository):
    """K14: nvm, pyenv and single programs, in the order of the person's PATH."""
    pyenv(home, "3.11.7", default="3.11.7")
    node = home / ".nvm/versions/node/v20.1.0"
    program(node / "bin/node", "#!/bin/sh\necho node 20 $1\n")
    (node / "bin/npm").symlink_to("../lib/node_modules/npm/bin/npm-cli.js")
    program(node / "lib/node_modules/npm/bin/npm-cli.js", "#!/usr/bin/env node\n")
    program(home / ".local/bin/uv")
    program(home / ".local/bin/secret-script")
    program(home / "late/ls")
    text(home / ".npmrc", "token")
    own = (".local/bin", ".pyenv/shims", ".nvm/versions/node/v20.1.0/bin")
    folders = (*(f"{home}/{name}" for name in own), "/usr/bin", "/bin", f"{home}/late")
    path = ":".join(folders)
    tools = find_tools(asker(home, repository, PATH=path), ["ls"])
    script = f"""
        for each in python3 uv node npm ls; do command -v $each; done; npm x | cut -d/ -f1
        ls -A {home} {home}/.local/bin
        echo no >>{home}/.local/bin/uv || echo read-only"""

    out = str((await run(launcher, in_box(box_folders, tools, script)))[0], "utf-8")

    assert out.split("\n")[:6] == [
        f"{home}/.pyenv/versions/3.11.7/bin/python3",
        f"{home}/.local/bin/uv",
        f"{node}/bin/node",
        f"{node}/bin/npm",
        "/usr/bin/ls",
        "node 20 ",
    ]
    assert "secret-script" not in out
    assert ".npmrc" not in out
    assert "read-only" in out


async def test_k14_a_virtual_environment_on_the_path_is_shown_with_its_python(
    launcher, box_folders, home, repository
):
    venv = Path(sys.prefix)
    assert (venv / "pyvenv.cfg").is_file(), "the tests run in one"
    tools = find_tools(asker(home, repository, PATH=f"{venv}/bin:/usr/bin"))
    script = "python -c 'import sys; print(sys.version, sys.prefix)'; pytest --version 2>&1"

    out = str((await run(launcher, in_box(box_folders, tools, script)))[0], "utf-8")

    assert out.startswith(f"{sys.version} {sys.prefix}\n")
    assert "pytest" in out


def test_k14_variables_for_proxies_and_certificates_are_passed_on(home, repository):
    """K14: a box without them reaches nothing behind a company's proxy."""
    bundle = home / "certificates/company.pem"
    text(bundle, "a certificate")
    (home / "link.pem").symlink_to(bundle)
    variables = {
        "HTTPS_PROXY": "http://proxy:3128",
        "no_proxy": "localhost",
        "HTTP_PROXY": "",
        "SSL_CERT_FILE": str(home / "link.pem"),
        "SSL_CERT_DIR": f"{home}/certificates:/no/such/folder:relative",
        "PIP_CERT": "/no/such/file.pem",
        "NODE_EXTRA_CA_CERTS": str(home),
        "CURL_CA_BUNDLE": "/usr/lib",
        "API_TOKEN": "not for boxes",
    }

    found = network_variables(asker(home, repository, **variables))

    assert found.env == {
        "HTTPS_PROXY": "http://proxy:3128",
        "no_proxy": "localhost",
        "SSL_CERT_FILE": str(bundle),
        "SSL_CERT_DIR": str(bundle.parent),
        "CURL_CA_BUNDLE": str(Path("/usr/lib").resolve()),
    }
    assert found.read == (str(bundle), str(bundle.parent))
