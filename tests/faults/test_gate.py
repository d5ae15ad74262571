"""B14 to B16: the gate with real commands."""

import pytest

from support.person import MERGE_AT_ONCE, alive, wait_for

DONE = "\necho '<promise>COMPLETE</promise>'\n"
ONCE = MERGE_AT_ONCE + "[loop]\nmax_iterations = 1\n"


@pytest.fixture
def mark(tmp_path):
    return str(90_000_000 + abs(hash(str(tmp_path))) % 9_999_999)


def checked(person, settings, script="echo x >x", code=0):
    person.agent(script + DONE, settings=ONCE + settings)
    person.commit()
    done = person.try_allstop("run", "do it")
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def test_b14_a_check_that_takes_too_long_is_ended_with_all_it_started(person, mark):
    """B14: it leaves no process behind, and its time is said."""
    said = checked(
        person,
        f"""
[[verification.commands]]
name = "Slow"
run = "(trap '' TERM HUP; setsid sleep {mark}) & sleep {mark}"
timeout = 1
""",
        code=4,
    )

    assert "✗ Slow TIMEOUT (1s / 1s)" in said
    assert alive(f"sleep {mark}") == []
    assert person.merged() == []


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        ('run = "false"', "VERIFICATION_FAILED", "Slow: exit code 1"),
        ('run = "sleep 60"\ntimeout = 1', "VERIFICATION_TIMEOUT", "Command timed out after 1s"),
    ],
)
def test_b14_how_a_gate_ended_has_a_code_wherever_it_is_told(person, command, code, words):
    """B14: in the log, in JSON, and in the next prompt."""
    person.agent(
        "grep VERIFICATION_; echo x >x" + DONE,
        settings=MERGE_AT_ONCE
        + f'[loop]\nmax_iterations = 2\nno_progress_turns = 0\n[[verification.commands]]\nname = "Slow"\n{command}\n',
    )
    person.commit()

    said = person.allstop("run", "do it", code=4)

    assert f"✗ {code}: 0 of 1 passed; Slow: " in said
    assert words in said
    log = person.allstop("log", "T1", "--json")
    assert f'"error":"{code}"' in log
    assert person.json("show", "T1")["verification"] == code
    assert f"{code}: You said the work is complete. These checks disagree:" in log


def test_b14_the_first_required_failure_ends_the_gate(person):
    """B14: in order; `keep_going` runs the rest too."""
    commands = 'commands = ["true", "false", "touch reached"]\n'

    said = checked(person, f"[verification]\n{commands}", code=4)

    assert "✓ true passed" in said
    assert "✗ false failed with exit code 1" in said
    assert "touch reached passed" not in said
    person.agent(
        "echo y >y" + DONE, settings=ONCE + f"[verification]\nkeep_going = true\n{commands}"
    )
    person.commit()
    assert "✓ touch reached passed" in person.allstop("run", "another", code=4)


def test_b14_a_check_that_is_not_required_is_only_told(person):
    said = checked(
        person,
        """
[[verification.commands]]
name = "Style"
run = "exit 3"
required = false
[[verification.commands]]
name = "Tests"
run = "true"
""",
    )

    assert "⚠ Style failed with exit code 3 (0s / 300s), not required" in said
    assert "✓ 1 of 2 passed; warning: Style: exit code 3 (not required)" in said
    assert "✗" not in said
    assert person.merged() == ["T1"]


def test_b14_a_check_that_is_not_required_and_takes_too_long_is_only_told(person, mark):
    """B14: the row "command times out, required: false": log a warning, and continue."""
    said = checked(
        person,
        f"""
[[verification.commands]]
name = "Style"
run = "(trap '' TERM HUP; setsid sleep {mark}) & sleep {mark}"
timeout = 1
required = false
[[verification.commands]]
name = "Tests"
run = "true"
""",
    )

    timed_out = "Style: Command timed out after 1s (not required)"
    assert "⚠ Style TIMEOUT (1s / 1s), not required" in said
    assert f"✓ 1 of 2 passed; warning: {timed_out}" in said
    assert "✗" not in said
    assert alive(f"sleep {mark}") == []
    assert person.merged() == ["T1"]
    log = person.allstop("log", "T1")
    assert "⚠ Style TIMEOUT (1s / 1s), not required" in log
    assert f"✓ 1 of 2 passed; warning: {timed_out}" in log
    assert "✗" not in log
    shown = person.allstop("show", "T1")
    assert f"check        ⚠ {timed_out}" in shown
    assert "check        ✓ Tests" in shown


