"""Regular expressions that find a rate limit in the output of a failed program.

They serve programs that report limits only as text, and only after a failure. Only the last lines
of the error output are read, and a line must look like an error: "I added a rate limit" does not.
"""

import re
from collections.abc import Sequence

PATTERNS = (
    r"rate[- ]limit",
    r"too many requests",
    r"(?:status|error|http|code)\D{0,12}\b(?:429|529)\b",
    r"\b(?:429|529)\b[ :]*(?:too many|overloaded|rate|error)",
    r"overloaded",
    r"quota[- ]?exceeded",
    r"(?:anthropic|openai)\b.*\brate\b",
    r"hit your (?:usage )?limit",
)
"""For the text of a message that is known to be an error."""

_FRONT = r"^(?:[\w ./-]{0,40}(?:error|exception|fatal|failed)\b\W{0,3}|[\w -]{0,20}: )?"
"""The beginning of a line that reports an error."""

ERRORS = (
    _FRONT + r"\b(?:429|529)\b(?=\W*$|\W*\{|\W+(?:too many|rate|overloaded|error)\b)",
    r"\b(?:status|http|error)(?: code)?\W{0,4}(?:429|529)\b|\b429 too many requests\b|\(429\)",
    _FRONT + r"(?:\w+ ){0,2}rate[- ]limit(?:ed$|ed[:,.;(]| ?(?:was )?(?:exceeded|reached|hit))",
    r"\brate_limit_(?:error|exceeded)\b|\bRateLimitError\b",
    _FRONT + r"too many requests\b",
    r"\boverloaded_error\b",
    _FRONT
    + r"(?:the )?(?:server|service|model|api|engine)? ?(?:is )?(?:currently )?overloaded\W*$",
    _FRONT + r"(?:you(?:'ve| have)? )?exceeded your (?:current )?quota\b|\bquota[- ]?exceeded\b",
    _FRONT + r"(?:you(?:'ve| have)? )?(?:hit|reached) your (?:[\w-]+ ){0,3}limit\b",
    _FRONT
    + r"(?:claude (?:ai )?)?(?:(?:usage|rate|session|daily|weekly|monthly|\d+-hour) ){1,2}limit"
    + r" (?:was |has been )?(?:reached|exceeded)\b",
)
"""For lines of a program that writes replies and errors to the same stream."""

LAST_LINES = 3
LINE_CHARS = 500


def is_limited(message: str) -> bool:
    return any(re.search(pattern, message, re.IGNORECASE) for pattern in PATTERNS)


def find_limit_line(errors: str, output: str, more: Sequence[str] = ()) -> str:
    """The line of a failed program that reports a limit, or "".

    Reads the end of its error output, or the last line of its output if there are no errors.
    """
    lines = [line.strip()[:LINE_CHARS] for line in errors.splitlines() if line.strip()]
    if not lines:
        lines = [line.strip()[:LINE_CHARS] for line in output.splitlines() if line.strip()][-1:]
    for line in reversed(lines[-LAST_LINES:]):
        if any(re.search(pattern, line, re.IGNORECASE) for pattern in (*ERRORS, *more)):
            return line
    return ""
