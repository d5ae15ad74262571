"""S8: the evidence for a decision, as one pure view."""

from allstop.board.attempt import TaskState
from allstop.board.criteria import Named
from allstop.core.accounts import Roster
from allstop.core.board_specs import TaskSpec
from allstop.core.brakes import Tally
from allstop.core.gate import Verdict
from allstop.core.moves import Change, CheckResult, ChecksDone, Finding, Integrated, Outcome
from allstop.core.review_comments import ReviewFinding, SecondReview, Severity
from allstop.core.tasks import Attempt, Status, Task
from allstop.gate.receipt import CommandReceipt, GateReceipt
from allstop.views.evidence import FileChange, Proof, claims, evidence, queue, queued
from support.strategies import NOW

BODY = (
    "Try again.\n\nAcceptance criteria:\n- waits grow\n- README.md says so\n- never twice\n- fast"
)
SAID = """I did it.
Criterion 1: tests/test_a.py::test_waits
Criterion 4: bench.py
<promise>COMPLETE</promise>"""
PATCH = """diff --git a/README.md b/README.md
--- a/README.md
+++ b/README.md
@@ -1 +1,2 @@
 # A
+Waits grow.
diff --git a/src/a.py b/src/a.py
--- a/src/a.py
+++ b/src/a.py
@@ -10,2 +10,3 @@ def wait():
     one()
+    two()
     three()
diff --git a/tests/test_a.py b/tests/test_a.py
new file mode 100644
--- /dev/null
+++ b/tests/test_a.py
@@ -0,0 +1,3 @@
+def test_waits():
+    @pytest.mark.skip
+    pass
"""
FILES = [
    FileChange("README.md", "changed", 1, 0),
    FileChange("src/a.py", "changed", 1, 0),
    FileChange("tests/test_a.py", "added", 3, 0),
    FileChange("tests/data.bin", "removed", None, None),
]
GATE = ChecksDone(
    results=(
        CheckResult(name="Unit tests", run="t", passed=True, seconds=2.04),
        CheckResult(name="Lint", run="l", passed=False, required=False, code=1, output="a\nbad"),
    ),
    findings=(
        Finding(kind="protected", path="tests/test_a.py", text="added"),
        Finding(kind="skipped_test", path="tests/test_a.py", text="@pytest.mark.skip"),
    ),
    tree="t1",
    notes=("the submodule lib is missing",),
)
JUDGED = SecondReview(
    agent="judge",
    summary="Nearly.",
    findings=(
        ReviewFinding(
            severity=Severity.SERIOUS,
            claim="It waits 0 s",
            file="src/a.py",
            line=11,
            check="run it",
        ),
        ReviewFinding(severity=Severity.NOTE, claim="A long name"),
    ),
)


def task(**fields):
    attempt = Attempt(
        run="board/T1.1",
        began_at=NOW,
        ended_at=NOW,
        outcome=Outcome.DONE,
        tally=Tally(turns=3, input=900, output=100, cost_microusd=620_000, busy_s=61.23),
    )
    given = {"id": "T1", "title": "Retry", "number": 1, "body": BODY, "status": Status.REVIEW}
    return Task(**{**given, "attempts": (attempt,), "changed_at": NOW, **fields})


def attempt(**fields):
    spec = TaskSpec(
        task="T1", goal="Retry", agents=("demo",), target="main", protected=("tests/**",)
    )
    given = {"said": SAID, "gate_result": GATE, "agent": "demo"}
    change = Change(head="8fbefb6000aa", commits=1, files=4)
    return TaskState(
        spec=spec, roster=Roster(agents=("demo",)), change=change, **{**given, **fields}
    )


def shown(state=None, **more):
    given = {
        "base": "b0",
        "tip": "t0",
        "patch": PATCH,
        "present": {Named(file="tests/test_a.py", test="test_waits"), Named(file="README.md")},
    }
    return evidence(task(), state or attempt(), FILES, **{**given, **more})


