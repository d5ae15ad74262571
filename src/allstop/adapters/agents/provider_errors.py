"""Reads an error of a provider or an agent into a failure: its kind, and when to try again. Pure.

Typed values count first: a known kind, the status, codes. Words decide where these say too little.
All drivers use this module, so that one message means the same everywhere.
"""

import ast
import re
from collections.abc import Iterator, Mapping

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from allstop.adapters.agents.reset_times import CHINA, LocalTime, retry_at
from allstop.core.moves import LIMITED, Failed, FailureKind
from allstop.core.text import one_line

MESSAGE_CHARS = 600
READ_CHARS = 20_000
MAX_ENDS = 20
TIMED = LIMITED | {FailureKind.BILLING}
"""Failures whose end may be announced."""
_CHINA_CODES = frozenset({"1302", "1305", "1308", "1309", "1310", "1313"})
"""Codes of Z.ai, which names times of its own zone without saying so."""


class Fault(Struct, frozen=True, kw_only=True):
    """An error as a provider or an agent reports it."""

    message: str
    status: int = 0  # 0: the error came within a stream, or there was no response
    codes: tuple[str, ...] = ()  # the most specific first
    kind: FailureKind | None = None  # if already known
    headers: Mapping[str, str] = {}
    body: object = None  # the JSON that the error came with
    otherwise: FailureKind = FailureKind.NETWORK  # if nothing tells the kind


def failure_of(fault: Fault, at: LocalTime) -> Failed:
    if _CHINA_CODES & set(fault.codes):
        at = replace(at, local=CHINA)
    until = retry_at(fault.headers, fault.message, at, fault.body)
    kind = fault.kind or kind_of(fault, is_timed=until is not None)
    return Failed(kind=kind, message=_readable(fault), retry_at=until if kind in TIMED else None)


def _readable(fault: Fault) -> str:
    whole = fault.message.encode("utf-8", "replace").decode()  # without lone surrogates
    text = one_line(whole, MESSAGE_CHARS) or "the provider gave no reason"
    is_named = str(fault.status) in text
    return text if fault.status < 300 or is_named else f"{text} (HTTP {fault.status})"


# what an error consists of


def read_fault(status: int, headers: Mapping[str, str], body: object) -> Fault:
    """Read an error from a provider's response, or from an event of its stream."""
    if 300 <= status < 400:
        where = headers.get("location", "another address")
        return Fault(
            message=f"the server redirects to {where}, which is not followed", status=status
        )
    error = body.get("error", body) if isinstance(body, Mapping) else body
    aws = headers.get("x-amzn-ErrorType") or headers.get("x-amzn-errortype") or ""
    named = tuple(filter(None, (*_codes(error), aws.partition(":")[0])))
    if isinstance(error, Mapping):
        message = str(error.get("message") or "")
        if param := error.get("param"):
            message += f" [{param}]"
    else:
        message = one_line(str(error or ""), 400)
        if message.startswith("<"):
            message = "the server sent a web page instead of an API response"
    return Fault(message=message, status=status, codes=named, headers=headers, body=body)


GOOGLE_WRONG_KEY = "API_KEY_INVALID"
"""Google's reason, with status 400."""


def _codes(error: object) -> Iterator[str]:
    """The names that the provider gives the error, the most specific first."""
    if not isinstance(error, Mapping):
        return
    details = error.get("details")
    if isinstance(details, Mapping):
        yield str(details.get("error_code") or "")
    for inner in details if isinstance(details, list) else ():
        if isinstance(inner, Mapping) and inner.get("reason") == GOOGLE_WRONG_KEY:
            yield GOOGLE_WRONG_KEY
        for violation in inner.get("violations") or () if isinstance(inner, Mapping) else ():
            if isinstance(violation, Mapping):
                yield str(violation.get("quotaId") or "")
    for name in ("code", "type", "status"):
        if isinstance(error.get(name), str | int):
            yield str(error[name])
    yield str(error.get("__type") or "").rpartition("#")[2]  # of AWS


