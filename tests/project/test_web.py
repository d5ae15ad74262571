"""Rules for the page's sources."""

from __future__ import annotations

import json
import re

from project import project_files

LONGEST = 600
MADE = {"web/src/api.d.ts"}


def sources():
    return [
        file
        for file in project_files.below("web")
        if file.suffix in {".ts", ".svelte", ".css"} and project_files.name(file) not in MADE
    ]


def test_only_one_file_puts_html_into_the_page():
    dangerous = re.compile(r"\{@html|innerHTML|insertAdjacentHTML|outerHTML|document\.write")
    found = {
        project_files.name(file) for file in sources() if dangerous.search(project_files.text(file))
    }

    assert found == {"web/src/parts/Markdown.svelte", "web/src/lib/markdown.test.ts"}


def test_a_source_of_the_page_says_first_what_it_is_for_and_is_not_long():
    for file in sources():
        lines = project_files.text(file).splitlines()
        first = "import" if ".test." in file.name else ("//", "/*", "<!--")

        assert len(lines) <= LONGEST, project_files.name(file)
        assert lines[0].startswith(first) or lines[0].startswith("//"), project_files.name(file)


def test_nc22_commands_in_reasons_of_the_server_are_shown_as_code():
    """Reasons name commands between backticks, which only TextWithCode takes away."""
    reason = re.compile(r"(?<!text=)\{reasonText\(")
    found = [
        project_files.name(file)
        for file in sources()
        if file.suffix == ".svelte" and reason.search(project_files.text(file))
    ]

    assert found == []


def test_no_style_is_written_into_the_markup():
    """The page's policy forbids it, and a browser would leave it out without a word."""
    found = [
        project_files.name(f) for f in sources() if re.search(r"\sstyle=", project_files.text(f))
    ]

    assert found == []


def test_the_page_is_made_of_exactly_the_versions_that_are_named():
    package = json.loads(project_files.text(project_files.ROOT / "web" / "package.json"))
    named = {**package["dependencies"], **package["devDependencies"], **package["overrides"]}

    assert [name for name, version in named.items() if not re.fullmatch(r"[\d.]+", version)] == []


def test_the_lock_files_of_npm_name_no_place():
    for file in project_files.files():
        if file.name == "package-lock.json":
            assert '"resolved"' not in project_files.text(file)
