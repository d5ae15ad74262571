"""Declared intent: what a declaration covers, who can give it, and where it goes."""

import pytest

from allstop.app.mcp.tools import TOOLS
from allstop.board.state import BoardState
from allstop.core.board_specs import MergeSpec
from allstop.core.moves import RunChecks
from allstop.gate.intent import is_declared
from allstop.plans.plan_file import read_plan
from support.cases import for_each
from support.pilot_steps import BoardSteps

COVERED = [
    ("tests/test_prices.py", {"path": "tests/test_prices.py"}),
    ("tests/test_prices.py", {"path": "tests/test_prices.py", "test": "tests/test_prices.py::t"}),
    ("tests/golden", {"path": "tests/golden/a/b.json"}),
    ("tests/**/*.snap", {"path": "tests/x/y.snap"}),
    ("tests/test_a.py::test_up", {"path": "tests/test_a.py", "test": "tests/test_a.py::test_up"}),
    ("tests/test_a.py::test_up", {"path": "tests/test_a.py", "test": "tests/test_a.py::test_up[1-a]"}),
    ("tests/test_a.py::T::test_up", {"path": "tests/test_a.py", "test": "tests/test_a.py::T::test_up"}),
    ("test_up", {"path": "tests/test_a.py", "test": "tests.test_a.test_up"}),
    ("adds", {"path": "a.test.js", "test": "sum > adds"}),
    ("behaviour of parse_price", {"path": "tests/test_a.py", "test": "test_parse_price_rounds"}),
    ("Behavior of parsePrice", {"path": "src/parsePrice.test.ts", "test": "rounds"}),
    ("behaviour of login", {"path": "tests/test_login.py"}),
    ("behaviour of total", {"path": "tests/test_a.py", "test": "test_x", "text": "assert total(2) == 4"}),
]  # fmt: skip

NOT_COVERED = [
    ("tests/test_prices.py", {"path": "tests/test_other.py"}),
    ("tests/test_a.py::test_up", {"path": "tests/test_a.py", "test": "tests/test_a.py::test_upper"}),
    ("tests/test_a.py::test_up", {"path": "tests/test_a.py"}),
    ("tests/test_a.py::test_up[1]", {"path": "tests/test_a.py", "test": "tests/test_a.py::test_up[2]"}),
    ("tests/test_a.py::test_up", {"path": "tests/test_b.py", "test": "tests/test_b.py::test_up"}),
    ("behaviour of parse", {"path": "tests/test_a.py", "test": "test_parsers"}),
    ("behaviour of total", {"path": "tests/test_a.py", "test": "test_x", "text": "subtotal(2)"}),
    ("", {"path": "tests/test_a.py", "test": "test_x"}),
    ("behaviour of ", {"path": "tests/test_a.py", "test": "test_x"}),
]  # fmt: skip


def test_a_declaration_covers_its_files_tests_and_behaviour():
    def check(case):
        entry, what = case
        assert is_declared([entry], **what), case

    for_each(COVERED, check)


def test_a_declaration_covers_nothing_else():
    def check(case):
        entry, what = case
        assert not is_declared([entry], **what), case

    for_each(NOT_COVERED, check)


def test_the_declaration_of_a_task_reaches_its_agent_its_gate_and_its_merge():
    board = BoardSteps(agents=["anna"], target="main")
    board.add("own", may_change=("tests/test_a.py", "behaviour of login"))

    (attempt,) = board.spawned
    assert attempt.spec["may_change"] == ["tests/test_a.py", "behaviour of login"]
    assert "- tests/test_a.py\n- behaviour of login" in attempt.spec["goal"]
    assert isinstance(board.state.pilot, BoardState)
    assert board.state.pilot.board["own"].may_change == ("tests/test_a.py", "behaviour of login")
    assert RunChecks.for_gate(
        MergeSpec(task="a", target="b", message="").gate, "a", may_change=("x",)
    ).may_change == ("x",)


def test_no_tool_for_agents_can_declare_anything():
    for tool in TOOLS.values():
        assert not {"may_change", "tasks", "changes"} & set(tool.takes.__struct_fields__), tool.name


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '{"phases": [{"name": "A", "steps": [{"text": "b"}]}], "may_change": ["t.py"]}'),
        ("a.md", "# A\nmay change: t.py\n\n## B\n\n- c\n  - may_change: t.py\n"),
    ],
)
def test_the_file_of_a_plan_declares_nothing(name, text):
    """An agent may have written it; only the option of the person's command declares."""
    plan = read_plan(name, text.encode()).plan
    assert not hasattr(plan, "may_change")