def test_b14_a_stop_ends_a_running_check_too(person, mark):
    """K2: checks are put down like agents."""
    person.agent(
        "echo x >x" + DONE, settings=ONCE + f'[verification]\ncommands = ["sleep {mark}"]\n'
    )
    process = person.start("run", "do it")
    wait_for(lambda: alive(f"sleep {mark}"), "the check")

    person.allstop("stop")

    assert alive(f"sleep {mark}") == []
    assert process.wait(60) == 130
    assert person.merged() == []


def test_b15_without_commands_it_passes_with_a_warning_and_what_was_found(person):
    """B15: VERIFICATION_EMPTY's text, and what this repository has."""
    person.write("pyproject.toml", "[tool.pytest.ini_options]\n")
    person.agent("echo x >x" + DONE, settings=ONCE)
    person.commit()

    done = person.try_allstop("run", "do it")

    assert done.returncode == 0
    assert "Warning: No verification commands configured" in done.stderr
    assert "Tasks will complete on COMPLETE signal without validation." in done.stderr
    assert 'commands = ["pytest' in done.stderr
    log = person.allstop("log", "T1")
    assert "VERIFICATION_EMPTY: No verification configured. Tasks will complete on COMPLETE" in log
    assert 'Suggestion: commands = ["pytest' in log
    assert person.merged() == ["T1"]


def test_b15_required_verification_that_is_missing_is_refused(person):
    person.agent("echo x >x" + DONE, settings=ONCE + "[verification]\nrequired = true\n")

    said = person.refuses("run", "do it")

    assert "no verification commands are configured" in said
    assert "[[verification.commands]]" in said
    assert person.tasks() == {}


CHEATS = "echo true >tests/check.sh; echo x >x"


@pytest.mark.parametrize(("protection", "code", "merged"), [("report", 0, ["T1"]), ("fail", 4, [])])
def test_b16_a_protected_test_that_was_changed_is_shown_or_fails_or_is_undone(
    person, protection, code, merged
):
    """B16: the tests say no; the agent makes them say yes."""
    person.write("tests/check.sh", "false\n")

    said = checked(
        person,
        f'[verification]\nprotection = "{protection}"\ncommands = ["sh tests/check.sh"]\n',
        script=CHEATS,
        code=code,
    )

    is_failure = protection == "fail"
    told = (
        "protected tests/check.sh: changed" if is_failure else "protected (changed): tests/check.sh"
    )
    assert told in said
    assert person.merged() == merged


def test_b16_the_checks_see_the_commit_and_not_what_lies_around(person):
    """B16: an ignored file that the agent left can't make them pass."""
    person.write(".gitignore", "lies\n")

    said = checked(
        person,
        '[verification]\ncommands = ["test -f lies"]\n',
        script="touch lies; echo x >x",
        code=4,
    )

    assert "✗ test -f lies failed with exit code 1" in said


def test_b16_what_a_check_writes_is_not_the_tasks_work(person):
    checked(person, '[verification]\ncommands = ["echo made >by-the-check; echo y >>x"]\n')

    assert not (person.repository / "by-the-check").exists()
    assert (person.repository / "x").read_text() == "x\n"


STRICTER = """
case "$(cat)" in
*harden*) printf '[verification]\\ncommands = ["test -f %s"]\\n' required-file >>allstop.toml ;;
*) echo x >x ;;
esac
"""


def test_k19_b16_a_gate_that_a_task_brought_in_holds_for_the_next_one(person):
    """K19: what the target's commit says counts, not what it said when the board started."""
    person.agent(STRICTER + DONE, settings=ONCE + "max_parallel = 1\n")
    person.commit()
    person.allstop("add", "harden it")
    person.allstop("add", "then this", "--needs", "T1")

    said = person.allstop("run", code=4)

    assert person.merged() == ["T1"]
    assert "✗ test -f required-file failed with exit code 1" in said
    assert person.tasks() == {"T1": "done", "T2": "timeout"}
    assert "decisions come out the same" in person.allstop("replay", "T2")


