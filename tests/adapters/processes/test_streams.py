"""K12: input and output of programs, in any size and shape."""

import os
import signal
import subprocess
import sys
import time

import anyio
import pytest
from msgspec.structs import replace

from adapters.processes.launch_fixture import TESTS, ZOO, output_of, run
from allstop.adapters.processes.launcher import ProcessLauncher
from allstop.adapters.processes.unboxed.unboxed_program import unboxed
from allstop.ports import Isolation, LaunchError
from allstop.programs import PIPE_BYTES, Tail, run_to_end

MEGABYTE = 1024 * 1024
BARE = Isolation(boxed=False, allowed=True, how="bare")


@pytest.fixture(params=["boxed", "bare"])
def any_launcher(request, launcher, host, live_dir):
    if request.param == "boxed":
        return launcher
    return ProcessLauncher(isolation=BARE, start=unboxed(host, BARE), live_dir=live_dir)


async def test_what_is_sent_comes_back(any_launcher, box_folders):
    out, err, code = await run(any_launcher, box_folders.launch("cat"), b"hello\n")

    assert (out, err, code) == (b"hello\n", b"", 0)


async def test_errors_and_output_are_kept_apart(any_launcher, box_folders):
    launch = box_folders.launch("sh", "-c", "echo out; echo err >&2; exit 7")

    assert await run(any_launcher, launch) == (b"out\n", b"err\n", 7)


@pytest.mark.parametrize("errors_late", [False, True])
async def test_k12_nothing_that_is_said_of_errors_is_lost(any_launcher, box_folders, errors_late):
    """K12: before other words and after them, in the end, and more than a pipe holds alone."""
    says = "echo one >&2; echo out; echo two >&2; read line; head -c 3000000 /dev/zero >&2"
    launch = box_folders.launch("sh", "-c", f"{says}; echo $line; printf three >&2; exit 7")
    launch = replace(launch, errors_late=errors_late)

    out, err, code = await run(any_launcher, launch, b"go on\n")

    assert (out, code) == (b"out\ngo on\n", 7)
    assert (err[:8], len(err), err[-5:]) == (b"one\ntwo\n", 3_000_013, b"three")


async def test_a_signal_is_a_negative_code(any_launcher, box_folders):
    launch = box_folders.launch("sh", "-c", "kill -TERM $$")

    assert await run(any_launcher, launch) == (b"", b"", -signal.SIGTERM)


async def test_bytes_that_are_no_text_arrive_unchanged(any_launcher, box_folders):
    odd = bytes(range(256)) * 100 + b"\xff\xfe\xc3\x28"

    assert await run(any_launcher, box_folders.launch("cat"), odd) == (odd, b"", 0)


async def test_a_line_of_ten_megabytes_arrives_in_small_chunks(launcher, box_folders):
    sizes = []
    script = "head -c 10485760 /dev/zero | tr '\\0' x; echo"
    async with launcher.launch(box_folders.launch("sh", "-c", script)) as child:
        while chunk := await child.receive():
            sizes.append(len(chunk.data))

    assert sum(sizes) == 10 * MEGABYTE + 1
    assert max(sizes) <= 64 * 1024


async def test_five_megabytes_of_input_arrive(any_launcher, box_folders):
    data = os.urandom(5 * MEGABYTE)
    async with any_launcher.launch(box_folders.launch("sha256sum")) as child:
        await child.send(data)
        await child.close_input()
        out, _, code = await output_of(child)

    expected = subprocess.run(["sha256sum"], input=data, capture_output=True, check=True).stdout
    assert (out, code) == (expected, 0)


async def test_what_a_program_says_while_it_listens_can_be_read(launcher, box_folders):
    data = b"x" * 5 * MEGABYTE
    async with (
        launcher.launch(box_folders.launch("cat")) as child,
        anyio.create_task_group() as group,
    ):

        async def talk():
            await child.send(data)
            await child.close_input()

        group.start_soon(talk)
        out, _, _ = await output_of(child)

    assert out == data


async def test_sending_to_a_program_that_does_not_read_can_be_cancelled(any_launcher, box_folders):
    async with any_launcher.launch(box_folders.launch("sleep", "1000")) as child:
        with anyio.move_on_after(0.1) as scope:
            await child.send(b"x" * MEGABYTE)

    assert scope.cancelled_caught


async def test_sending_to_a_program_that_has_ended_is_no_error(any_launcher, box_folders):
    async with any_launcher.launch(box_folders.launch("true")) as child:
        await child.wait()
        with anyio.fail_after(60):
            await child.send(b"x" * MEGABYTE)
            await child.close_input()
            await child.send(b"x")


async def test_a_program_that_ends_while_it_is_sent_to_ends_the_sending(launcher, box_folders):
    async with launcher.launch(box_folders.launch("head", "-c", "1")) as child:
        with anyio.fail_after(60):
            await child.send(b"x" * MEGABYTE)


async def test_closing_the_input_ends_a_sending_that_hangs(launcher, box_folders):
    async with launcher.launch(box_folders.launch("sleep", "1000")) as child:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                group.start_soon(child.send, b"x" * MEGABYTE)
                await anyio.sleep(0.05)
                await child.close_input()


async def test_output_ends_with_the_program_although_a_child_holds_the_pipe(
    any_launcher, box_folders
):
    script = "sleep 1000 & (while :; do echo noise; done) & echo done"
    async with any_launcher.launch(box_folders.launch("sh", "-c", script)) as child:
        with anyio.fail_after(60):
            out, _, code = await output_of(child)

    assert b"done\n" in out
    assert code == 0


