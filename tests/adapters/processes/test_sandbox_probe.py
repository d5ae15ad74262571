"""K14: the sandbox is tested by trying to escape."""

import os

import msgspec
import pytest

from adapters.processes.launch_fixture import run
from allstop.adapters.processes.sandbox.setup_hints import INSTALL, TURN_OFF_HINT
from allstop.adapters.processes.sandbox_probe import BOXED, make_launcher, probe
from allstop.ports import UnsafeError

PRETENDER = """#!/usr/bin/python3
# Says what bwrap says and does nothing of what it does.
import os, sys
given = sys.argv[1:]
cut = given.index("--")
words = open(int(given[1]), "rb").read().decode().split("\\0")
for index, word in enumerate(words):
    if word == "--info-fd":
        os.write(int(words[index + 1]), b'{"child-pid": %d}' % os.getpid())
    if word == "--setenv":
        os.environ[words[index + 1]] = words[index + 2]
    if word == "--bind" and words[index + 2] == "/work":
        os.chdir(words[index + 1])
os.execvp("timeout", ["timeout", "-s", "KILL", "5", *given[cut + 1:]])
"""


async def test_this_machine_can_make_boxes(host):
    assert await probe(host) == BOXED


async def test_it_leaves_nothing_behind(host, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    await probe(host)

    assert list(tmp_path.iterdir()) == []


async def test_a_program_that_only_looks_like_bwrap_is_not_believed(host, tmp_path):
    pretender = tmp_path / "bwrap"
    pretender.write_text(PRETENDER)
    pretender.chmod(0o755)
    os.chmod(tmp_path, 0o755)
    tools = msgspec.structs.replace(host.tools, bwrap=str(pretender))
    found = await probe(msgspec.structs.replace(host, tools=tools))

    assert (found.boxed, found.allowed) == (False, False)
    assert TURN_OFF_HINT in found.hint


async def test_a_missing_bwrap_is_named(host):
    tools = msgspec.structs.replace(host.tools, bwrap="")
    found = await probe(msgspec.structs.replace(host, tools=tools))

    assert (found.boxed, found.allowed) == (False, False)
    assert found.hint == f"{INSTALL}; {TURN_OFF_HINT}"


@pytest.mark.parametrize(("mode", "is_boxed"), [("auto", True), ("on", True), ("off", False)])
async def test_the_mode_chooses(mode, is_boxed, live_dir, box_folders):
    launcher = await make_launcher(mode, live_dir)
    out, _, _ = await run(launcher, box_folders.launch("echo", "hello"))

    assert launcher.isolation.boxed is is_boxed
    assert launcher.isolation.allowed
    assert out == b"hello\n"


@pytest.fixture
def without_bwrap(host, monkeypatch):
    tools = msgspec.structs.replace(host.tools, bwrap="")
    return msgspec.structs.replace(host, tools=tools)


async def test_a_sandbox_that_is_demanded_and_missing_is_an_error(live_dir, without_bwrap):
    with pytest.raises(UnsafeError):
        await make_launcher("on", live_dir, without_bwrap)


async def test_without_a_sandbox_only_what_is_ours_runs(live_dir, without_bwrap, box_folders):
    launcher = await make_launcher("auto", live_dir, without_bwrap)
    ours, _, _ = await run(launcher, box_folders.launch("echo", "hello", trusted=True))

    assert not launcher.isolation.allowed
    assert ours == b"hello\n"
    with pytest.raises(UnsafeError) as caught:
        await run(launcher, box_folders.launch("echo", "hello"))
    assert TURN_OFF_HINT in caught.value.hint