def test_b22_a_setup_that_a_task_brought_in_is_run_for_the_next_one(person):
    """B22: in its workspace and where it is checked, as the target's commit says by then."""
    person.agent(
        """
case "$(cat)" in
*prepare*) printf '[workspace]\\nsetup = "echo made >>~/made"\\n' >>allstop.toml ;;
*) cp ~/made made.txt ;;
esac
"""
        + DONE,
        settings=ONCE + 'max_parallel = 1\n[verification]\ncommands = ["cat ~/made || true"]\n',
    )
    person.commit()
    person.allstop("add", "prepare it")
    person.allstop("add", "then this", "--needs", "T1")

    person.allstop("run")

    assert person.merged() == ["T1", "T2"]
    assert person.git("show", "main:made.txt") == "made"


def test_k19_a_broken_file_on_the_target_leaves_the_last_gate(person):
    """A person has committed it while an agent works."""
    person.agent(
        "touch ~/began; while [ ! -e ~/may-end ]; do sleep 0.05; done; echo x >x" + DONE,
        settings=ONCE + '[verification]\ncommands = ["test ! -f x"]\n',
    )
    person.commit()
    running = person.start("run", "do it")
    home = person.repository / ".allstop" / "workspaces" / "T1" / "home"
    wait_for((home / "began").exists, "the agent")
    person.write("allstop.toml", "not toml")
    person.commit("broken")
    (home / "may-end").touch()

    said = running.communicate(timeout=120)[0]

    assert "allstop.toml on main is invalid; the last gate stays" in said
    assert person.merged() == []
    assert "✗ test ! -f x" in said


def test_k19_what_the_gates_clone_lacks_is_on_record_and_shown(person):
    """K19: files of Git LFS are pointers there, so that the checks saw something else."""
    person.write(".gitattributes", "*.bin filter=lfs\n")
    person.write("a.bin", "pointer\n")
    person.agent(
        "echo x >x" + DONE, settings=MERGE_AT_ONCE + '[verification]\ncommands = ["true"]\n'
    )
    person.commit()

    said = person.allstop("run", "do it")

    note = "files kept by Git LFS are pointers here"
    assert f"note         {note}" in person.allstop("show", "T1")
    assert person.json("show", "T1")["notes"] == [note]
    for told in (said, person.allstop("log", "T1")):
        assert f"warning: {note}" in told.partition("1 of 1 passed")[2]


@pytest.mark.parametrize("protection", ["report", "restore"])
@pytest.mark.parametrize("text", ["[loop", "[loop]\\nmax_paralel = 2"])
def test_k19_settings_that_cannot_be_read_are_never_merged(person, text, protection):
    """K19: they would stop all later work, so no kind of protection lets them pass."""
    said = checked(
        person,
        f"[verification]\nprotection = '{protection}'\n",
        f"printf '{text}\\n' >allstop.toml",
        code=4,
    )

    assert "✗ invalid settings allstop.toml: " in said
    assert person.merged() == []


def test_k19_changed_settings_that_can_be_read_are_only_pointed_out(person):
    said = checked(person, "", "echo >>allstop.toml")

    assert "! protected (changed): allstop.toml" in said
    assert person.merged() != []


def test_k19_work_is_rolled_back_although_the_settings_cannot_be_read(person):
    """The last valid settings apply, and that is said."""
    checked(person, "")
    valid = person.git("rev-parse", "--short=10", "HEAD~1")
    person.write("allstop.toml", "[loop")
    person.commit()

    told = person.try_allstop("rollback", "T1")

    assert told.returncode == 0, told.stdout + told.stderr
    assert not (person.repository / "x").exists()
    assert "not valid TOML" in told.stderr
    assert "The allstop.toml of commit " in told.stderr, valid
    assert "Nothing to clean" in person.allstop("clean")
    for command in (("status",), ("log", "T1"), ("stop",)):
        person.allstop(*command)
