"""M4: which checks a change concerns, and their commands."""

import subprocess
from typing import NamedTuple

from allstop.core.gate import Check
from allstop.gate.affected import MAX_COMMAND_CHARS, commands, is_affected, needs_changes


class Changed(NamedTuple):
    path: str
    status: str = "M"


def test_m4_a_check_without_paths_concerns_everything():
    assert is_affected(Check(name="a", run="a"), [Changed("x")])
    assert not needs_changes([Check(name="a", run="a")])


def test_m4_paths_are_patterns_and_a_deleted_file_counts():
    check = Check(name="a", run="a", paths=("src/**", "*.toml"))

    assert is_affected(check, [Changed("docs/x"), Changed("src/a/b.py", "D")])
    assert not is_affected(check, [Changed("docs/x.toml"), Changed("lib/src.py")])


def test_m4_changed_files_are_quoted_after_the_end_of_options():
    check = Check(name="a", run="lint {changed} && touch {changed}", paths=("*.py",))
    files = [Changed("a b.py"), Changed("-x.py"), Changed("gone.py", "D"), Changed("c.txt")]

    assert commands(check, files) == ("lint -- 'a b.py' -x.py && touch 'a b.py' -x.py",)
    marked = Check(name="a", run="lint -- {changed}")
    assert commands(marked, [Changed("a.py")]) == ("lint -- a.py",)


def test_m4_without_a_changed_file_there_is_nothing_to_run():
    check = Check(name="a", run="lint {changed}", paths=("*.py",))

    assert commands(check, [Changed("c.txt")]) == ()
    assert commands(Check(name="a", run="lint"), []) == ("lint",)


def test_m4_a_shell_takes_the_commands_for_many_thousand_files():
    files = [Changed(f"{'folder/' * 10}file {number}'s.txt") for number in range(5000)]

    made = commands(Check(name="a", run="printf '%s\\n' {changed}"), files)
    said = [subprocess.check_output(["sh", "-c", each], text=True) for each in made]

    assert len(made) > 1
    assert max(map(len, made)) < 1.1 * MAX_COMMAND_CHARS
    lines = [line for text in said for line in text.splitlines() if line != "--"]
    assert lines == [each.path for each in files]
