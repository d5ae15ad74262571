"""K11, K14, K17: a program in its box: environment, home, limits, network, objects."""

import os
import socket
import subprocess
import sys

import anyio
import msgspec
import pytest

from adapters.processes.launch_fixture import BoxFolders, alive, run, until_ready
from allstop.adapters.processes.sandbox.bubblewrap import limits
from allstop.adapters.processes.sandbox.host_tools import Ceilings
from allstop.ports import Caps, Network


def variables(out):
    return dict(line.split("=", 1) for line in out.decode().rstrip("\0").split("\0"))


async def test_the_environment_is_exactly_what_was_given(launcher, box_folders, monkeypatch):
    monkeypatch.setenv("CANARY", "must not be seen")
    out, _, _ = await run(
        launcher, box_folders.launch("env", "-0", env={"GIVEN": "a b\nc", "LANG": "C"})
    )
    found = variables(out)
    found.pop("SHLVL", None)  # some shells count themselves

    assert found == {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": "/home/agent",
        "TMPDIR": "/tmp",
        "LANG": "C",
        "USER": "agent",
        "GIVEN": "a b\nc",
        "PWD": str(box_folders.at),
    }


async def test_values_are_on_no_command_line(launcher, box_folders, token):
    launch = box_folders.launch("sh", "-c", "echo ready; read line", env={"KEY": token})
    async with launcher.launch(launch) as child:
        await until_ready(child)

        assert alive(token) == []


async def test_home_and_temp_are_its_own(launcher, box_folders):
    (box_folders.home / "laid-in").write_text("before")
    script = "cat ~/laid-in; touch ~/made /tmp/made; stat -c %a /tmp; stat -c %a /home; id -un"
    out, _, _ = await run(launcher, box_folders.launch("sh", "-c", script))

    assert out == b"before1777\n755\nagent\n"
    assert sorted(file.name for file in box_folders.home.iterdir()) == ["laid-in", "made"]
    assert not os.path.exists("/tmp/made")


async def test_a_program_without_a_workspace_starts_in_its_home(launcher, box_folders):
    out, _, _ = await run(launcher, box_folders.launch("pwd", workspace=None))

    assert out == b"/home/agent\n"


async def test_the_workspace_is_at_the_repository_s_own_path(launcher, box_folders):
    out, _, _ = await run(launcher, box_folders.launch("sh", "-c", "pwd; echo x >file"))

    assert out.decode() == f"{box_folders.at}\n"
    assert (box_folders.workspace / "file").read_text() == "x\n"
    assert not box_folders.at.exists()


@pytest.mark.parametrize("fresh", [True, False])
async def test_what_lies_in_a_workspace_is_given_away_only_where_it_is_fresh(
    fresh, launcher, box_folders, host, tmp_path
):
    outside = tmp_path / "outside"
    outside.write_text("a person's own")
    laid = box_folders.workspace / "folder" / "laid"
    laid.parent.mkdir()
    laid.write_text("by us")
    (box_folders.workspace / "link").symlink_to(outside)

    await run(launcher, box_folders.launch("true", fresh=fresh))

    owner = host.box_uid if fresh else os.geteuid()
    assert [path.stat().st_uid for path in (laid, laid.parent, box_folders.workspace)] == [
        owner
    ] * 3
    assert outside.stat().st_uid == os.geteuid()


async def test_objects_can_be_read_and_not_changed(launcher, box_folders, tmp_path):
    stores = []
    for name in ("own", "borrowed"):
        store = tmp_path / name
        store.mkdir()
        (store / "pack").write_text(name)
        stores.append(str(store))
    script = "cat /run/allstop/objects/0/pack /run/allstop/objects/1/pack; rm /run/allstop/objects/0/pack"
    out, err, code = await run(
        launcher, box_folders.launch("sh", "-c", script, objects=tuple(stores))
    )

    assert out == b"ownborrowed"
    assert b"Read-only file system" in err
    assert code != 0


