"""Q21, K14: a program in a box reaches nothing outside it."""

import os

import msgspec
import pytest

from adapters.processes.launch_fixture import output_of, run
from allstop.adapters.processes.launcher import ProcessLauncher
from allstop.adapters.processes.sandbox.boxed_program import boxed
from allstop.adapters.processes.sandbox.host_tools import BOX_UID
from allstop.adapters.processes.sandbox_probe import BOXED
from allstop.ports import LaunchError


async def test_a_program_sees_only_its_own_processes_and_descriptors(launcher, box_folders):
    script = "ls /proc | grep -c '^[0-9]' ; ls /proc/self/fd; cut -d' ' -f2 /proc/self/mounts"
    out, _, _ = await run(launcher, box_folders.launch("sh", "-c", script))
    lines = out.decode().split("\n")

    assert int(lines[0]) <= 6
    assert lines[1:5] == ["0", "1", "2", "3"]  # 3 is the folder that ls reads
    assert str(box_folders.home) not in lines


async def test_what_it_makes_belongs_to_its_user_and_not_to_root(launcher, box_folders, host):
    await run(launcher, box_folders.launch("sh", "-c", "touch mine; chmod u+s mine; mkdir below"))

    assert {path.stat().st_uid for path in box_folders.workspace.iterdir()} == {host.box_uid}
    assert host.box_uid == (BOX_UID if os.getuid() == 0 else os.getuid())


async def test_a_link_planted_in_the_workspace_does_not_move_a_mount(
    launcher, box_folders, tmp_path
):
    shown = box_folders.at / "deep" / "shown"
    shown.mkdir(parents=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (box_folders.workspace / "deep").symlink_to(f"/oldroot{elsewhere}")

    with pytest.raises(LaunchError, match="is a symbolic link"):
        await run(launcher, box_folders.launch("true", read=(str(shown),)))

    assert list(elsewhere.iterdir()) == []


async def test_nor_does_one_in_a_folder_that_is_closed_to_us(launcher, box_folders, tmp_path):
    """What makes a box may go where we may not: where we can't look, nothing is shown."""
    shown = box_folders.at / "closed" / "deep" / "shown"
    shown.mkdir(parents=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    closed = box_folders.workspace / "closed"
    closed.mkdir()
    (closed / "deep").symlink_to(f"/oldroot{elsewhere}")
    closed.chmod(0)

    try:
        with pytest.raises(LaunchError, match=r"is a symbolic link|can't be read"):
            await run(launcher, box_folders.launch("true", read=(str(shown),)))
    finally:
        closed.chmod(0o700)

    assert list(elsewhere.iterdir()) == []


async def test_a_program_of_the_workspace_widens_nothing(launcher, box_folders, tmp_path):
    """Its first line and its links are the agent's word."""
    private = tmp_path / "private"
    private.write_text("#!/bin/sh\necho private\n")
    private.chmod(0o755)
    (box_folders.workspace / "script").write_text(f"#!{private}\n")
    (box_folders.workspace / "script").chmod(0o755)
    (box_folders.workspace / "link").symlink_to(private)

    for name in (
        "./script",
        "./link",
        str(box_folders.at / "script"),
        str(box_folders.at / "link"),
    ):
        out, _, code = await run(launcher, box_folders.launch(name))

        assert out == b""
        assert code in (126, 127)


@pytest.mark.parametrize("wide", [".", ".local", ".cargo", ".."])
async def test_the_whole_home_is_never_shown(wide, box_folders, host, tmp_path, live_dir):
    home = tmp_path / "users-home"
    path = os.path.normpath(home / wide)
    os.makedirs(path, exist_ok=True)
    home.mkdir(exist_ok=True)
    start = boxed(msgspec.structs.replace(host, home=str(home)))
    launcher = ProcessLauncher(isolation=BOXED, start=start, live_dir=live_dir)

    with pytest.raises(LaunchError, match="never shown"):
        await run(launcher, box_folders.launch("true", read=(path,)))


async def test_a_sandbox_inside_the_box_works(launcher, box_folders):
    """Agents bring sandboxes of their own."""
    script = (
        "bwrap --ro-bind / / --dev /dev --proc /proc --bind $PWD $PWD --unshare-all "
        "--die-with-parent -- sh -c 'echo inner >made && cat made'"
    )
    async with launcher.launch(box_folders.launch("sh", "-c", script)) as child:
        done = await output_of(child)

    assert done == (b"inner\n", b"", 0)
