"""What somebody meets who uses it for the first time, and does it wrong."""

import errno
import os

import pytest

from allstop.cli.output import report_error
from support.person import alive, wait_for

WORKS = """
cat >/dev/null
date >>b.txt
echo '<promise>COMPLETE</promise>'
"""
NO_SUCH_PROGRAM = """
[[verification.commands]]
name = "Tests"
run = "no-such-test-runner -q"
"""


def test_b9_a_check_that_cannot_be_run_costs_two_turns_and_says_why(person):
    person.agent(WORKS, settings=NO_SUCH_PROGRAM)

    said = person.allstop("run", "add a line", code=1)

    assert said.count("takes a turn") == 2
    assert "no-such-test-runner: not found (the target fails too)" in said
    assert "T1 blocked: Tests can't be run, on the target branch neither:" in said
    assert person.tasks() == {"T1": "blocked"}


def test_without_git_the_doctor_says_so_and_so_does_everything_else(person):
    person.agent(WORKS)
    person.variables["PATH"] = str(person.home / "bin")

    done = person.try_allstop("doctor")

    assert (done.returncode, done.stderr) == (1, "")
    assert "✗ git            not found\n  → install git" in done.stdout
    assert "Not ready: something" in done.stdout
    assert person.refuses("run", "add a line") == (
        "error: git: No such file or directory\nhint: install git\n"
    )


