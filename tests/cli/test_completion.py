"""NB13: completion of commands, options and names, asked for in a real shell."""

import shlex
import shutil
import subprocess
import sys

import pytest

BASH = """
source <(allstop completion bash)
COMP_WORDS=({words})
COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
compopt() {{ :; }}
_allstop_completion allstop
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
ZSH = """
compdef() {{ :; }}
source <(allstop completion zsh)
compadd() {{ print -l -- $completions; }}
_describe() {{ print -l -- ${{completions_with_descriptions%%:*}}; }}
words=({words}); CURRENT=${{#words}}
_allstop_completion
"""
FISH = """
allstop completion fish | source
complete --do-complete '{line}'
"""


@pytest.fixture
def here(person):
    """A person whose shell finds allstop."""
    program = person.home / "bin" / "allstop"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m allstop "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return person


def ask(person, shell, script):
    done = subprocess.run(
        [shell, "-c", script],
        cwd=person.repository,
        env=person.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stderr == ""
    return done.stdout.split()


def in_bash(person, *words):
    return ask(person, "bash", BASH.format(words=shlex.join(words)))


@pytest.mark.parametrize(
    ("words", "completions"),
    [
        (["allstop", "st"], ["status", "stats", "stop", "store"]),
        (["allstop", "add", "--it"], ["--iterations"]),
        (["allstop", "mode", ""], ["autopilot", "semi"]),
        (["allstop", "agents", "l"], ["login"]),
        (["allstop", "show", ""], ["T1", "parser"]),
        (["allstop", "show", "pa"], ["parser"]),
        (["allstop", "edit", "T1", "--needs", "p"], ["parser"]),
        (["allstop", "log", ""], ["T1", "parser", "board"]),
        (["allstop", "-C", ".", "stop", "bo"], ["board"]),
    ],
)
def test_bash_completes_commands_options_and_names(here, words, completions):
    here.allstop("add", "something")
    here.allstop("add", "something else", "--id", "parser")

    found = in_bash(here, *words)

    assert [each for each in found if each != "--help"] == completions


@pytest.mark.parametrize("words", [["nonsense", ""], ["show", "--nonsense", "x", "y", ""], ["'"]])
def test_a_wrong_command_line_shows_no_error(here, words):
    in_bash(here, "allstop", *words)  # which looks at standard error


def test_without_a_journal_there_are_no_names(here):
    assert in_bash(here, "allstop", "show", "") == []
    assert not (here.repository / ".allstop").exists()


def test_a_broken_journal_shows_no_error(here):
    here.allstop("add", "something")
    (here.repository / ".allstop" / "journal.db").write_bytes(b"no store" * 1000)

    assert in_bash(here, "allstop", "show", "") == []


def test_other_installed_shells_complete_commands_and_names(here):
    here.allstop("add", "something")

    if shutil.which("zsh"):
        assert ask(here, "zsh", ZSH.format(words="allstop st")) == [
            "status",
            "stats",
            "stop",
            "store",
        ]
        assert ask(here, "zsh", ZSH.format(words="allstop show T")) == ["T1"]
    if shutil.which("fish"):
        assert ask(here, "fish", FISH.format(line="allstop show T"))[0] == "T1"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_printed(person, shell):
    assert f"_ALLSTOP_COMPLETE={shell}_complete" in person.allstop("completion", shell)


def test_names_are_read_without_what_does_work(here):
    """As quickly as `allstop list`."""
    here.allstop("add", "something")
    here.variables = {
        "_ALLSTOP_COMPLETE": "bash_complete",
        "COMP_WORDS": "allstop log ",
        "COMP_CWORD": "2",
    }
    script = (
        "import atexit, sys; atexit.register(lambda: print('loaded', *sys.modules))\n"
        "from allstop.__main__ import main\nmain([])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=here.repository,
        env=here.environment,
        capture_output=True,
        text=True,
        check=True,
    )

    completions, _, modules = done.stdout.partition("loaded ")
    assert completions.split() == ["plain,T1", "plain,board"]
    assert not {"anyio", "asyncio", "rich", "starlette", "httpx2"} & set(modules.split())
