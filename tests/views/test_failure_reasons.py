"""P17: one list of failure reasons, for the terminal, the API and the documentation."""

import shlex

from allstop.cli import COMMANDS
from allstop.core.moves import FailureKind
from allstop.views.failure_reasons import FAILURE_REASONS


def test_p17_every_kind_of_failure_has_its_entry_in_the_order_of_the_enum():
    assert list(FAILURE_REASONS) == list(FailureKind)
    for each in FAILURE_REASONS.values():
        assert all([each.meaning, each.automatic, each.person, each.command]), each.kind


def test_p17_every_command_exists():
    known = {name for group in COMMANDS.values() for name in group}
    for each in FAILURE_REASONS.values():
        program, command, *_ = shlex.split(each.command)
        assert program == "git" or command in known, each.command


def test_p17_a_command_names_the_run_and_the_agent():
    assert FAILURE_REASONS[FailureKind.AUTH].command_for("plan1", "claude") == (
        "allstop agents login claude"
    )
    assert FailureKind.BILLING in FAILURE_REASONS
    assert FAILURE_REASONS[FailureKind.BILLING].command_for("plan1", "x") == "allstop resume plan1"
