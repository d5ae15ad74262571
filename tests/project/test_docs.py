"""Checks of the documentation: the commands, options, paths and links on each page exist."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

import allstop
from allstop.adapters.agents.script import Step, read_script
from allstop.core.moves import FailureKind
from allstop.core.room_specs import Ending
from allstop.settings.loader import load
from allstop.settings.model import Settings
from allstop.settings.sources.environment import Environment
from project import project_files
from support import in_process
from support.cases import for_each

PLANS = {"ROADMAP.md", "CHANGELOG.md", "docs/requirements.md"}
"""Pages that also speak of what isn't there yet."""

MOST_WORDS_OF_DESIGN = 2_500

NAMES_FILES = ["docs/design.md", "docs/glossary.md", "CONTRIBUTING.md"]
"""Pages whose paths in backticks are paths of this tree."""

FILE_PATH = re.compile(r"[A-Za-z_.]+(?:/[A-Za-z0-9_.-]+)+/?")
OTHER_PATHS = (".allstop/", "refs/", "allstop/")
"""Paths of a user's repository, which is not this tree."""

PLANNED = re.compile(r"<!-- planned.*?<!-- /planned -->", re.DOTALL)
"""A passage about files that don't exist yet."""

LINK = re.compile(r"\[[^\]]*\]\(([^)\s#]+)(?:#[^)]*)?\)")
TARGET = re.compile(r"^([a-z][a-z-]*):", re.MULTILINE)
MAKE = re.compile(r"(?:^|[\s;&])make ([a-z][a-z-]*)", re.MULTILINE)
ENDS_A_COMMAND = {"|", "||", "&", "&&", ";", ">", ">>", "<", "2>"}


def targets() -> set[str]:
    return set(TARGET.findall(project_files.text(project_files.ROOT / "Makefile")))


def code_of(page: Path) -> str:
    """The code on a page that people may type: shell blocks, and code within sentences."""
    words = project_files.text(page)
    return "\n".join(
        [*project_files.blocks(words, "", "sh", "bash", "console"), *project_files.inline(words)]
    )


def commands_in(code: str) -> Iterator[tuple[str, ...]]:
    """The arguments of every `allstop …` in it."""
    for line in code.splitlines():
        command = line.strip().removeprefix("$ ")
        if re.match(r"allstop(\s|$)", command):
            yield tuple(_until_the_end(command))


def _until_the_end(command: str) -> Iterator[str]:
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    for word in list(lexer)[1:]:
        if word in ENDS_A_COMMAND:
            return
        yield word


def shown_commands() -> list[tuple[str, ...]]:
    pages = [page for page in project_files.pages() if project_files.name(page) not in PLANS]
    return sorted({command for page in pages for command in commands_in(code_of(page))})


@pytest.mark.parametrize(
    ("code", "commands"),
    [
        ("$ allstop stop", [("stop",)]),
        ("allstop run \"fix it\" --parallel 2  # a note", [("run", "fix it", "--parallel", "2")]),
        ("allstop log RUN | tail", [("log", "RUN")]),
        ("allstop", [()]),
        ("allstop.toml\n.allstop/STOP\npip install allstop", []),
    ],
)  # fmt: skip
def test_commands_are_found_in_code(code, commands):
    assert list(commands_in(code)) == commands


@for_each("command", shown_commands, ids=" ".join)
def test_every_command_a_page_shows_exists_with_its_options(command):
    asked = in_process.run_here([*command, "--help"], project_files.ROOT, dict(os.environ))

    assert asked.returncode == 0, asked.stderr
    assert "Usage:" in asked.stdout


@for_each(
    "page",
    lambda: [each for each in project_files.pages() if project_files.name(each) not in PLANS],
    ids=project_files.name,
)
def test_every_make_target_a_page_shows_exists(page):
    assert set(MAKE.findall(code_of(page))) <= targets()


def test_the_readme_shows_how_to_see_it_and_how_to_test_it():
    shown = MAKE.findall(code_of(project_files.ROOT / "README.md"))

    assert {"demo", "test"} <= set(shown)


@for_each("page", project_files.pages, ids=project_files.name)
def test_every_link_to_a_file_leads_somewhere(page):
    links = [link for link in LINK.findall(project_files.text(page)) if "://" not in link]

    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_design_stays_short():
    words = project_files.text(project_files.ROOT / "docs" / "design.md").split()

    assert len(words) <= MOST_WORDS_OF_DESIGN


def paths_in(page: str) -> list[str]:
    """Every path in backticks: from the root, or from src/allstop without the suffix .py."""
    return [
        code
        for code in project_files.inline(PLANNED.sub("", page))
        if FILE_PATH.fullmatch(code) and "NAME" not in code and not code.startswith(OTHER_PATHS)
    ]