def test_s8_each_criterion_has_what_shows_it_and_unknown_ones_have_nothing():
    found = shown()

    assert found.asked == "Try again."
    assert [
        (
            criterion.text,
            [(f"{s.file} {s.test}".strip(), s.proof, s.by) for s in criterion.shown_by],
        )
        for criterion in found.criteria
    ] == [
        ("waits grow", [("tests/test_a.py test_waits", "changed", "agent")]),
        ("README.md says so", [("README.md", "changed", "criterion")]),
        ("never twice", []),
        ("fast", [("bench.py", "missing", "agent")]),
    ]
    assert [criterion.is_shown for criterion in found.criteria] == [True, True, False, False]


def test_s8_a_file_of_the_work_that_was_not_changed_shows_a_criterion_too():
    found = shown(present={Named(file="bench.py")})

    assert found.criteria[3].shown_by[0].proof is Proof.PRESENT


def test_s8_all_names_are_looked_up_in_the_work():
    assert claims(task(), attempt()) == (
        Named(file="tests/test_a.py", test="test_waits"),
        Named(file="bench.py"),
        Named(file="README.md"),
    )


def test_s8_findings_have_the_worst_first_and_their_lines():
    found = shown(attempt(second=(JUDGED,)))

    assert [(f.severity, f.text, f.file, f.line, f.source) for f in found.findings] == [
        ("serious", "Test skipped: @pytest.mark.skip", "tests/test_a.py", 2, "gate"),
        ("serious", "It waits 0 s", "src/a.py", 11, "judge"),
        ("look", "Lint: bad (not required)", "", 0, "gate"),
        ("look", "the submodule lib is missing", "", 0, "gate"),
        ("note", "Guarded file added", "tests/test_a.py", 0, "gate"),
        ("note", "A long name", "", 0, "judge"),
    ]
    assert found.findings[1].check == "run it"


def test_s8_checks_that_failed_come_first_with_the_end_of_their_output():
    found = shown()

    assert [(c.name, c.passed, c.failure, c.output) for c in found.checks] == [
        ("Lint", False, "Lint: bad (not required)", "a\nbad"),
        ("Unit tests", True, "", ""),
    ]
    assert found.verified_on == "8fbefb6000"
    merged = Integrated(tip="77777777777777", commit="m", tree="t")
    assert (
        shown(attempt(target_merge=merged)).verified_on
        == "8fbefb6000 merged with main at 7777777777"
    )


def test_s8_the_diff_has_guarded_files_first_then_product_tests_and_the_rest():
    found = shown(attempt(gate_result=ChecksDone()))

    assert [(file.path, file.risk) for file in found.changes.files] == [
        ("tests/data.bin", "guarded"),
        ("src/a.py", "product"),
        ("tests/test_a.py", "test"),
        ("README.md", "rest"),
    ]
    heads = [line for line in found.changes.patch.splitlines() if line.startswith("diff ")]
    assert [head.rpartition(" b/")[2] for head in heads] == [
        "src/a.py",
        "tests/test_a.py",
        "README.md",
    ]
    assert sorted(found.changes.patch.splitlines()) == sorted(PATCH.splitlines())


def test_s8_a_file_that_a_finding_names_is_guarded():
    assert shown().changes.files[0].path == "tests/test_a.py"


def test_s8_last_words_and_cost_come_last():
    found = shown()

    assert found.said == SAID.rpartition("\n")[0]
    assert (found.cost.turns, found.cost.tokens, found.cost.cost_usd) == (3, 1000, 0.62)
    assert (found.cost.attempts, found.cost.seconds) == (1, 61.2)


def test_s9_a_stalemate_shows_both_views():
    first = SecondReview(agent="judge", findings=JUDGED.findings, reply="No: it waits 1 s.")

    found = shown(attempt(second=(first, JUDGED)))
    assert found.stalemate
    assert [(r.agent, r.findings, r.summary, r.reply) for r in found.second] == [
        ("judge", 2, "", "No: it waits 1 s."),
        ("judge", 2, "Nearly.", ""),
    ]
    agreed = SecondReview(agent="judge", summary="Good.")
    assert not shown(attempt(second=(first, agreed))).stalemate
    assert not shown(attempt(second=(JUDGED,))).stalemate


