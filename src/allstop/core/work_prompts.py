"""The texts of prompts for a task's agent."""

from collections.abc import Sequence
from functools import lru_cache

from allstop.core.board_specs import EDITION
from allstop.core.moves import CheckResult, ChecksDone, Finding
from allstop.core.prompt import Prompt, prompt
from allstop.core.review_comments import ReviewFinding, SecondReview
from allstop.core.text import last_chars, last_line, one_line

SIGNALS = """\
You work alone in a clone of the repository; commit your work or leave it in the files, both count.
End your final message with exactly one of these lines, and nothing after it:
<promise>COMPLETE</promise>            the work is done; it will be checked
<promise>BLOCKED: reason</promise>     it cannot be done as it stands
<promise>PENDING: question</promise>   you need an answer from a person first"""

PROGRESS = """\
<promise>PROGRESS: 40% text</promise>  how far you are; another turn follows"""

CRITERIA = """\
When the work is complete, your final message names the test or file that shows each acceptance
criterion, in this form, before its last line:
Criterion 1: tests/test_example.py::test_name"""

OUTPUT_CHARS = 4000
SHOWN_TESTS = 3


@lru_cache(maxsize=512)
def turn(goal: str, news: str, edition: int, *, criteria: bool = False) -> Prompt:
    """The prompt of a turn; cached, because many turns have the same one.

    `criteria`: the goal has acceptance criteria, and the agent names the test that shows each.
    """
    news = "\n\n".join(filter(None, [news, CRITERIA if criteria else ""]))
    return prompt(again(goal, news, edition) if news else first(goal, edition))


def first(goal: str, edition: int = EDITION) -> str:
    return f"{goal.strip()}\n\n{_signals(edition)}\n"


def again(goal: str, news: str, edition: int = EDITION) -> str:
    return f"{goal.strip()}\n\n{news.strip()}\n\n{_signals(edition)}\n"


def _signals(edition: int) -> str:
    return SIGNALS if edition < 2 else f"{SIGNALS}\n{PROGRESS}"


def failed_checks(failed: Sequence[CheckResult]) -> str:
    return "\n\n".join(
        ["You said the work is complete. These checks disagree:", *map(_failed, failed)]
    )


def failed_gate(gate: ChecksDone) -> str:
    parts = [failed_checks(gate.failed)] if gate.failed else []
    return _coded(gate, [*parts, *_fatal(gate.findings), *_where(gate.notes)])


def failed_merge(gate: ChecksDone, target: str) -> str:
    parts = [f"Your work does not pass once it is merged with what is new on {target}."]
    found = [*map(_failed, gate.failed), *_fatal(gate.findings), *_where(gate.notes)]
    return _coded(gate, [*parts, *found])


def failed_joined(gate: ChecksDone, target: str, tip: str) -> str:
    moved = (
        f"{target} has moved since your work began. What is new there, up to {tip[:10]}, has been"
        " merged into your clone; together with it your work does not pass."
    )
    found = [*map(_failed, gate.failed), *_fatal(gate.findings), *_where(gate.notes)]
    return _coded(gate, [moved, *found])


def _where(notes: Sequence[str]) -> list[str]:
    return [f"Of the clone in which that was found: {'; '.join(notes)}."] if notes else []


def _coded(gate: ChecksDone, parts: Sequence[str]) -> str:
    text = "\n\n".join(parts)
    return f"{gate.error}: {text}" if gate.error else text


_FATAL = {
    "conflict_markers": "There are conflict markers in these files; resolve them:",
    "invalid_settings": "Allstop can't read these settings; put them back as they were:",
}


def _fatal(findings: Sequence[Finding]) -> list[str]:
    """The findings that fail the gate, by kind."""
    fatal = [finding for finding in findings if finding.fatal and not finding.to_agent]
    told = [f"- {finding.to_agent}" for finding in findings if finding.fatal and finding.to_agent]
    judged = ["\n".join(["The gate refused this work:", *dict.fromkeys(told)])] if told else []
    return judged + [
        "\n".join(
            [
                _FATAL.get(kind, "These files are protected; put them back as they were:"),
                *(f"  {finding.path}" for finding in fatal if finding.kind == kind),
            ]
        )
        for kind in dict.fromkeys(finding.kind for finding in fatal)
    ]


def conflicts(paths: Sequence[str]) -> str:
    files = "\n".join(f"  {path}" for path in paths)
    return (
        "Others have changed the same places meanwhile. Their work has been merged into your"
        f" clone; resolve the conflicts in these files, keep what both wanted:\n{files}"
    )


GIVEN = (
    "A person has worked on this by hand meanwhile. Their commits are merged into your clone: look at"
    " `git log` and at the files before you go on."
)

