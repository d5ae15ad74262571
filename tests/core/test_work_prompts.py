"""The texts of prompts for a task's agent."""

from allstop.core import work_prompts
from allstop.core.moves import CheckResult, ChecksDone
from allstop.core.signals import Signal, read_signal


def test_the_goal_comes_first_and_the_signals_last():
    text = work_prompts.again("  Fix it \n", "news\n")

    signals = f"{work_prompts.SIGNALS}\n{work_prompts.PROGRESS}"
    assert text == f"Fix it\n\nnews\n\n{signals}\n"
    assert work_prompts.first("Fix it") == f"Fix it\n\n{signals}\n"


def test_b7_every_signal_is_named_in_the_prompt():
    told = work_prompts.first("Fix it")
    lines = [line.split("  ")[0] for line in told.splitlines() if line.startswith("<promise>")]

    assert {read_signal(line).signal for line in lines} == set(Signal) - {Signal.NONE}
    assert read_signal(told).signal is Signal.NONE, "echoed, it is none"


def test_q20_a_task_from_before_progress_was_named_is_told_what_it_was_told():
    """Q20: journals keep the digests of prompts, so their texts must not change."""
    assert work_prompts.turn("Fix it", "", 1).text == f"Fix it\n\n{work_prompts.SIGNALS}\n"
    assert (
        work_prompts.turn("Fix it", "news", 1).text == f"Fix it\n\nnews\n\n{work_prompts.SIGNALS}\n"
    )
    assert work_prompts.turn("Fix it", "", 1).digest == "81b44520778e4ac67bdf634d1d646a00"


def test_a_failed_check_is_told_with_its_command_code_and_the_end_of_its_output():
    output = "x" * work_prompts.OUTPUT_CHARS + "AssertionError: 1 != 2\n"
    failed = [
        CheckResult(name="Tests", run="pytest -q", passed=False, code=3, output=output),
        CheckResult(name="Lint", run="ruff", passed=False, timed_out=True),
    ]
    text = work_prompts.failed_checks(failed)

    assert "$ pytest -q\n(exit code 3)\n[… 22 characters …]\n" in text
    assert "AssertionError: 1 != 2\n\n$ ruff\n(timed out)" in text
    assert len(text) < work_prompts.OUTPUT_CHARS + 300


def test_k19_a_failed_gate_says_what_its_clone_lacked():
    failed = CheckResult(name="Tests", run="pytest", passed=False, code=1)
    gate = ChecksDone(results=(failed,), notes=("submodule lib is not checked out here",))

    last = "Of the clone in which that was found: submodule lib is not checked out here."
    assert work_prompts.failed_gate(gate).endswith(f"\n\n{last}")
    assert work_prompts.failed_merge(gate, "main").endswith(f"\n\n{last}")