def is_in_tree(path: str) -> bool:
    package = project_files.ROOT / "src" / "allstop"
    places = [project_files.ROOT / path, package / path, package / f"{path}.py"]
    return any(place.exists() for place in places)


@pytest.mark.parametrize(
    ("page", "paths"),
    [
        ("see `core/run` and `src/allstop/core/run.py`", ["core/run", "src/allstop/core/run.py"]),
        ("`.allstop/live`, `refs/allstop/tip`, `allstop/T1`, `adapters/agents/NAME.py`", []),
        ("`allstop run`, `[a] b/c`, a/b without backticks, `kinds`", []),
        ("<!-- planned: later --> `app/later` <!-- /planned --> `core/ids`", ["core/ids"]),
    ],
)
def test_paths_are_found_in_a_page(page, paths):
    assert paths_in(page) == paths


@pytest.mark.parametrize("page", NAMES_FILES)
def test_every_path_that_a_page_names_exists(page):
    paths = paths_in(project_files.text(project_files.ROOT / page))

    assert paths
    assert [path for path in paths if not is_in_tree(path)] == []


@pytest.mark.parametrize("page", project_files.pages(), ids=project_files.name)
def test_every_source_file_that_a_page_names_exists(page):
    paths = [path for path in paths_in(project_files.text(page)) if path.startswith("src/allstop/")]

    assert [path for path in paths if not is_in_tree(path)] == []


def test_every_page_of_the_documentation_is_on_its_map():
    index = project_files.ROOT / "docs" / "index.md"
    linked = {(index.parent / link).resolve() for link in LINK.findall(project_files.text(index))}
    pages = {page for page in project_files.pages() if project_files.name(page).startswith("docs/")}

    assert {project_files.name(page) for page in pages - linked} == {"docs/index.md"}


def test_the_changelog_knows_the_current_version():
    headings = re.findall(r"^## \[?([^\]\s]+)\]?", project_files.text(project_files.ROOT / "CHANGELOG.md"), re.MULTILINE)  # fmt: skip

    assert allstop.__version__ in headings


@pytest.mark.parametrize("page", ["settings", "commands", "errors"])
def test_the_generated_pages_are_up_to_date(page):
    checked = subprocess.run(
        [sys.executable, project_files.ROOT / "tools" / "reference", "--check", page],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


def toml_blocks() -> list[tuple[str, str]]:
    return [
        (f"{project_files.name(page)}-{number}", block)
        for page in project_files.pages()
        for number, block in enumerate(
            project_files.blocks(project_files.text(page), "toml"), start=1
        )
    ]


@for_each(("name", "block"), toml_blocks)
def test_every_settings_file_and_script_a_page_shows_is_valid(name, block, tmp_path):
    if "[[turn]]" in block:
        assert read_script(block, "the page's script").turns
    else:
        person = Environment(home=tmp_path / "home")
        is_own = block.startswith("# ~/.config/allstop/config.toml\n")
        file = person.user_file if is_own else tmp_path / "allstop.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(block, encoding="utf-8")

        assert load(person, repository=tmp_path).settings


def test_the_page_of_scripts_knows_every_step_and_every_failure():
    page = project_files.text(project_files.ROOT / "docs" / "reference" / "scripted.md")
    verbs = [kind.__struct_fields__[0] for kind in get_args(Step)]

    assert [verb for verb in verbs if f"`{{ {verb} = " not in page] == []
    assert [kind for kind in FailureKind if f"`{kind}`" not in page] == []


def test_r22_the_guide_to_rooms_says_how_to_start_and_stop_and_gives_the_true_defaults():
    """R22: start, stop, guards with defaults, envelopes, discarded replies, deviations, edges."""
    guide = project_files.text(project_files.ROOT / "docs" / "guides" / "rooms.md")
    room = Settings().room

    for words in ("allstop room", "Allstop", "@router collaborate", '"handoff"', "discarded"):
        assert words in guide
    for heading in ("## Stop", "## Guards", "## Where this differs", "## Known edge cases"):
        assert heading in guide
    assert f"| `max_turns` | {room.max_turns} | `max_turns_emergency`" in guide
    assert f"| `max_tokens` | {room.max_tokens:,} | `max_tokens_emergency`" in guide
    assert f"| `max_minutes` | {room.max_minutes:g} | `max_elapsed_minutes`" in guide
    assert f"| {room.soft_turns}, {room.soft_tokens:,} |" in guide
    assert f"grows to {room.window_items_max} items or {room.window_tokens_max:,} tokens" in guide
    for ending in Ending:
        assert f"`{ending}`" in guide
