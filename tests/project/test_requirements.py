"""The page of requirements, and the script that compares it with the tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from project import project_files

SCRIPT = project_files.ROOT / "tools" / "requirements"
PAGE = project_files.ROOT / "docs" / "requirements.md"
NUMBER = "K" + "2"  # in two parts: the script must not take it for a mention of its own
FIGURE = "Q" + "1"


def compare(root: Path) -> tuple[int, str]:
    ran = subprocess.run(
        [sys.executable, SCRIPT, "--root", root], capture_output=True, text=True, check=False
    )
    assert ran.stderr == ""
    return ran.returncode, ran.stdout


@pytest.fixture
def project(tmp_path):
    """Writes a project whose page says that one number holds, with these files."""

    def write(number: str, files: dict[str, str], page: str | None = None) -> Path:
        text = page or project_files.text(PAGE).replace("| partly |", "| not yet |")
        text = text.replace("| holds |", "| not yet |")
        lines = [
            line.replace("| not yet |", "| holds |") if line.startswith(f"| {number} |") else line
            for line in text.splitlines()
        ]
        for name, content in {"docs/requirements.md": "\n".join(lines), **files}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(content)
        return tmp_path

    return write


def test_the_page_and_the_tests_agree():
    code, said = compare(project_files.ROOT)

    assert code == 0, said


@pytest.mark.parametrize(
    "source",
    [
        f"def test_{NUMBER.lower()}_nothing_lives(): ...",
        f"def test_b7_{NUMBER.lower()}_nothing_lives(): ...",
        f'def test_stop():\n    """{NUMBER}: nothing lives."""',
        f'"""{NUMBER}: stopping."""',
        f"def test_stop(): ...  # {NUMBER}",
        f'class TestStop:\n    """{NUMBER}, and more."""',
    ],
)
def test_what_holds_is_named_by_a_test(project, source):
    code, said = compare(project(NUMBER, {"tests/test_it.py": source}))

    assert code == 0, said


@pytest.mark.parametrize(
    "source",
    ["", f"X = '{NUMBER}'", f"def test_{NUMBER.lower()}0_other(): ...", f"def {NUMBER.lower()}(): ..."],
)  # fmt: skip
def test_what_no_test_names_does_not_hold(project, source):
    code, said = compare(project(NUMBER, {"tests/test_it.py": source}))

    assert code == 1
    assert f"{NUMBER} is said to be 'holds', and no test names it" in said


def test_a_benchmark_counts_for_a_figure(project):
    code, said = compare(project(FIGURE, {"bench/turns.py": f"print('{FIGURE}  fast')"}))

    assert code == 0, said


def test_a_benchmark_counts_for_nothing_else(project):
    code, _ = compare(project(NUMBER, {"bench/turns.py": f"print('{NUMBER}')"}))

    assert code == 1


def test_a_test_can_only_name_what_exists(project):
    code, said = compare(project("none", {"tests/test_it.py": f"# {'K'}99: nothing"}))

    assert code == 1
    assert "K" + "99 is no known requirement; named in tests/test_it.py" in said


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda page: page.replace(f"| {NUMBER} |", "| K98 |"), f"{NUMBER} is missing"),
        (lambda page: page.replace(f"| {NUMBER} |", "| K98 |"), "K98 is no known requirement"),
        (lambda page: page + f"\n| {NUMBER} | again | not yet |", f"{NUMBER} stands twice"),
        (lambda page: page + f"\n| {NUMBER} | | not yet |", f"{NUMBER} has no line of its own"),
        (lambda page: page + f"\n| {NUMBER} | x | soon |", f"{NUMBER} has the state 'soon'"),
    ],
)
def test_the_page_lists_every_number_once_with_a_line_and_a_state(project, change, complaint):
    code, said = compare(project("none", {}, page=change(project_files.text(PAGE))))

    assert code == 1
    assert complaint in said