async def test_output_written_before_the_end_is_all_there(any_launcher, box_folders):
    for _ in range(5):
        out, err, _ = await run(
            any_launcher, box_folders.launch("sh", "-c", "head -c 60000 /dev/zero; echo last >&2")
        )

        assert len(out) == 60000
        assert err == b"last\n"


async def test_a_program_that_closes_its_output_is_waited_for_without_spinning(
    launcher, box_folders
):
    script = "exec >&- 2>&-; sleep 0.3; exit 5"
    async with launcher.launch(box_folders.launch("sh", "-c", script)) as child:
        before = time.process_time()
        chunk = await child.receive()
        spent = time.process_time() - before
        code = (await child.wait()).code

    assert chunk is None
    assert code == 5
    assert spent < 0.1


async def test_many_can_wait_for_the_same_end(launcher, box_folders):
    codes = []
    async with launcher.launch(box_folders.launch("sh", "-c", "read line; exit 3")) as child:

        async def wait():
            codes.append((await child.wait()).code)

        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            await child.send(b"\n")

    assert codes == [3, 3, 3]


def test_two_hundred_megabytes_of_output_need_no_memory(tmp_path):
    done = subprocess.run(
        [sys.executable, str(ZOO / "flood.py"), str(tmp_path), "200000000"],
        env={**os.environ, "PYTHONPATH": f"{TESTS}:{TESTS.parent / 'src'}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.stderr == ""
    count, grown_kb = map(int, done.stdout.split())
    assert count == 200_000_000
    assert grown_kb < 16 * 1024


@pytest.mark.parametrize("name", ["no-such-program-at-all", "/no/such/program", "./missing"])
async def test_a_program_that_is_not_there_can_not_be_launched(name, any_launcher, box_folders):
    with pytest.raises(LaunchError) as caught:
        await run(any_launcher, box_folders.launch(name))

    assert (caught.value.code, name in caught.value.message) == ("program_missing", True)


@pytest.mark.parametrize("name", ["./plain", "/etc/passwd", "/usr"])
async def test_a_file_that_is_no_program_can_not_be_launched(name, any_launcher, box_folders):
    (box_folders.workspace / "plain").write_text("text")

    with pytest.raises(LaunchError, match="isn't an executable file"):
        await run(any_launcher, box_folders.launch(name))


async def test_an_argument_that_is_too_long_is_said_so(launcher, box_folders):
    with pytest.raises(LaunchError, match="Argument list too long"):
        await run(launcher, box_folders.launch("true", "x" * 4 * MEGABYTE))


@pytest.mark.parametrize(
    "changes",
    [
        {"argv": ("true", "a\0b")},
        {"argv": ()},
        {"env": {"NAME": "value\0--bind\0/\0/"}},
        {"env": {"NA=ME": "value"}},
        {"env": {"": "value"}},
    ],
)
async def test_what_could_be_mistaken_for_an_option_of_the_box_is_refused(
    changes, any_launcher, box_folders
):
    launch = box_folders.launch(*changes.get("argv", ("true",)), env=changes.get("env"))

    with pytest.raises(LaunchError):
        await run(any_launcher, launch)


@pytest.mark.parametrize(
    "changes",
    [
        {"home": "/no/such/home"},
        {"workspace": "/no/such/workspace"},
        {"workspace": "relative"},
        {"at": "/somewhere/../usr"},
        {"at": "/"},
        {"at": "/home/agent"},
        {"at": "/usr/share/made-by-nobody"},
        {"objects": ("/no/such/objects",)},
        {"read": ("/no/such/path",)},
    ],
)
async def test_a_box_that_can_not_be_made_is_a_failed_launch(
    changes, launcher, box_folders, live_dir, new_children
):
    with pytest.raises(LaunchError):
        await run(launcher, box_folders.launch("true", **changes))

    assert list(live_dir.glob("*.json")) == []
    assert new_children() == []


async def test_launches_leave_no_descriptor_open(any_launcher, box_folders):
    async def everything():
        await run(any_launcher, box_folders.launch("true"))
        with pytest.raises(LaunchError):
            await run(any_launcher, box_folders.launch("/no/such/program"))
        for after_s in (0.0, 0.005, 0.2):
            with anyio.move_on_after(after_s):
                await run(any_launcher, box_folders.launch("sleep", "1000"))

    await everything()
    before = os.listdir("/proc/self/fd")
    for _ in range(3):
        await everything()

    assert len(os.listdir("/proc/self/fd")) == len(before)


@pytest.mark.parametrize("size", [0, PIPE_BYTES, PIPE_BYTES + 1, 1 << 20])
async def test_a_program_hears_all_it_is_told_while_it_speaks(any_launcher, box_folders, size):
    out = Tail(2 << 20)
    launch = box_folders.launch("sh", "-c", "head -c 200000 /dev/zero | tr '\\0' x; cat")
    code = await run_to_end(any_launcher, launch, b"y" * size, out, lambda live: None)

    assert (code, out.text()) == (0, "x" * 200_000 + "y" * size)


@pytest.mark.parametrize("size", [PIPE_BYTES, 1 << 20])
async def test_a_program_that_does_not_listen_ends_all_the_same(any_launcher, box_folders, size):
    out = Tail()
    launch = box_folders.launch("sh", "-c", "exec <&-; echo deaf; exit 3")
    code = await run_to_end(any_launcher, launch, b"y" * size, out, lambda live: None)

    assert (code, out.text()) == (3, "deaf\n")
