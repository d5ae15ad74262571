"""The commands init, config and trust, and whose allstop.toml counts."""

import json
import subprocess
import sys

import pytest

WARNING = """\
Warning: No verification commands configured

Tasks will complete on COMPLETE signal without validation.
Consider adding verification commands to ensure code quality.

Suggestion: Add to allstop.toml:
  [verification]
  commands = ["your test command"]
"""

HOOK = '[hooks]\npost_merge = "echo merged"\n'
OTHER_HOOK = '[hooks]\npost_merge = "echo something else"\n'


def commit(person, message="settings"):
    person.git("add", "-A")
    person.git("commit", "-q", "-m", message)


def config(person, *arguments):
    return json.loads(person.allstop(*arguments, "config", "--json"))


def value(person, key, *arguments):
    found = {row["key"]: row["value"] for row in config(person, *arguments)["settings"]}
    return found[key]


def test_b15_init_warns_where_it_finds_no_checks(person):
    assert WARNING in person.allstop("init")


def test_b15_init_warns_in_json_too(person):
    told = json.loads(person.allstop("init", "--json"))

    assert told["warnings"] == [{"code": "VERIFICATION_EMPTY", "text": WARNING.rstrip("\n")}]


def test_b15_init_warns_of_nothing_where_it_finds_some(person):
    person.write("Makefile", "test:\n\ttrue\n")

    said = person.allstop("init")

    assert "make test" in said
    assert "Warning" not in said


def test_b21_what_init_writes_says_how_work_is_reviewed_and_merged(person):
    person.allstop("init")

    text = (person.repository / "allstop.toml").read_text()
    assert '[review]\nmode = "batch"' in text
    assert "[merge]\nenabled = true" in text
    assert len(text.splitlines()) < 35
    assert value(person, "review.mode") == "batch"


def test_k9_init_takes_a_program_of_ones_own(person):
    person.program(
        "my-agent.sh", "cat >/dev/null; date >>b.txt; echo '<promise>COMPLETE</promise>'"
    )

    said = person.allstop("init", "--agent", "my-agent.sh --flag 'two words'")

    assert "  agent  my-agent   (a program of yours)\n" in said
    assert value(person, "loop.agent") == "my-agent"
    assert value(person, "agents.my-agent.command") == ["my-agent.sh", "--flag", "two words"]
    person.allstop("run", "add a line", code=3)
    assert person.tasks() == {"T1": "review"}


def test_the_doctor_lines_up_what_it_finds_of_agents_with_long_names(person):
    person.program("an-agent-of-many-words", "true")
    person.allstop("init", "--agent", "an-agent-of-many-words")

    lines = person.allstop("doctor").splitlines()[:-1]

    start = 2 + len("agent an-agent-of-many-words")
    found = [line for line in lines if line[0] in "✓✗○"]
    assert len(found) > 5
    assert {(line[start], line[start + 1] == " ") for line in found} == {(" ", False)}


def test_init_takes_the_scripted_agent_by_its_name(person):
    person.allstop("init", "--agent", "scripted")

    assert value(person, "loop.agent") == "scripted"
    assert value(person, "agents.scripted.driver") == "scripted"


@pytest.mark.parametrize(
    ("line", "name"),
    [("./bin/Fix It!.py", "fix-it"), ("you", "mine"), ("☃", "mine"), ("/opt/agent", "agent")],
)
def test_init_gives_a_program_a_name_that_can_be_said(person, line, name):
    person.allstop("init", "--agent", f"'{line}'")

    assert value(person, "loop.agent") == name


@pytest.mark.parametrize("line", ["my-agent 'half", "''", " "])
def test_init_refuses_what_is_no_command_line(person, line):
    assert "hint: " in person.refuses("init", "--agent", line)
    assert not (person.repository / "allstop.toml").exists()


def test_b23_after_init_the_checkouts_file_counts_until_it_is_committed(person):
    person.allstop("init")
    before = config(person)["notes"]

    commit(person)

    assert before == ["allstop.toml isn't committed on main: the one in your checkout applies."]
    assert config(person)["notes"] == []


def test_k19_what_is_not_on_the_target_branch_does_not_count_yet(person):
    person.write("allstop.toml", "[loop]\nmax_iterations = 5\n")
    commit(person)

    person.write("allstop.toml", "[loop]\nmax_iterations = 500\n")

    assert value(person, "loop.max_iterations") == 5
    assert config(person)["notes"] == [
        "allstop.toml has changes that aren't on main: they don't apply yet."
    ]
    assert value(person, "loop.max_iterations", "--set", "loop.max_iterations=7") == 7


def test_k19_a_staged_change_and_a_tag_of_the_branchs_name_are_not_the_branch(person):
    person.write("allstop.toml", "[loop]\nmax_iterations = 6\n")
    commit(person)
    person.git("tag", "main")
    person.write("allstop.toml", "[loop]\nmax_iterations = 7\n")
    commit(person)
    person.write("allstop.toml", "[loop]\nmax_iterations = 8\n")
    person.git("add", "-A")

    assert value(person, "loop.max_iterations") == 7


