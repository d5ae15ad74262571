"""V6: notes about dilution reach reviewers, and never the agent."""

import anyio
import pytest

from allstop.core.gate import Integrity, Verdict
from allstop.core.moves import ChecksDone
from allstop.core.work_prompts import failed_gate, failed_joined, failed_merge
from allstop.engine import change_notes as notes
from allstop.gate.composition import settle
from allstop.gate.facts import ChangedFile
from allstop.ports import FileChange, Subject

WORK = Subject("base", "commit", "tree")
TEST = "tests/test_a.py"
WEAKER = ChangedFile(
    path=TEST,
    before="def test_a():\n    assert wait(9) == 5\n",
    after="def test_a():\n    assert wait(9) is not None\n",
)
SWALLOWED = ChangedFile(
    path="src/a.py", before="f()\n", after="try:\n    f()\nexcept Exception:\n    pass\n"
)


class Contents:
    """Workspaces of which only the contents of changed files are read."""

    def __init__(self, *changed):
        self.changed = changed
        self.asked = 0

    async def changes(self, work):
        return [FileChange(each.path, "M") for each in self.changed]

    async def contents(self, work):
        self.asked += 1
        return self.changed


def noted(*changed, may_change=()):
    return anyio.run(notes.change_notes, Contents(*changed), WORK, may_change)


def test_v6_dilutions_are_notes_the_worst_first_one_line_each():
    found = noted(SWALLOWED, WEAKER)

    assert [(each.kind, each.path, each.text, each.line) for each in found] == [
        ("dilution", TEST, "weaker assertion", 2),
        ("dilution", "src/a.py", "error swallowed", 3),
    ]
    assert {each.verdict for each in found} == {Verdict.NOTE}
    assert (found[0].old, found[0].new) == ("assert wait(9) == 5", "assert wait(9) is not None")


def test_v6_a_declared_expectation_is_no_note():
    changed = ChangedFile(
        path=TEST,
        before="def test_a():\n    assert wait(9) == 5\n",
        after="def test_a():\n    assert wait(9) == 6\n",
    )

    assert len(noted(changed)) == 1
    assert noted(changed, may_change=(TEST,)) == ()


def test_v6_nothing_is_read_where_only_documents_changed():
    documents = Contents(ChangedFile(path="docs/a.md"), ChangedFile(path="README.txt"))

    assert anyio.run(notes.change_notes, documents, WORK, ()) == ()
    assert documents.asked == 0


def test_v6_large_changes_are_compared_in_a_thread_with_the_same_result():
    long = "# more\n" * (notes.FEW_CHARS // 10)
    large = ChangedFile(path=TEST, before=f"{WEAKER.before}{long}", after=f"{WEAKER.after}{long}")

    assert noted(large) == noted(WEAKER)


@pytest.mark.parametrize("strictness", list(Integrity))
def test_v6_a_note_never_fails_the_gate_and_is_never_told_to_the_agent(strictness):
    found = settle(noted(WEAKER), strictness, unreviewed=True)
    gate = ChecksDone(findings=found)

    assert gate.passed
    prompts = (failed_gate(gate), failed_merge(gate, "main"), failed_joined(gate, "main", "tip"))
    assert not any("assert" in prompt or "weaker" in prompt for prompt in prompts)
