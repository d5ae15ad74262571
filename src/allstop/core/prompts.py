"""What a task's agent is told. The words are data; nothing here decides anything."""

from __future__ import annotations

from collections.abc import Sequence

from allstop.core.moves import CheckResult
from allstop.core.plain import ending

SIGNALS = """\
You work alone in a clone of the repository; commit your work or leave it in the files, both count.
End your final message with exactly one of these lines, and nothing after it:
<promise>COMPLETE</promise>            the work is done; it will be checked
<promise>BLOCKED: reason</promise>     it cannot be done as it stands
<promise>PENDING: question</promise>   you need an answer from a person first"""

OUTPUT_CHARS = 4000


def first(goal: str) -> str:
    return f"{goal.strip()}\n\n{SIGNALS}\n"


def again(goal: str, news: str) -> str:
    return f"{goal.strip()}\n\n{news.strip()}\n\n{SIGNALS}\n"


def failed_checks(failed: Sequence[CheckResult]) -> str:
    return "\n\n".join(
        ["You said the work is complete. These checks disagree:", *map(_failed, failed)]
    )


def _failed(result: CheckResult) -> str:
    how = "timed out" if result.timed_out else f"exit code {result.code}"
    return f"$ {result.run}\n({how})\n{ending(result.output.strip(), OUTPUT_CHARS)}"


NO_CHANGE = (
    "You said the work is complete, but nothing has changed in the repository. "
    "Do the work, or say why it cannot be done."
)
NO_SIGNAL = "Go on. When the work is done, say so with the line given below."


def answered(question: str, answer: str) -> str:
    return f"You asked: {question}\nThe answer: {answer}"


def told(text: str) -> str:
    return f"A person says: {text}"
