"""K14: the files that a program needs are found and shown, and nothing more."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from adapters.processes.launch_fixture import run
from allstop.adapters.processes.launcher import ProcessLauncher
from allstop.adapters.processes.sandbox.boxed_program import boxed
from allstop.adapters.processes.sandbox.mounts import Link, Readable, ReadableFile
from allstop.adapters.processes.sandbox.program_needs import Needs, needs_of
from allstop.adapters.processes.sandbox_probe import BOXED


@pytest.fixture
def home(tmp_path):
    """A home that nobody else may enter."""
    home = tmp_path / "users-home"
    home.mkdir(mode=0o700)
    return home


@pytest.fixture
def at_home(host, home, live_dir):
    """A launcher for the user of that home."""
    path = (str(home / ".local/bin"), "/usr/bin", "/bin")
    host = msgspec.structs.replace(host, home=str(home), path=path)
    return ProcessLauncher(isolation=BOXED, start=boxed(host), live_dir=live_dir)


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def link(path, target):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
    return path


def needs(program, home, path=("/usr/bin",)):
    return needs_of(str(program), home=str(home), path=path)


def test_a_program_of_the_system_needs_nothing(home):
    assert needs("/usr/bin/env", home) == Needs((), ("/usr/bin",))
    assert needs("/bin/sh", home).mounts == ()


def test_a_program_alone_is_shown_alone(home):
    program = script(home / "tool", "#!/bin/sh\n")

    assert needs(program, home) == Needs((ReadableFile(str(program), str(program)),), (str(home),))


def test_links_are_shown_as_links(home):
    program = script(home / ".local/share/claude/versions/1.0", "binary")
    link(home / ".local/share/claude/current", "versions")
    start = link(home / ".local/bin/claude", "../share/claude/current/1.0")

    assert needs(start, home).mounts == (
        Link("../share/claude/current/1.0", str(start)),
        Link("versions", str(home / ".local/share/claude/current")),
        ReadableFile(str(program), str(program)),
    )


def test_machine_code_is_looked_at_anew_when_it_is_another(home):
    """An update changes the link; a script in its place needs its interpreter."""
    versions = home / ".local/share/claude/versions"
    old, new = (script(versions / number, "\x7fELF") for number in ("1.0", "2.0"))
    start = link(home / ".local/bin/claude", old)
    seen = [needs(start, home), needs(start, home)]
    start.unlink()
    link(start, new)
    seen.append(needs(start, home))
    new.unlink()
    script(new, f"#!{script(home / 'interpreter', 'binary')}\n")
    seen.append(needs(start, home))

    shown = [[mount.dest for mount in each.mounts] for each in seen]
    assert shown[0] == shown[1] == [str(start), str(old)]
    assert shown[2] == [str(start), str(new)]
    assert shown[3] == [str(start), str(new), str(home / "interpreter")]


@pytest.mark.parametrize("shared", [".", ".local", ".cargo"])
def test_what_is_shared_with_everything_else_is_not_shown_whole(shared, home):
    program = script(home / shared / "bin/tool", "binary")
    (home / shared / "lib").mkdir()

    assert needs(program, home).mounts == (ReadableFile(str(program), str(program)),)


@pytest.mark.parametrize(
    ("program", "prefix"),
    [
        (".pyenv/versions/3.12.1/bin/python3.12", ".pyenv/versions/3.12.1"),
        (
            ".nvm/versions/node/v20/lib/node_modules/codex/bin/codex.js",
            ".nvm/versions/node/v20/lib/node_modules",
        ),
        ("project/node_modules/.pnpm/x/node_modules/x/x.js", "project/node_modules"),
        (".linuxbrew/Cellar/jq/1.7/bin/jq", ".linuxbrew"),
    ],
)
def test_a_program_with_parts_is_shown_with_them(program, prefix, home):
    path = script(home / program, "binary")
    (path.parents[1] / "lib").mkdir(exist_ok=True)
    whole = str(home / prefix)

    assert needs(path, home).mounts == (Readable(whole, whole),)


def test_the_interpreter_of_a_script_is_shown(home):
    interpreter = script(home / "interpreter", "#!/bin/sh\n")
    program = script(home / "program", f"#!{interpreter} -x\n")

    assert needs(program, home).mounts == (
        ReadableFile(str(program), str(program)),
        ReadableFile(str(interpreter), str(interpreter)),
    )


def test_k14_a_script_that_was_changed_or_replaced_is_looked_at_anew(home):
    """K14: what is known of a program is known of that very file."""
    one, other = (script(home / name, "#!/bin/sh\n") for name in ("one", "other"))
    program = script(home / "program", f"#!{one}\n")
    before = needs(program, home).mounts
    script(home / "new", f"#!{other}\n").replace(program)
    replaced = needs(program, home).mounts
    program.unlink()
    link(program, "one")

    assert ReadableFile(str(one), str(one)) in before
    assert ReadableFile(str(other), str(other)) in replaced
    assert needs(program, home).mounts == (
        Link("one", str(program)),
        ReadableFile(str(one), str(one)),
    )


@pytest.mark.parametrize("line", ["env tool", "env -S tool --flag", "env -i NAME=value tool"])
def test_an_interpreter_named_to_env_is_looked_up(line, home):
    tool = script(home / "elsewhere" / "tool", "binary")
    program = script(home / "program", f"#!/usr/bin/{line}\n")
    found = needs(program, home, path=("/usr/bin", str(tool.parent)))

    assert found.mounts == (
        ReadableFile(str(program), str(program)),
        ReadableFile(str(tool), str(tool)),
    )
    assert found.path == (str(home), str(tool.parent))


def test_a_script_with_a_long_first_line_is_understood(home):
    interpreter = script(home / "with space" / "python", "binary")
    text = f"#!/bin/sh\n'''exec' \"{interpreter}\" \"$0\" \"$@\"\n' '''\nimport sys\n"
    program = script(home / "program", text)

    assert ReadableFile(str(interpreter), str(interpreter)) in needs(program, home).mounts


def test_a_virtual_environment_is_shown_with_the_python_it_was_made_from(home):
    base = script(home / ".pyenv/versions/3.12/bin/python3", "binary")
    (base.parents[1] / "lib").mkdir()
    program = script(home / "venv/bin/python", "a copy, no link")
    (home / "venv/pyvenv.cfg").write_text(f"home = {base.parent}\nversion = 3.12\n")

    shown = {mount.dest for mount in needs(program, home).mounts}

    assert {str(home / "venv"), str(base.parents[1])} <= shown


def test_a_circle_of_links_and_interpreters_ends(home):
    link(home / "a", "b")
    link(home / "b", "a")
    one = script(home / "one", f"#!{home}/two\n")
    script(home / "two", f"#!{home}/one\n")

    assert needs(home / "a", home).mounts
    assert len(needs(one, home).mounts) == 2


async def test_a_linked_script_in_a_private_home_runs(at_home, home, box_folders):
    script(home / ".local/share/tool/tool.sh", "#!/usr/bin/env sh\necho $0 ran with $1\n")
    start = link(home / ".local/bin/tool", "../share/tool/tool.sh")
    script(home / ".local/bin/neighbour", "#!/bin/sh\n")

    out, err, _ = await run(at_home, box_folders.launch(str(start), "argument"))
    by_name, _, _ = await run(at_home, box_folders.launch("tool", "argument"))
    seen, _, _ = await run(
        at_home, box_folders.launch("ls", f"{home}", f"{home}/.local/bin", read=(str(start),))
    )

    assert (out, err) == (f"{start} ran with argument\n".encode(), b"")
    assert by_name == out
    assert b"neighbour" not in seen


async def test_an_interpreter_found_by_env_is_found_in_the_box_too(at_home, home, box_folders):
    script(home / ".local/bin/runner", '#!/bin/sh\necho run by runner: "$(cat "$1" | tail -n 1)"\n')
    program = script(home / "tools/program", "#!/usr/bin/env runner\nthe text\n")

    out, err, _ = await run(at_home, box_folders.launch(str(program)))

    assert (out, err) == (b"run by runner: the text\n", b"")


async def test_scripts_of_this_virtual_environment_run(launcher, box_folders):
    pytest_script = Path(sys.executable).parent / "pytest"
    out, err, code = await run(launcher, box_folders.launch(str(pytest_script), "--version"))

    assert (code, err) == (0, b"")
    assert out.startswith(b"pytest ")


async def test_a_virtual_environment_to_read_brings_its_python_and_its_path(
    launcher, box_folders, tmp_path
):
    """As a linked .venv of the repository, whose path the workspace has taken."""
    venv = box_folders.at / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    script(venv / "bin" / "tool", f"#!{venv}/bin/python\nimport sys; print(sys.prefix)\n")
    read = (str(venv),)

    by_name, err, _ = await run(launcher, box_folders.launch("tool", read=read))
    by_path, _, _ = await run(launcher, box_folders.launch(".venv/bin/tool", read=read))
    by_shell, _, _ = await run(launcher, box_folders.launch("sh", "-c", "tool", read=read))

    assert (by_name, err) == (f"{venv}\n".encode(), b"")
    assert by_name == by_path == by_shell


async def test_the_path_is_made_of_what_can_be_read(launcher, box_folders, tmp_path):
    node = tmp_path / "node_modules"
    (node / ".bin").mkdir(parents=True)
    single = script(tmp_path / "single" / "tool", "#!/bin/sh\n")
    read = (str(node), str(single))

    out, _, _ = await run(launcher, box_folders.launch("sh", "-c", "echo $PATH", read=read))

    expected = [str(node / ".bin"), str(single.parent), "/usr/local/bin", "/usr/bin", "/bin"]
    assert out.decode().strip().split(os.pathsep) == expected


async def test_a_program_that_a_shell_is_to_start_is_shown_with_all_it_needs(
    at_home, home, box_folders
):
    """K14: its links and its interpreter, as if it were started itself."""
    script(home / ".local/bin/reader", "#!/bin/sh\necho read by a reader\n")
    tool = link(home / "tool", script(home / "real/tool", "#!/usr/bin/env reader\n"))
    launch = box_folders.launch("sh", "-c", 'exec "$1"', "sh", str(tool))

    out, err, code = await run(at_home, msgspec.structs.replace(launch, programs=(str(tool),)))

    assert (out, code) == (b"read by a reader\n", 0), err