_STATUS = re.compile(
    r"(?:status|error|http|code|rejected|unrecoverable)\W{0,4}(?:code|status)?\W{0,4}"
    r"\b([45]\d\d)\b(?![\d.,]*\d)"
    r"|^\W*([45]\d\d)\b(?=\W*$|\W*[\[{]|:?\s+[A-Za-z])"
    r"|\b([45]\d\d)\b[ :]*(?:too many|overloaded|rate|service|internal|bad|unauthori|forbidden"
    r"|payment|resource_exhausted)",
    re.IGNORECASE,
)
_JSON = re.compile(r"[\[{]\s*[\"'{]")


def fault_of_text(
    text: str,
    kind: FailureKind | None = None,
    status: int = 0,
    codes: tuple[str, ...] = (),
    otherwise: FailureKind = FailureKind.NETWORK,
) -> Fault:
    """Read an error from words in which a status and a provider's JSON may stand."""
    text = text.strip()
    body = _body_in(text[:READ_CHARS])
    inner = read_fault(0, {}, body) if body is not None else Fault(message="")
    if isinstance(nested := _body_in(inner.message), Mapping):
        inner = read_fault(0, {}, nested)
    if not status:
        status = _status_in(text, inner)
    is_body = text.startswith("{") and inner.message
    return Fault(
        message=inner.message if is_body else text,
        status=status,
        codes=(*codes, *inner.codes),
        kind=kind,
        body=body,
        otherwise=otherwise,
    )


def _status_in(text: str, inner: Fault) -> int:
    if found := _STATUS.search(text):
        return int(next(filter(None, found.groups())))
    return next((int(code) for code in inner.codes if re.fullmatch(r"[45]\d\d", code)), 0)


def _body_in(text: str) -> object | None:
    """The JSON, or the Python value, that stands in a text."""
    if (start := _JSON.search(text)) is None:
        return None
    value = _decoded(text[start.start() :])
    if isinstance(value, list) and value:
        value = value[0]
    return value if isinstance(value, Mapping) else None


def _decoded(text: str) -> object | None:
    """The value at the beginning of the text; the rest is ignored."""
    ends = [found.end() for found in re.finditer(r"[}\]]+", text[:READ_CHARS])]
    for end in (len(text), *ends[-MAX_ENDS:]):
        piece = text[:end].strip()
        try:
            value: object = msgspec.json.decode(piece)
        except (msgspec.DecodeError, RecursionError):
            pass
        else:
            return value
        if piece.startswith(("{'", "[{'")) and piece.endswith(("}", "]")):
            try:
                return ast.literal_eval(piece)  # type: ignore[no-any-return]
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                pass
    return None


# which kind it is

_STATUSES = {
    401: FailureKind.AUTH,
    402: FailureKind.BILLING,
    403: FailureKind.AUTH,
    407: FailureKind.NETWORK,
    408: FailureKind.TIMED_OUT,
    409: FailureKind.OVERLOADED,
    413: FailureKind.CONTEXT,
    425: FailureKind.OVERLOADED,
    429: FailureKind.RATE_LIMITED,
}
_CODES = {
    "api_error": FailureKind.OVERLOADED,
    "INTERNAL": FailureKind.OVERLOADED,  # of Google, within a reply
    "authentication_error": FailureKind.AUTH,
    "billing_error": FailureKind.BILLING,
    "context_length_exceeded": FailureKind.CONTEXT,
    "insufficient_quota": FailureKind.BILLING,
    "invalid_api_key": FailureKind.AUTH,
    "invalid_request_error": FailureKind.BAD_REQUEST,
    "model_not_found": FailureKind.BAD_REQUEST,
    "not_found_error": FailureKind.BAD_REQUEST,
    "overloaded_error": FailureKind.OVERLOADED,
    "permission_error": FailureKind.AUTH,
    "rate_limit_error": FailureKind.RATE_LIMITED,
    "rate_limit_exceeded": FailureKind.RATE_LIMITED,
    "request_too_large": FailureKind.CONTEXT,
    "server_error": FailureKind.OVERLOADED,
    "server_is_overloaded": FailureKind.OVERLOADED,
    "slow_down": FailureKind.RATE_LIMITED,
    "timeout_error": FailureKind.TIMED_OUT,
    "usage_limit_reached": FailureKind.USAGE_LIMITED,
}
_REFUSING = frozenset({0, 400, 402, 403, 413, 422, 429, 498, 529})
"""Statuses whose words say more than the number."""