STASHED = (
    "You were stopped in the middle of your work; what was not committed then is in `git stash`."
)


def _failed(result: CheckResult) -> str:
    if result.held_out:
        return "Held-out checks failed. You can't see them; they follow from what was asked."
    how = "timed out" if result.timed_out else f"exit code {result.code}"
    before = "; it fails without your work too" if result.failed_before else ""
    output = last_chars(result.output.strip(), OUTPUT_CHARS)
    return f"$ {result.run}\n({how}{before})\n{output}{_on_target(result)}"


def _on_target(result: CheckResult) -> str:
    if not result.fails_on_target:
        return ""
    names = "\n".join(f"  {one_line(test, 300)}" for test in result.fails_on_target)
    return f"\n\nThese tests fail in the same way without your work:\n{names}"


def target_failure(check: CheckResult, target: str) -> str:
    """Why no work can pass a check, for people."""
    said = last_line(check.output)
    if check.fails_on_target:
        tests = ", ".join(check.fails_on_target[:SHOWN_TESTS])
        said = f"{tests}; mend them there, or quarantine them"
    note = f"{check.name} fails on {target} without this work, too"
    return f"{note}: {said}" if said else note


NO_CHANGE = (
    "You said the work is complete, but nothing has changed in the repository. "
    "Do the work, or say why it cannot be done."
)
LOOSE = (
    "You said the work is complete, but these are repositories of their own inside this one, and"
    " what you committed in them is nowhere else: {names}. Merged, it would be lost. Make their"
    " files part of this repository, or set a submodule back to a commit that it had; if the work"
    " can't be done so, say that you are blocked."
)
CAPPED = (
    "Your last turn was cut off because it had used all the tokens a turn may use. What you did"
    " is kept. Go on from there, in smaller steps."
)
NO_SIGNAL = "Go on. When the work is done, say so with the line given below."


def answered(question: str, answer: str) -> str:
    return f"You asked: {question}\nThe answer: {answer}"


def from_person(text: str) -> str:
    return f"A person says: {text}"


def loose(paths: Sequence[str]) -> str:
    return LOOSE.format(names=", ".join(paths))


# --- the second agent, which reviews the work before a person does ---

SECOND_REVIEW = """\
Another agent has done the task below. Review its work before a person does. You are in a clone of
the work, which is thrown away afterwards: read and run what you like, and change nothing. Its commits
are those after {base}: `git diff {base} HEAD`. The configured checks have passed already.

Look for mistakes, for what the task asks and the work lacks, and for tests that show less than they
seem to. Name only what you can show; an empty list is a good answer. Severity: "serious" must not be
merged, "look" a person should look at, "note" is a remark.

The task:
{goal}
"""

SECOND_REPLY = """\
End with one JSON object and nothing after it, of this form; line 0 is the file as a whole, and check
says how a person can see that the claim is true:
{"findings": [{"severity": "serious", "file": "src/a.py", "line": 12, "claim": "...", "check": "..."}],
 "summary": "one sentence about the work"}"""

SECOND_AGAIN = """\
You reviewed an earlier state of this work. You found:
{findings}

The agent of the work then said:
{reply}

Drop each finding that is solved or that you no longer hold; repeat those that stand."""

REVIEWED = """\
The checks pass. Another agent has reviewed your work and found:
{findings}

Check each finding. Correct the work where it is right; where it is wrong, leave the work and say why
in your final message. A person reads both views."""

FINDINGS_CHARS = 8000


def second_review(goal: str, base: str, earlier: SecondReview | None) -> Prompt:
    """The prompt of one round of the second agent."""
    parts = [SECOND_REVIEW.format(base=base, goal=goal.strip())]
    if earlier is not None:
        reply = last_chars(earlier.reply.strip(), OUTPUT_CHARS) or "(nothing)"
        parts.append(SECOND_AGAIN.format(findings=_review_findings(earlier.findings), reply=reply))
    return prompt("\n\n".join([*(part.strip() for part in parts), SECOND_REPLY]) + "\n")


def reviewed(findings: Sequence[ReviewFinding]) -> str:
    return REVIEWED.format(findings=_review_findings(findings))


def _review_findings(findings: Sequence[ReviewFinding]) -> str:
    return last_chars("\n".join(map(_review_finding, findings)), FINDINGS_CHARS)


def _review_finding(finding: ReviewFinding) -> str:
    place = f"{finding.file}:{finding.line}" if finding.line else finding.file
    check = f" (to check: {finding.check})" if finding.check else ""
    return f"- [{finding.severity}] {f'{place}: ' if place else ''}{finding.claim}{check}"