def test_k19_on_another_branch_the_targets_file_counts(person):
    person.write("allstop.toml", '[project]\ntarget = "main"\n\n[loop]\nmax_iterations = 5\n')
    commit(person)
    person.git("checkout", "-q", "-b", "feature")
    person.write("allstop.toml", '[project]\ntarget = "main"\n\n[loop]\nmax_iterations = 99\n')
    commit(person)

    assert value(person, "loop.max_iterations") == 5


def test_b23_in_a_repository_without_a_commit_the_checkouts_file_counts(person):
    person.git("update-ref", "-d", "refs/heads/main")
    person.write("allstop.toml", "[loop]\nmax_iterations = 5\n")

    assert value(person, "loop.max_iterations") == 5


def test_k19_a_branch_that_git_cannot_read_is_not_taken_for_one_without_a_file(person):
    person.write("allstop.toml", '[project]\ntarget = "main"\n')
    (person.repository / ".git" / "HEAD").write_text("nonsense\n")

    told = person.try_allstop("config")

    assert told.returncode == 2
    assert "git can't read allstop.toml on main" in told.stderr


def test_k19_status_needs_no_settings_at_all(person):
    person.write("allstop.toml", "[loop\n")

    assert "Nothing has been run here yet" in person.allstop("status")


def test_b22_a_hook_on_the_branch_counts_once_that_very_text_is_trusted(person):
    person.write("allstop.toml", HOOK)
    commit(person)
    before = value(person, "hooks.post_merge")

    person.allstop("trust", "--yes")
    trusted = value(person, "hooks.post_merge")
    person.write("allstop.toml", OTHER_HOOK)
    commit(person)

    assert (before, trusted) == (None, "echo merged")
    assert value(person, "hooks.post_merge") is None


def test_b22_trust_covers_what_counts_and_what_will_when_it_is_committed(person):
    person.write("allstop.toml", HOOK)
    commit(person)
    person.write("allstop.toml", OTHER_HOOK)

    shown = person.allstop("trust", "--yes")
    now = value(person, "hooks.post_merge")
    commit(person)

    assert shown.count("hooks.post_merge") == 1
    assert (now, value(person, "hooks.post_merge")) == ("echo merged", "echo something else")
    assert "nothing to accept" in person.allstop("trust")


def test_b22_trust_of_the_checkout_alone_is_asked_for_before_it_is_committed(person):
    person.write("allstop.toml", HOOK)
    commit(person)
    person.allstop("trust", "--yes")

    person.write("allstop.toml", OTHER_HOOK)

    told = json.loads(person.allstop("trust", "--json"))
    assert told["asked"] == {"hooks": {"post_merge": "echo something else"}}
    assert len(told["untrusted"]) == 1


def test_k15_init_accepts_what_it_wrote_and_not_what_the_branch_asks_for(person):
    person.write("allstop.toml", HOOK)
    commit(person)
    (person.repository / "allstop.toml").unlink()

    person.allstop("init")

    assert value(person, "hooks.post_merge") is None
    assert "hooks.post_merge" in config(person)["untrusted"][0]


def test_a_reader_that_goes_away_gets_no_trace(person):
    """As after `| head`."""
    process = subprocess.Popen(
        [sys.executable, "-m", "allstop", "config"],
        cwd=person.repository,
        env=person.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.close()
    complaint = process.stderr.read()
    process.stderr.close()

    assert process.wait(timeout=60) == 141
    assert complaint == ""


@pytest.mark.parametrize(
    "command",
    [
        ("doctor",),
        ("agents", "test", "demo"),
        ("auto", "Make a zebra"),
        ("run", "Make a zebra"),
        ("stop",),
    ],
)
def test_k14_whatever_comes_first_its_folder_is_for_this_person_only_and_out_of_git(
    person, command
):
    """K14: the record has all that was said; others of the machine can't read it."""
    person.script('[[turn]]\nsteps = [{ say = "x" }, { signal = "COMPLETE" }]\n')
    commit(person)
    person.allstop("trust", "--yes")

    person.try_allstop(*command)

    folder = person.repository / ".allstop"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / ".gitignore").read_text() == "*\n"


def test_init_writes_over_nothing_that_has_the_name_of_its_file(person):
    (person.repository / "allstop.toml").symlink_to("nowhere")

    assert "allstop.toml is there already" in person.refuses("init")


def test_doctor_does_not_advise_to_commit_a_mistake(person):
    person.script("[[turn]]\n")
    commit(person)
    person.write("allstop.toml", "[lop]\n")

    said = person.try_allstop("doctor").stdout

    assert "lop: unknown section (did you mean loop?)" in said
    assert "→ fix it, then commit it" in said