def test_outside_of_a_repository_no_task_is_taken_that_nobody_could_work_on(person, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    assert "this is no git repository" in person.refuses("-C", str(elsewhere), "add", "a task")
    assert "not in a git repository" in person.allstop("-C", str(elsewhere), "list")
    done = person.allstop("-C", str(elsewhere), "doctor")
    assert done.endswith("Not ready for tasks yet: see repository and agents.\n")


def test_a_repository_without_a_commit_is_refused_before_a_task_fails_in_it(person, tmp_path):
    person.repository = tmp_path / "home" / "new"
    person.repository.mkdir()
    person.git("init", "-q", "-b", "main", ".")
    person.agent(WORKS)

    assert person.refuses("run", "add a line").endswith(
        "error: there is no branch 'main' with a commit to start from\n"
        "hint: commit something to it first, or set [project] target in allstop.toml\n"
    )
    assert "✗ repository     there is no branch 'main'" in person.allstop("doctor", code=1)


def test_the_doctor_says_that_nothing_can_pass_and_leaves_nothing_behind(person):
    person.agent(WORKS, settings=NO_SUCH_PROGRAM)

    said = person.allstop("doctor", code=1)

    assert said.endswith('Not ready: the check "Tests" fails in the sandbox.\n')
    assert person.git("for-each-ref", "refs/allstop") == ""


def test_b14_a_check_that_is_not_required_keeps_the_doctor_from_nothing(person):
    style = "{name = 'Style', run = 'sleep 60', timeout = 0.3, required = false}"
    person.agent(WORKS, settings=f"[verification]\ncommands = [{style}]\n")

    said = person.allstop("doctor")

    assert "Style (optional) fails in the sandbox: it did not end within 0.3 s\n" in said
    assert said.endswith("Ready.\n")


UV = "[[verification.commands]]\nname = 'Tests'\nrun = 'uv run'\n"


def test_k14_the_doctor_names_the_program_and_its_version_inside(person):
    """K14: a program of one's own on PATH needs no setting."""
    person.program("uv", "#!/bin/sh\necho uv 1.2.3\n")
    person.agent(WORKS, settings=UV)

    said = person.allstop("doctor")

    assert f"✓ program        uv: uv 1.2.3 at {person.home}/bin/uv\n" in said
    assert said.endswith("Ready.\n")


def test_k14_uv_uses_the_venv_of_the_checkout_and_the_doctor_says_how_to_make_one(person):
    """K14: a linked .venv is read-only, so uv must neither change it nor download anything."""
    person.program("uv", '#!/bin/sh\necho "sync: ${UV_NO_SYNC:-yes}"\n')
    check = "[[verification.commands]]\nname = 'Tests'\nrun = 'uv run | grep \"sync: 1\"'\n"
    person.agent(WORKS, settings=check)
    person.write("uv.lock", "")
    person.write(".gitignore", ".venv\n")
    person.commit()

    without = person.allstop("doctor", code=1)
    (person.repository / ".venv").mkdir()
    within = person.allstop("doctor")

    assert "○ uv             there is no .venv: each check makes its own" in without
    assert "`uv sync` makes one" in without
    assert "there is no .venv" not in within


def test_k14_the_doctor_says_that_agents_without_a_network_reach_no_model(person):
    person.program("codex", "#!/bin/sh\n")
    person.write(
        "allstop.toml",
        "[agents.coder]\ndriver = 'codex'\napi_key_env = 'MINE'\n[sandbox]\nnetwork = 'none'\n",
    )
    person.variables["MINE"] = "sk-dummy-0123456789"
    person.allstop("trust", "--yes")

    said = person.allstop("doctor")

    assert "○ network" in said
    assert "coder can't reach a model" in said


def test_k14_the_doctor_tells_a_missing_program_from_one_that_is_not_shown(person):
    """K14: --fix writes the line that is missing, and keeps the rest of the file."""
    person.agent(WORKS, settings=f"# mine\n{UV}")
    missing = person.allstop("doctor", code=1)
    nothing = person.allstop("doctor", "--fix", code=1)
    program = person.home / ".local" / "bin" / "uv"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\necho uv 1.2.3\n")
    program.chmod(0o755)
    hidden = person.allstop("doctor", code=1)
    fixed = person.allstop("doctor", "--fix", code=1)
    person.commit()
    ready = person.allstop("doctor")

    line = '[sandbox] read = ["~/.local/bin/uv"]'
    assert "○ program        uv: not installed\n  → install it\n" in missing
    assert "Nothing to add to [sandbox] read.\n" in nothing
    assert f"uv: installed at {program}, which is not on your PATH\n  → add to" in hidden
    assert line in hidden
    assert f"Wrote {line} to allstop.toml: commit the file.\n" in fixed
    assert "# mine\n" in (person.repository / "allstop.toml").read_text()
    assert f"✓ program        uv: uv 1.2.3 at {program}\n" in ready


def test_k14_a_shim_without_a_version_is_named(person):
    shim = person.home / ".pyenv" / "shims" / "uv"
    (person.home / ".pyenv" / "versions").mkdir(parents=True)
    shim.parent.mkdir()
    shim.write_text("#!/bin/sh\n")
    shim.chmod(0o755)
    person.variables["PATH"] = f"{shim.parent}:{person.home}/bin:/usr/bin:/bin"
    person.agent(WORKS, settings=UV)

    said = person.allstop("doctor", code=1)

    assert f"uv: {shim} leads to no version that is in use\n" in said


@pytest.mark.parametrize(
    ("read", "why"),
    [("~", "contains your home, which is never shown"), ("~/none", "doesn't exist")],
)
def test_k14_a_path_that_no_sandbox_can_show_is_named(person, read, why):
    person.agent(WORKS, settings=f'[sandbox]\nread = ["{read}"]\n')

    accepted = person.allstop("trust", "--yes")
    said = person.allstop("doctor", code=1)

    assert f"note: {person.home}" in accepted
    assert why in accepted
    assert "✗ sandbox read" in said
    assert why in said


def test_k14_a_check_without_output_says_how_it_ended(person):
    person.agent(WORKS, settings="[verification]\ncommands = ['exit 7']\n")

    said = person.allstop("doctor", code=1)

    assert "fails in the sandbox: it ended with exit code 7 and printed nothing\n" in said


def test_k14_the_doctor_leaves_the_work_of_a_task_called_doctor_alone(person):
    person.agent("echo half >half.txt; exit 7", settings=NO_SUCH_PROGRAM)
    person.allstop("add", "--id", "doctor", "a task of that name")
    person.allstop("run", code=1)
    half = person.repository / ".allstop" / "workspaces" / "doctor" / "tree" / "half.txt"
    before = person.git("for-each-ref", "refs/allstop")

    person.allstop("doctor", code=1)

    assert half.read_text() == "half\n"
    assert person.git("for-each-ref", "refs/allstop") == before


def test_k3_who_stopped_everything_is_on_record_also_where_the_file_was_seen_first(person):
    person.agent("sleep 60")
    process = person.start("run", "sleep")
    wait_for(lambda: "takes a turn" in str(person.json("status")), "a turn")

    person.allstop("stop")

    process.wait(60)
    assert person.json("status")["stopped_by"] == "allstop stop"
    assert "Next: `allstop resume`." in person.allstop("status")


def test_b18_a_task_that_was_rolled_back_says_how_it_starts_again(person):
    person.agent(WORKS)
    person.allstop("run", "add a line")
    person.allstop("rollback", "T1")

    said = person.allstop("run", code=3)

    assert "○ T1 is held until you start it: allstop retry T1" in said


def test_b6_cleaning_up_after_a_task_that_is_not_there_is_refused(person):
    assert "there is no task 'T9'" in person.refuses("clean", "T9")


def test_k3_a_stop_that_nothing_can_hold_says_so(person):
    person.write(".allstop", "in the way of the folder\n")

    said = person.allstop("stop", code=1)

    assert said.endswith("nothing keeps runs from starting again.\n")


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_what_the_machine_refuses_is_said_without_a_trace(code, capsys):
    refused = OSError(code, os.strerror(code), "/home/p/.allstop/STOP")

    assert report_error(refused) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: /home/p/.allstop/STOP: {os.strerror(code)}\nhint: ")


def test_a_mistake_of_ours_keeps_its_trace():
    with pytest.raises(FileNotFoundError):
        report_error(FileNotFoundError(errno.ENOENT, "No such file or directory", "a-file-of-ours"))


def test_k19_who_is_not_found_in_a_file_that_does_not_count_yet_is_told_so(person):
    person.write("allstop.toml", "[loop]\nmax_parallel = 2\n")
    person.commit()
    person.agent(WORKS)

    told = "allstop.toml has changes that aren't on main: they don't apply yet."

    assert f"error: no agent is configured\nhint: {told}\n" in person.refuses("run", "add a line")
    assert f"hint: configured: none; {told}\n" in person.refuses("run", "a", "--agent", "mine")
    assert f"hint: configured: none; {told}\n" in person.refuses("room", "talk", "--agents", "mine")
    assert person.allstop("agents") == f"No agent is configured.\nnote: {told}\n"
    assert f"○ changes        {told}\n  → commit them\n" in person.allstop("doctor", "--quick")


def test_b23_where_the_file_names_no_agent_another_init_is_not_what_helps(person):
    person.write("allstop.toml", "[loop]\nmax_parallel = 2\n")

    said = person.refuses("run", "add a line")

    assert "hint: describe one under [agents.NAME] in allstop.toml\n" in said
    assert "→ describe one under [agents.NAME]" in person.allstop("doctor", "--quick")


def test_k3_a_stop_in_the_wrong_folder_says_where_it_looked(person, tmp_path):
    mark = f"60.{os.getpid()}"
    person.agent(f"sleep {mark}")
    process = person.start("run", "sleep")
    wait_for(lambda: alive(f"sleep {mark}"), "the agent")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    nowhere = person.allstop("-C", str(elsewhere), "stop")
    there = person.allstop("stop")
    process.wait(60)
    again = person.allstop("stop")

    assert (
        "nothing was running here, and this is not a git repository: use `allstop -C PATH"
        in nowhere
    )
    assert "killed     board/" in there
    assert f"nothing was running in {person.repository}\n" in again


def test_b8_a_run_that_is_refused_for_want_of_its_program_leaves_nothing_on_the_board(person):
    person.agent(WORKS)
    (person.home / "bin" / "my-agent").unlink()

    said = person.refuses("run", "add a line")

    assert "the program 'my-agent' is not on PATH\n" in said
    assert person.tasks() == {}


def test_b8_the_doctor_finds_a_program_of_the_repository_that_no_clone_would_have(person):
    """B8: what starts is the file that is committed, not the one in the checkout."""
    person.agent(WORKS)
    settings = (person.repository / "allstop.toml").read_text()
    person.write("allstop.toml", settings.replace('"my-agent"', '"./tools/agent.sh"'))
    person.write("tools/agent.sh", "#!/bin/sh\n" + WORKS)

    missing = person.allstop("doctor", "--quick", code=1)
    failed = person.allstop("run", "add a line", code=1)
    person.commit()
    plain = person.allstop("doctor", "--quick", code=1)
    (person.repository / "tools" / "agent.sh").chmod(0o755)
    person.commit()

    assert "→ it is not on main, where work starts: commit it" in missing
    assert "program ./tools/agent.sh was not found: commit it first" in failed
    assert "→ it is not executable on main: chmod +x it, and commit that" in plain
    assert "✓ agent mine     ./tools/agent.sh\n" in person.allstop("doctor", "--quick")


def test_b8_the_doctor_trusts_a_program_that_a_clone_is_given_otherwise(person):
    person.agent(WORKS, settings='[workspace]\nlink = [".venv"]\n')
    settings = (person.repository / "allstop.toml").read_text()
    person.write("allstop.toml", settings.replace('"my-agent"', '".venv/bin/agent"'))

    assert "✓ agent mine     .venv/bin/agent\n" in person.allstop("doctor", "--quick")


@pytest.mark.parametrize(
    ("agent", "code", "hint"),
    [
        ("exit 7", 1, "`allstop retry T1` makes it ready again"),
        (WORKS, 3, "`allstop approve T1` merges its work, `allstop redo T1` sends it back"),
    ],
)
def test_b6_what_cannot_be_started_as_it_stands_says_what_helps(person, agent, code, hint):
    person.agent(agent, settings="")
    person.allstop("run", "add a line", code=code)

    assert f"it can't be started\nhint: {hint}\n" in person.refuses("run", "T1")


def test_runs_are_named_to_whoever_mistypes_one_as_people_call_them(person):
    person.agent(WORKS)
    person.allstop("run", "add a line")
    person.allstop("run", "add another")

    assert "hint: runs here: board, T1, T2\n" in person.refuses("log", "T7")


def test_b20_a_task_that_nobody_works_on_is_not_taken_and_says_what_helps(person):
    person.agent(WORKS, settings="")
    person.allstop("run", "add a line", code=3)
    person.allstop("add", "another")

    assert "hint: `allstop approve T1` continues it\n" in person.refuses("take", "T1")
    assert "hint: `allstop run T2` starts it\n" in person.refuses("take", "T2")
