"""B15: the warning about missing verification commands."""

from __future__ import annotations

import tomllib

from allstop.settings.detection.detect import detect
from allstop.settings.detection.missing_checks import CODE, INDICATOR, warning
from allstop.settings.loader import load
from allstop.settings.model import Check


def test_b15_the_warning_has_the_documents_words():
    assert (CODE, INDICATOR) == ("VERIFICATION_EMPTY", "No verification configured")
    assert (
        warning()
        == """\
Warning: No verification commands configured

Tasks will complete on COMPLETE signal without validation.
Consider adding verification commands to ensure code quality.

Suggestion: Add to allstop.toml:
  [verification]
  commands = ["your test command"]"""
    )


def test_b15_the_suggestion_is_what_this_repository_has(world):
    world.repository.joinpath("Cargo.toml").write_text("")
    world.repository.joinpath("pytest.ini").write_text("")

    text = warning(detect(world.repository, world.environment).checks)

    assert text.endswith('commands = ["pytest -q", "cargo test"]')


def test_b15_the_suggestion_can_be_copied_as_it_is(world):
    suggested = warning().partition("allstop.toml:\n")[2]

    assert tomllib.loads(suggested)
    world.project(suggested)
    settings = load(world.environment, repository=world.repository).settings
    assert settings.verification.commands == (Check(run="your test command"),)
