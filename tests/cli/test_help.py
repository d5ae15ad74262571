"""NB13: the help is grouped and fits a terminal; every command describes itself."""

import os
import shlex

import click
import pytest

from allstop.cli import COMMANDS, group
from project import project_files
from support import in_process

ENTRIES = {name: entry for part in COMMANDS.values() for name, entry in part.items()}


def commands():
    """Every command and subcommand, with its words."""
    context = click.Context(group, info_name="allstop")
    for name in ENTRIES:
        command = group.get_command(context, name)
        yield (name,), command
        if isinstance(command, click.Group):
            yield from (((name, inner), each) for inner, each in command.commands.items())


def test_the_help_has_headed_groups_of_one_line_per_command(person):
    lines = person.allstop("--help").splitlines()

    assert [f"{heading}:" for heading in COMMANDS] == [
        line for line in lines if line.endswith(":") and line != "Options:"
    ]
    assert [line.split()[0] for line in lines[lines.index("Start work:") :] if line[:1] == " "] == [
        *ENTRIES
    ]
    assert max(map(len, lines)) <= 78


@pytest.mark.parametrize("name", ENTRIES)
def test_the_line_of_a_command_is_the_first_sentence_of_its_own_help(name):
    command = group.get_command(click.Context(group), name)

    assert ENTRIES[name].summary == command.get_short_help_str(80).removesuffix(".")


@pytest.mark.parametrize(
    ("words", "command"), [pytest.param(*each, id=" ".join(each[0])) for each in commands()]
)
def test_every_option_of_a_command_is_described(words, command):
    options = [each for each in command.params if isinstance(each, click.Option)]

    assert command.help
    assert [each.opts[0] for each in options if not each.help] == []


def examples():
    lines = [line for _, each in commands() for line in (each.help or "").splitlines()]
    return [line.strip() for line in lines if line.strip().startswith("allstop ")]


@pytest.mark.parametrize("example", examples())
def test_every_example_of_the_help_is_a_command_with_its_options(example):
    words = shlex.split(example.partition("   ")[0].partition("|")[0].partition(" -- ")[0])[1:]

    asked = in_process.run_here([*words, "--help"], project_files.ROOT, dict(os.environ))

    assert asked.returncode == 0, asked.stderr