async def test_git_works_on_borrowed_objects(launcher, box_folders, tmp_path):
    repository = tmp_path / "repository"
    git = ["git", "-C", str(repository), "-c", "user.name=n", "-c", "user.email=e"]
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    (repository / "file").write_text("text")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "first"], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, check=True, text=True)
    script = f"""
        git init -q -b work . && echo /run/allstop/objects/0 >.git/objects/info/alternates
        git config user.name n && git config user.email e && git reset -q --hard {head.stdout}
        cat file && echo more >file && git commit -qam second && git log --format=%s
    """
    objects = (str(repository / ".git" / "objects"),)
    out, err, _ = await run(launcher, box_folders.launch("sh", "-ec", script, objects=objects))

    assert (out, err) == (b"textsecond\nfirst\n", b"")


async def test_paths_to_read_are_at_their_own_places(launcher, box_folders, tmp_path):
    shown, inside = tmp_path / "shown", box_folders.at / ".venv"
    for folder in (shown, inside):
        folder.mkdir(parents=True)
        (folder / "file").write_text(folder.name)
    alone = tmp_path / "alone"
    alone.write_text("alone")
    (tmp_path / "linked").symlink_to("shown")
    read = (str(shown), str(inside), str(alone), str(tmp_path / "linked"))
    script = f"cat {shown}/file {inside}/file {alone} {tmp_path}/linked/file; ls {tmp_path}; touch {shown}/x"
    out, err, _ = await run(launcher, box_folders.launch("sh", "-c", script, read=read))

    assert out == b"shown.venvaloneshown" + b"alone\nlinked\nplace\nshown\n"
    assert b"Read-only file system" in err


FORK = """
import os, time
count = 0
try:
    while count < 200:
        if os.fork() == 0:
            time.sleep(1000)
        count += 1
except OSError:
    pass
print(count, flush=True)
print("ready", flush=True)
time.sleep(1000)
"""


async def test_processes_are_counted_for_each_box(launcher, tmp_path):
    counts = []

    async def fill(box_folders, *, task_status):
        launch = box_folders.python(FORK, caps=Caps(processes=20))
        async with launcher.launch(launch) as child:
            chunk = await child.receive()
            counts.append(int(chunk.data.split()[0]))
            task_status.started()
            await anyio.sleep_forever()

    async with anyio.create_task_group() as group:
        for name in "ab":
            await group.start(fill, BoxFolders.make(tmp_path / name))
        group.cancel_scope.cancel()

    assert all(10 <= count <= 20 for count in counts)
    assert len(counts) == 2


async def test_files_can_not_grow_past_their_cap(launcher, box_folders):
    script = "head -c 2000000 /dev/zero >big"
    _, _, code = await run(launcher, box_folders.launch("sh", "-c", script, caps=Caps(file_mb=1)))

    assert code != 0
    assert (box_folders.workspace / "big").stat().st_size == 1 << 20


async def test_memory_can_not_grow_past_its_cap(launcher, box_folders):
    launch = box_folders.python("x = bytearray(500 << 20)", caps=Caps(memory_mb=300))
    _, err, code = await run(launcher, launch)

    assert b"MemoryError" in err
    assert code == 1


async def test_without_caps_nothing_is_limited_but_core_files(launcher, box_folders):
    caps = Caps(processes=None)
    out, _, _ = await run(
        launcher, box_folders.launch("sh", "-c", "ulimit -c; ulimit -f", caps=caps)
    )

    assert out == b"0\nunlimited\n"


LIMITS = {
    "Max core file size": "0",
    "Max processes": "20",
    "Max data size": str(300 << 20),
    "Max file size": str(5 << 20),
}


def limits_of(told):
    """Those that were set, each as it counts and as the most it may be raised to."""
    lines = {name: line for line in told.splitlines() for name in LIMITS if line.startswith(name)}
    return {name: line[len(name) :].split()[:2] for name, line in lines.items()}


async def test_k17_limits_are_exact_and_can_not_be_raised(launcher, box_folders):
    caps = Caps(processes=20, memory_mb=300, file_mb=5)
    out, _, _ = await run(launcher, box_folders.launch("cat", "/proc/self/limits", caps=caps))

    assert limits_of(out.decode()) == {name: [most, most] for name, most in LIMITS.items()}