def test_s8_before_the_first_gate_nothing_is_claimed_about_checks():
    found = evidence(task(), attempt(gate_result=None, said=""))

    assert (found.checks, found.verified_on, found.findings, found.said) == ((), "", (), "")
    assert found.changes.files == ()


def test_s4_the_queue_has_the_worst_first():
    clean = ChecksDone(results=(CheckResult(name="T", run="t", passed=True),))
    rows = [
        queued(task(id="C"), attempt(gate_result=clean), can_batch=True),
        queued(task(id="L", unverified=True), attempt(gate_result=clean), can_batch=True),
        queued(task(id="S"), attempt(), can_batch=True),
        queued(task(id="B"), attempt(gate_result=clean), can_batch=False),
    ]

    assert [(row.id, row.severity, row.can_batch) for row in queue(rows)] == [
        ("S", "serious", False),
        ("L", "look", False),
        ("B", None, False),
        ("C", None, True),
    ]
    assert queue(rows)[0].why == "Test skipped: @pytest.mark.skip: tests/test_a.py"
    assert queue(rows)[0].more == 3


# --- what the gate has reported ---

ASKED = Finding(
    kind="edited_test",
    path="tests/test_a.py",
    text="red as on main",
    verdict=Verdict.ASK,
    test="tests/test_a.py::test_waits",
    old="def test_waits():\n    assert sent == [1, 2]\n",
    new="def test_waits():\n    assert len(sent) <= 5\n",
)
WEAKER = Finding(
    kind="dilution",
    path="src/a.py",
    line=7,
    text="error swallowed",
    new="except OSError: pass",
    verdict=Verdict.NOTE,
)
RECEIPT = GateReceipt(
    digest="d1",
    commit="8fbefb6",
    tree="t1",
    passed=True,
    platform="Linux x86_64",
    tools={"pytest": "pytest 8"},
    commands=(
        CommandReceipt(
            name="Unit tests",
            run="t",
            passed=True,
            tests={
                "tests/test_a.py::test_waits[1]": "passed",
                "tests/test_a.py::test_waits[2]": "failed",
                "tests/test_a.py::test_later": "skipped",
                "tests/test_a.py::test_fine": "passed",
            },
        ),
        CommandReceipt(name="Lint", run="l", passed=False),
    ),
)


def test_s8_a_person_who_is_asked_sees_the_old_test_beside_the_new_one():
    found = shown(attempt(gate_result=ChecksDone(findings=(ASKED, WEAKER))))

    asked, note = found.findings
    assert (asked.severity, asked.verdict) == (Severity.SERIOUS, Verdict.ASK)
    assert asked.test == "tests/test_a.py::test_waits"
    assert [(pair.old, pair.new) for pair in asked.pairs] == [
        ("def test_waits():", "def test_waits():"),
        ("    assert sent == [1, 2]", "    assert len(sent) <= 5"),
    ]
    assert (note.severity, note.text, note.line) == (Severity.NOTE, "Error swallowed", 7)
    assert [(pair.old, pair.new) for pair in note.pairs] == [(None, "except OSError: pass")]


def test_s8_checks_show_their_tests_and_the_receipt_of_their_tree():
    found = shown(receipt=RECEIPT)

    tests, lint = (check.tests for check in sorted(found.checks, key=lambda each: not each.passed))
    assert (tests.passed, tests.red, tests.skipped, tests.more) == (2, 1, 1, 0)
    assert [(test.id, test.result) for test in tests.others] == [
        ("tests/test_a.py::test_waits[2]", "failed"),
        ("tests/test_a.py::test_later", "skipped"),
    ]
    assert lint is None, "the ids of its tests are unknown"
    assert (found.receipt.digest, found.receipt.tools) == ("d1", {"pytest": "pytest 8"})


def test_s8_the_test_that_shows_a_criterion_has_its_result():
    [named] = shown(receipt=RECEIPT).criteria[0].shown_by

    assert (named.test, named.result) == ("test_waits", "failed"), "of its parameters the worst"


def test_s8_without_a_receipt_nothing_is_known_of_tests():
    found = shown()

    assert found.receipt is None
    assert [check.tests for check in found.checks] == [None, None]
