"""Finds the line in which a failed program reports a limit of its provider.

It serves programs that report limits only as text. Such programs write replies, logs of the project
and errors of other tools to the same streams. So only the last lines are read, and a line counts
only if it begins like an error report, and if the report itself begins with a limit.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from allstop.adapters.agents.provider_errors import Fault, fault_of_text, kind_of
from allstop.core.moves import LIMITED, FailureKind

LAST_LINES = 3
LINE_CHARS = 2000

_SIGNS = "■✗✘✖⎿●•⚠️❌! \t"
"""Signs that agents print in front of an error."""

_FRONT = re.compile(
    r"^(?:\[[\w .:/-]{1,40}\]\s*:?\s*)?"
    r"(?:[\w .'/-]{0,60}?\b(?:\w*error|\w*exception|fatal|failed|failure|exhausted|limited)\b"
    r"(?:\s*\([^)]*\))?\s*(?:[:·•]|\s[-—])\s*"
    r"|(?!expected|actual|got|want|received|fix|feat|chore|docs|test|refactor|perf|ci|build|style"
    r"|info|debug|note|next|title|summary|\w+ing\b)[\w-]{1,20}(?: [\w-]{1,12})?:\s+)*",
    re.IGNORECASE,
)
"""The beginning of a line that reports an error, such as "litellm.BadRequestError: x - "."""

_STATUS = r"(?:4(?:02|29)|5(?:03|29))"
_LIMIT = re.compile(
    rf"(?:(?:HTTP|API|status|error|unexpected|code|client|server)\W*(?:error|status|code)?\W*)*"
    rf"\(?{_STATUS}\)?(?:\s*\({_STATUS}\))?(?=\W*$|\W*[\[{{]|\W+(?:-\s|too many|rate|overloaded|error|resource|requests?\b"
    r"|insufficient|payment|you|quota|service|please|usage|limit))"
    r"|(?:api error\b|request rejected\b|error code:)"
    r"|(?:the |your |a |model |provider |organization |\w+'s )?rate[- ]limit(?:s|ed)?"
    r"(?=$|[:,.;(!]| (?:was |is |has been )?(?:exceeded|reached|hit)\b)"
    r"|rate_limit_(?:error|exceeded)\b|overloaded_error\b|insufficient_quota\b"
    r"|too many (?:requests|tokens)\b|request too large\b|prompt is too long\b"
    r"|(?:you|we|i)(?:'ve| have|'re| are)? (?:been rate|hit your|reached your|exceeded your"
    r"|exhausted your|run out of|out of (?:\w+ )?(?:usage|credits))"
    r"|(?:sorry, )?you(?:'ve| have)? (?:hit|reached|exceeded|been) (?:a |your )?(?:\w+ ){0,2}"
    r"(?:rate[- ]limit|limit|quota)"
    r"|you(?:'ve| have)? used (?:up )?all (?:of )?your (?:\w+ ){0,2}(?:requests|messages|usage|quota)"
    r"|your (?:team|organization|account|workspace) has (?:either )?(?:used (?:up )?all|reached|exceeded"
    r"|run out of) (?:\w+ ){0,3}(?:credits|limit|quota)"
    r"|An error occurred \((?:ThrottlingException|ServiceQuotaExceededException)\) when calling the "
    r"(?:Converse|InvokeModel)"
    r"|(?:(?:claude|codex|gemini|copilot|your|the|ai|max|pro|plus|team) ){0,3}(?:(?:free|usage|rate|session|daily|weekly|monthly|opus|sonnet|\d+-hour)"
    r" ){1,3}(?:limit )?(?:was |has been )?(?:reached|exceeded|hit)"
    r"(?=\W*$|\s*[.,;:!|(\[·∙—-]|\s+(?:for|on|resets?|try|please|upgrade|\{))"
    r"|(?:openai|anthropic|litellm|groq|mistralai|google)\.[\w.]*(?:RateLimitError|OverloadedError):"
    rf"|HTTP/[\d.]+ {_STATUS}(?= too many| service|\W*$)"
    r"|exceeded retry limit, last status:? 429"
    r"|(?:your )?(?:account|organization|team) (?:has been|is) suspended"
    r"|(?:monthly |daily )?quota (?:has been )?exceeded\b|quota_exceeded\b"
    r"|resource (?:has been )?exhausted\b|RESOURCE_EXHAUSTED\b|ThrottlingException\b"
    r"|(?:you(?:'re| are) |your \w+ is )?out of (?:\w+ )?credits?\b"
    r"|(?:your )?credit balance\b|insufficient (?:balance|credits|funds)\b"
    r"|(?:the )?(?:selected )?(?:server|service|model|api|engine)? ?(?:is )?(?:currently )?"
    r"(?:overloaded|at capacity)(?=\W*$|[.,]| please)"
    r"|[\[{]\s*[\"'{]",
    re.IGNORECASE,
)
"""How a report of a limit begins, after the front of the line."""

_OTHER_SERVICE = re.compile(
    r"^\W*(?:npm|yarn|pnpm|pip3?|curl|wget|git|gh|docker|podman|cargo|brew|apt|helm|terraform|kubectl"
    r"|bundle|gem|composer|poetry|uv|remote|toomanyrequests)\b"
    r"|pull rate limit|requested URL returned|\bgithub\b|api rate limit exceeded for|disk quota"
    r"|\b(?:Import|Attribute|Type|Name|Syntax|Assertion|ModuleNotFound|Key|Value)Error\b"
    r"|\bassert|\bexpected\b.{0,40}\bgot\b|not raise|\bpanic\b|--- FAIL|::test_|\bredis\b|\bpostgres",
    re.IGNORECASE,
)
"""A limit of something else, or a test about limits."""

_FILE_LINE = re.compile(r"^\S+\.(?!error)[a-z]{1,5}(?::\d+)*:(?!//)")
_LIBRARY = re.compile(
    r"^(?!openai|anthropic|claude|litellm|google\.(?:genai|api_core|generativeai)|groq|mistralai|cohere"
    r"|botocore|httpx|aider|ollama|goose|together|fireworks|langchain|pydantic_ai|xai_sdk|zhipuai|dashscope)"
    r"[a-z_]\w*\.[\w.]*(?:Error|Exception|Exhausted)\b"
)
"""An exception of a library that is not for models."""

_REQUESTED_URL = re.compile(
    r"(?:GET|POST|PUT|HEAD|url|getting|requesting|fetch(?:ing)?|download(?:ing)?|access|clone|from"
    r"|code|pull(?:ing)?)\W{0,3}(https?://\S+)",
    re.IGNORECASE,
)
_MODEL_URL = re.compile(
    r"openai|anthropic|claude|chatgpt|generativelanguage|aiplatform|gemini|openrouter|groq|mistral"
    r"|deepseek|x\.ai|cerebras|moonshot|dashscope|bigmodel|z\.ai|ollama|bedrock|cohere|together"
    r"|fireworks|perplexity|githubcopilot|opencode|cursor|minimax|nvidia|huggingface"
    r"|/chat/completions|/v1/(?:messages|responses|completions|embeddings)|:generateContent",
    re.IGNORECASE,
)


class LimitLine(NamedTuple):
    fault: Fault
    kind: FailureKind


def find_limit_line(errors: str, output: str, more: Sequence[str] = ()) -> LimitLine | None:
    """The line of a failed program that reports a limit, billing or a request that is too large.

    Reads the end of its error output, or the last line of its output if there are no errors.
    `more`: a person's own patterns, for rate limits.
    """
    lines = [line.strip()[:LINE_CHARS] for line in errors.splitlines() if line.strip()]
    if not lines:
        lines = [line.strip()[:LINE_CHARS] for line in output.splitlines() if line.strip()][-1:]
    for line in reversed(lines[-LAST_LINES:]):
        if (kind := _kind(line)) is not None:
            return LimitLine(fault_of_text(line), kind)
        if any(re.search(pattern, line, re.IGNORECASE) for pattern in more):
            return LimitLine(fault_of_text(line), FailureKind.RATE_LIMITED)
    return None


def _kind(line: str) -> FailureKind | None:
    line = line.lstrip(_SIGNS).replace("’", "'")
    if (
        line.endswith("?")
        or _OTHER_SERVICE.search(line)
        or _FILE_LINE.match(line)
        or _LIBRARY.match(line)
    ):
        return None
    if any(not _MODEL_URL.search(url) for url in _REQUESTED_URL.findall(line)):
        return None
    front = _FRONT.match(line)
    report = line[front.end() :] if front else line
    if not (_LIMIT.match(report) or _LIMIT.match(line)):
        return None
    kind = kind_of(fault_of_text(line), is_timed=False)
    is_known = kind in LIMITED or kind in (FailureKind.BILLING, FailureKind.CONTEXT)
    return kind if is_known else None