@pytest.mark.parametrize("shell", [("sh",), ("bash", "--posix")])
def test_k17_shells_that_differ_set_the_same_limits(shell):
    ceilings = Ceilings(processes=20, memory=300 << 20, file=5 << 20)
    words = limits(Caps(processes=10**9, memory_mb=10**6, file_mb=10**6), ceilings, None)
    script = " && ".join((*words, "exec cat /proc/self/limits"))
    told = subprocess.run([*shell, "-c", script], capture_output=True, text=True, check=True)

    assert limits_of(told.stdout) == {name: [most, most] for name, most in LIMITS.items()}


DEVICES = """
head -c 4 /dev/zero | wc -c; head -c 4 /dev/urandom | wc -c; echo lost >/dev/null
echo shared >/dev/shm/file && cat /dev/shm/file
{ echo more >/dev/more; } 2>/dev/null
ls /dev
"""


async def test_there_are_harmless_devices_and_shared_memory(launcher, box_folders, host):
    out, _, _ = await run(launcher, box_folders.launch("sh", "-c", DEVICES))
    said, listed = out.decode().split("shared\n")
    own = set() if host.is_root else {"more"}  # a file in memory, in a box that is all the user's

    assert said.split() == ["4", "4"]
    assert set(listed.split()) == own | {
        *("core", "fd", "full", "null", "ptmx", "pts", "random", "shm"),
        *("stderr", "stdin", "stdout", "tty", "urandom", "zero"),
    }


async def test_a_program_can_have_a_terminal_of_its_own(launcher, box_folders):
    script = "import os, pty; print(os.ttyname(pty.openpty()[1]))"
    out, err, _ = await run(launcher, box_folders.python(script))

    assert (out, err) == (b"/dev/pts/0\n", b"")


async def test_a_cap_above_what_we_may_use_ourselves_is_no_error(launcher, box_folders):
    _, err, code = await run(launcher, box_folders.launch("true", caps=Caps(processes=10**9)))

    assert (err, code) == (b"", 0)


REACH = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 2)"


@pytest.mark.parametrize(("network", "reached"), [(Network.NONE, False), (Network.FULL, True)])
async def test_the_network_is_there_or_not(network, reached, launcher, box_folders):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        _, err, code = await run(launcher, box_folders.python(REACH, port, network=network))

    assert (code == 0) is reached
    assert reached or b"refused" in err


LITTLE = """
ls /etc; id -un; date +%z
git init -q . && git commit -q --allow-empty -m first && git log --format=%an%cd --date=format:%z
"""


async def test_q5_a_sparse_box_has_what_git_needs_and_no_more(launcher, box_folders):
    me = {"GIT_AUTHOR_NAME": "A", "GIT_COMMITTER_NAME": "A"} | dict.fromkeys(
        ("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "a@example.invalid"
    )
    launch = box_folders.launch("sh", "-c", LITTLE, env=me)
    out, err, _ = await run(launcher, msgspec.structs.replace(launch, sparse=True))
    *etc, user, zone, commit = out.decode().split()

    assert err == b""
    assert set(etc) <= {"alternatives", "group", "ld.so.cache", "localtime", "passwd"}
    assert user == "agent"
    assert zone == subprocess.check_output(["date", "+%z"], env={}, text=True).strip()
    assert commit == f"A{zone}"


async def test_names_can_be_resolved_as_the_host_does(launcher, box_folders):
    out, _, _ = await run(launcher, box_folders.launch("cat", "/etc/resolv.conf", "/etc/hosts"))
    script = "import socket; print(socket.gethostbyname('localhost'))"
    resolved, _, _ = await run(launcher, box_folders.python(script))

    with open("/etc/resolv.conf", "rb") as resolv, open("/etc/hosts", "rb") as hosts:
        assert out == resolv.read() + hosts.read()
    assert resolved == b"127.0.0.1\n"


async def test_certificates_and_time_zone_are_there(launcher, box_folders):
    script = (
        "import ssl, time; print(len(ssl.create_default_context().get_ca_certs()) > 0, time.tzname)"
    )
    out, _, _ = await run(launcher, box_folders.python(script))
    here = subprocess.run(
        [sys.executable, "-S", "-c", script], capture_output=True, check=True, env={}
    )

    assert out == here.stdout