def _words(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_TOO_LARGE = _words(
    r"request too large",
    r"tokens must be reduced",
    r"input token count .{0,40}exceeds",
    r"prompt is too long",
    r"input is too long",
    r"too many tokens in the prompt",
)
"""One request is larger than what the model or the plan takes. Waiting doesn't help."""

TOO_LONG = _words(
    _TOO_LARGE.pattern,
    r"context[_ ]length",
    r"context window",
    r"context size",
    r"maximum context",
    r"exceed(?:s|ed)? (?:the )?context",
)

_BILLING = _words(
    r"insufficient[_ ](?:\w+[_ ])?(?:quota|balance|credits?|funds)",
    r"credit[_ ]balance",
    r"balance (?:is )?(?:too low|exhausted|insufficient|not enough)",
    r"out of (?:\w+ )?credits?",
    r"no (?:\w+ )?credits? (?:left|remaining|available)|(?:used|spent|exhausted) (?:up )?all (?:\w+ )*credits",
    r"credits? (?:\w+ )?(?:have|has|are|is) (?:been )?(?:exhausted|used up|depleted|expired)",
    r"(?:more|not enough) credits\b(?! or (?:try|wait))",
    r"spend(?:ing)?[_ ](?:limit|cap)",
    r"billing[_ ](?:hard[_ ])?(?:limit|error|issue)|billing_not_active|payment (?:is )?required",
    r"(?:your|complete your|update your) (?:payment|billing) (?:information|method|details)",
    r"\brecharge\b|add (?:a payment|(?:more )?funds)|unpaid",
    r"free (?:quota|tier|trial) (?:\w+ )*(?:exhausted|ended|expired|used up)|FreeTierOnly",
    r"(?:specified|assigned monthly) (?:API )?usage limit",
    r"(?:account|organization|team) (?:\w+ )*(?:suspended|deactivated)",
    r"ServiceQuotaExceeded|exceeds the service quota",
    r"upgrade to a paid (?:account|plan)",
    r"欠费|余额不足|账户余额",
)
_QUOTA_OR_BILLING = _words(
    r"check your plan and billing",
    r"exceeded_current_quota",
    r"exceeded your (?:current |monthly )?quota",
    r"(?:monthly|free) quota",
    r"\b402\b",
)
"""Billing, unless a time or a window is named: then the quota comes back by itself."""

_PERIOD = r"(?:session|daily|weekly|monthly|hourly|\d+[- ]?h(?:our)?s?|5h|7d|today.?s)"
_MODEL = r"(?:opus|sonnet|haiku|fable|\w+(?:[- ][\d.]+)?)"
_HIT = r"(?:hit|reached|exceeded|exhausted|used up|run out of|out of)"
_WINDOW = _words(
    r"usage[- ]limits? (?:has been |have been |was |is )?(?:reached|exceeded|exhausted|hit)",
    rf"{_HIT} (?:\w+ ){{0,2}}(?:usage|{_PERIOD}) (?:\w+ ){{0,2}}limits?",
    rf"{_PERIOD}[/\w]* (?:\w+ ){{0,2}}limit (?:has been |was |is )?(?:reached|exceeded|exhausted|hit)",
    rf"{_HIT} your (?:{_MODEL} )?(?:usage )?limits?\b",
    r"out of (?:extra )?usage\b(?! credits)",
    r"(?:free|all of today.s) (?:free )?usage (?:has been |is )?(?:exceeded|exhausted|used|on this)?",
    r"used (?:up )?all (?:of )?your (?:\w+ ){0,2}(?:requests|messages|usage|quota|allowance)",
    r"free quota used|usage (?:has been |is )?(?:exceeded|exhausted|used up)",
    rf"{_HIT} (?:\w+ ){{0,2}}(?:\w*{_PERIOD}) (?:\w+ ){{0,3}}(?:allowance|quota)",
    r"maximum (?:number of )?(?:\w+ ){0,2}requests (?:for today|per day|this)",
    r"limit (?:was |has been )?(?:reached|exceeded) (?:for (?:today|this)|today)",
    r"(?:quota|limits?) (?:will|is going to) (?:reset|renew|refresh)",
    r"exhausted your capacity",
    r"\bper[ _-]?day\b|PerDay|free-models-per-day|\b[TR]PD\b",
    r"(?:user_)?(?:weekly|daily|monthly|session)_(?:rate_)?limit",
    r"UsageLimit(?:Error|Exceeded)?|usage_limit_(?:reached|exceeded)|usageLimitExceeded",
    r"limit exhausted",
    r"使用上限|额度已?(?:用完|用尽)",
)
_RATE_ONLY = _words(
    r"(?:hit|exceeded|reached) (?:a|the|your) (?:global )?(?:\w+ )?rate[- ]limit",
    r"per[ _-]?min|PerMinute|\b[TR]PM\b|tokens_per_minute",
)
_LONG_PERIOD = _words(rf"\b{_PERIOD}[/\w]* (?:\w+ )?(?:rate )?limit", r"PerDay|per[ _-]?day")
_OVERLOADED = _words(
    r"overloaded",
    r"at capacity|no capacity|capacity (?:is )?exceeded|out of capacity|capacity issue",
    r"high demand|heavy load|high load",
    r"\bUNAVAILABLE\b|service (?:is )?(?:temporarily )?unavailable|ServiceUnavailable",
    r"internal server error|server had an error",
    r"server (?:is )?busy|temporarily unavailable|ModelNotReady",
)
_RATE = _words(
    r"rate[-_ ]?limit(?!er)",
    r"too many (?:requests|tokens|concurrent)",
    r"throttl",
    r"RESOURCE_EXHAUSTED|resource (?:has been )?exhausted|ResourceExhausted",
    r"quota[-_ ]?(?:has been )?exceeded|exceeded (?:your|the) (?:\w+ )*quota|quota_exceeded",
    r"requests? per (?:minute|second)|limit_requests|limit_burst_rate",
    r"slow down",
    r"limiting requests",
    r"(?:concurren\w+|requests?|account|api|models?|messages?) limits? (?:was |has been )?"
    r"(?:reached|exceeded)",
    r"请求过于频繁|速率限制|并发",
)
_ALLOWANCE = _words(r"\b(?:limits?|quota|usage|allowance|credits)\b")
_UNAUTHORIZED = _words(
    r"api[ _-]?key", r"unauthori[sz]ed", r"authenticat", r"not logged in", r"log ?in again",
    r"sign(?:ed)? in\b|access token|\blog(?:ged)? out", r"/login\b|run .{0,20}login", r"(?:token|session|credentials?) (?:has |have )?expired",
)  # fmt: skip
_UNKNOWN_MODEL = _words(
    r"model[^.]{0,80}(?:not found|does not exist|doesn't exist|not exist|is not (?:supported|available)"
    r"|unknown|invalid)",
    r"(?:unknown|invalid|unsupported|no such) model",
    r"model_not_found|not_found_error",
)
_CONNECTION = _words(
    r"ECONN\w+|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|connection|network|fetch failed|socket|disconnected"
    r"|\bstream\b|error sending request|dns|timed? ?out",
)
_URL = re.compile(r"https?://[^\s\"')\]}>]+")
_DENIED = re.compile(
    r"\bnot (?:your|a|an?y|because of) (?:\w+ )?(?:usage )?limits?\b", re.IGNORECASE
)
_SIGNS = str.maketrans({"’": "'", "‘": "'", "\u00a0": " ", "\u202f": " "})


def kind_of(fault: Fault, *, is_timed: bool) -> FailureKind:
    """`is_timed`: the error says when to try again."""
    text = _plain(" ".join((*fault.codes, fault.message)))
    status = fault.status
    if status == 401 or (status == 400 and GOOGLE_WRONG_KEY in fault.codes):
        return FailureKind.AUTH
    if status < 300 and (known := _by_code(fault.codes)) is not None:
        others = [code for code in fault.codes if code not in _CODES]
        text = _plain(" ".join((*others, fault.message)))
        return _more_exact(known, text, fault, is_timed=is_timed)
    if status in _REFUSING:
        return _by_words(text, fault, is_timed=is_timed)
    if status >= 500:
        return FailureKind.OVERLOADED
    return _STATUSES.get(status, FailureKind.BAD_REQUEST)


def _plain(text: str) -> str:
    """The words that can tell a kind, without addresses and what they say it is not."""
    return _DENIED.sub(" ", _URL.sub(" ", text[:READ_CHARS].translate(_SIGNS)))


def _by_code(codes: tuple[str, ...]) -> FailureKind | None:
    return next((_CODES[code] for code in codes if code in _CODES), None)


def _more_exact(known: FailureKind, text: str, fault: Fault, *, is_timed: bool) -> FailureKind:
    """The words may tell a used-up account or window from a rate limit."""
    found = _limit_by_words(text, fault, is_timed=is_timed)
    if known is FailureKind.USAGE_LIMITED:
        return found if found is FailureKind.BILLING else known
    is_vague = known in (FailureKind.RATE_LIMITED, FailureKind.BAD_REQUEST, FailureKind.BILLING)
    return found or known if is_vague else known


def _by_words(text: str, fault: Fault, *, is_timed: bool) -> FailureKind:
    status = fault.status
    if (_TOO_LARGE if status in (0, 429) else TOO_LONG).search(text):
        return FailureKind.CONTEXT
    if status == 0 and TOO_LONG.search(text) and not _RATE.search(text):
        return FailureKind.CONTEXT
    limit = _limit_by_words(text, fault, is_timed=is_timed)
    if limit is not None:
        return limit
    if any("Throttling" in code for code in fault.codes):  # AWS may send it with status 400
        return FailureKind.RATE_LIMITED
    if status:
        return _STATUSES.get(
            status, FailureKind.OVERLOADED if status >= 500 else FailureKind.BAD_REQUEST
        )
    if _RATE.search(text):
        return FailureKind.RATE_LIMITED
    if is_timed and _ALLOWANCE.search(text):
        return FailureKind.USAGE_LIMITED
    if _UNKNOWN_MODEL.search(text):
        return FailureKind.BAD_REQUEST
    if _UNAUTHORIZED.search(text):
        return FailureKind.AUTH
    return FailureKind.NETWORK if _CONNECTION.search(text) else fault.otherwise


def _limit_by_words(text: str, fault: Fault, *, is_timed: bool) -> FailureKind | None:
    """Billing, a used-up window, or overload; None if the words name none of them."""
    is_window = bool(_WINDOW.search(text))
    if _RATE_ONLY.search(text) and not _LONG_PERIOD.search(text):
        is_window = False
    if _BILLING.search(text) and not (is_window and is_timed):
        return FailureKind.BILLING
    if is_window:
        return FailureKind.USAGE_LIMITED
    if _QUOTA_OR_BILLING.search(text) or fault.status == 402:
        is_rate = is_timed or _RATE_ONLY.search(text)
        return FailureKind.RATE_LIMITED if is_rate else FailureKind.BILLING
    if fault.status in (0, 429, 529) and _OVERLOADED.search(text):
        return FailureKind.OVERLOADED
    return None
