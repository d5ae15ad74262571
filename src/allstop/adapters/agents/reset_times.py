"""Reads when a limit ends, from headers, fields of a JSON body, or words. Pure.

A time is read only where it is announced. None means that nothing was announced.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from email.utils import parsedate_to_datetime
from zoneinfo import ZoneInfo

from msgspec import Struct

MAX_DELAY = timedelta(days=31)
"""A reset further away is taken as a mistake."""

MINUTE = timedelta(minutes=1)
LATE = timedelta(minutes=15)
"""A time that is past by less than this means today, not tomorrow."""

MIN_OWN_RETRY = timedelta(minutes=5)
"""A shorter "retrying in …" is the agent's own backoff, not an announced time."""

NOON = 12
"""A date without a time means noon of that day."""


class SystemZone(tzinfo):
    """This machine's zone by its rules: unlike `astimezone`, it knows when the offset changes."""

    def utcoffset(self, dt: datetime | None) -> timedelta | None:
        return None if dt is None else timedelta(seconds=self._local(dt).tm_gmtoff)

    def dst(self, dt: datetime | None) -> timedelta | None:
        return None

    def tzname(self, dt: datetime | None) -> str | None:
        return None if dt is None else self._local(dt).tm_zone

    def fromutc(self, dt: datetime) -> datetime:
        offset = time.localtime(dt.replace(tzinfo=UTC).timestamp()).tm_gmtoff
        local = dt + timedelta(seconds=offset)
        is_second = self._local(local.replace(fold=0)).tm_gmtoff != offset
        return local.replace(fold=int(is_second))

    @staticmethod
    def _local(dt: datetime) -> time.struct_time:
        return time.localtime(dt.replace(tzinfo=None).timestamp())


class LocalTime(Struct, frozen=True, kw_only=True):
    """The present instant, and the zone of times without one."""

    now: datetime
    local: tzinfo = UTC


def retry_at(
    headers: Mapping[str, str], text: str, at: LocalTime, body: object = None
) -> datetime | None:
    """When to try again: by the headers, else by fields of the body, else by the words."""
    return (
        _from_headers(headers, at.now)
        or _from_body(body, at.now)
        or _from_fields(text, at.now)
        or from_words(text, at)
    )


# headers

_LIMIT_HEADER = re.compile(r"^(?:x|anthropic)-ratelimit-(?:reset(?:-(.+))?|(.+)-reset)$")
_UNIFIED = "anthropic-ratelimit-unified-"
_CLAIMS = {"five_hour": "5h", "seven_day": "7d"}


def _from_headers(given: Mapping[str, str], now: datetime) -> datetime | None:
    """From the retry headers, else from the resets of the windows that are used up."""
    headers = {name.lower(): value.strip() for name, value in given.items()}
    for name, read in (("retry-after-ms", _milliseconds), ("retry-after", _after)):
        if name in headers and (at := _plausible(read, headers[name], now)) is not None:
            return at
    if (unified := _unified_window(headers, now)) is not None:
        return unified
    if (codex := _codex_window(headers, now)) is not None:
        return codex
    resets = {
        name: at
        for name, value in headers.items()
        if _LIMIT_HEADER.match(name)
        and not name.startswith(_UNIFIED)
        and (at := _plausible(_reset, value, now)) is not None
    }
    used_up = [at for name, at in resets.items() if headers.get(_remaining(name)) == "0"]
    return max(used_up or resets.values(), default=None)


def _unified_window(headers: Mapping[str, str], now: datetime) -> datetime | None:
    """The reset of the rejected window among those that Anthropic reports."""
    rejected = [
        name.removeprefix(_UNIFIED).removesuffix("-status")
        for name, value in headers.items()
        if name.startswith(_UNIFIED) and name.endswith("-status") and value == "rejected"
    ]
    claim = headers.get(f"{_UNIFIED}representative-claim", "")
    windows = [each for each in rejected if each != "status"]
    if not windows and claim:
        windows = [_CLAIMS.get(claim, claim)]
    found = [
        at
        for window in windows
        if (at := _plausible(_reset, headers.get(f"{_UNIFIED}{window}-reset", ""), now))
    ]
    return max(found, default=None) or _plausible(_reset, headers.get(f"{_UNIFIED}reset", ""), now)


def _codex_window(headers: Mapping[str, str], now: datetime) -> datetime | None:
    """The latest reset of the windows that codex's provider reports as used up."""
    found: list[datetime] = []
    for window in ("primary", "secondary"):
        front = f"x-codex-{window}-"
        try:
            is_full = float(headers.get(f"{front}used-percent", "0")) >= 100
        except ValueError:
            is_full = False
        for name in ("reset-at", "reset-after-seconds") if is_full else ():
            if at := _plausible(_reset, headers.get(front + name, ""), now):
                found.append(at)
                break
    return max(found, default=None)


def _remaining(name: str) -> str:
    """The name of the header that says how much of the limit is left."""
    return name.replace("reset", "remaining")


def _plausible(
    read: Callable[[str, datetime], datetime | None], value: str, now: datetime
) -> datetime | None:
    try:
        return _sane(read(value, now), now)
    except (ValueError, OverflowError, OSError, TypeError):
        return None


def _sane(at: datetime | None, now: datetime) -> datetime | None:
    if at is None:
        return None
    at = at.astimezone(UTC)
    return at if now <= at <= now + MAX_DELAY else None


def _milliseconds(value: str, now: datetime) -> datetime:
    return now + timedelta(milliseconds=float(value))


def _after(value: str, now: datetime) -> datetime:
    if re.fullmatch(r"\d+(?:\.\d+)?", value):
        return now + timedelta(seconds=float(value))
    at = parsedate_to_datetime(value)
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _reset(value: str, now: datetime) -> datetime | None:
    """A span such as 6m0s, an ISO time, Unix seconds or milliseconds, or seconds from now."""
    if not value:
        return None
    if re.fullmatch(r"\d+(?:\.\d+)?", value):
        number = float(value)
        if number > 1e9:
            return datetime.fromtimestamp(number / 1000 if number > 1e11 else number, UTC)
        return now + timedelta(seconds=number)
    if re.fullmatch(_SPAN, value, re.IGNORECASE):
        return now + _span(value)
    at = datetime.fromisoformat(value)
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def reset_header(value: str, now: datetime) -> datetime | None:
    """The reset that a header announces: a span, an ISO time or Unix seconds."""
    return _plausible(_reset, value, now)


# fields of a JSON body

_DELAYS = frozenset(
    {
        "retryafter",
        "retryafterseconds",
        "retrydelay",
        "resetsinseconds",
        "resetinseconds",
        "resetafterseconds",
        "resetsafterseconds",
    }
)
_INSTANTS = frozenset({"resetsat", "resetat", "resettime", "resetsatms", "quotaresettimestamp"})
_FIELD = re.compile(
    r"[\"']?\b(retry[_-]?after(?:[_-]?seconds)?|retryDelay|resets?[_-]?in[_-]?seconds"
    r"|resets?[_-]?after[_-]?seconds|resets?[_-]?at|resetTime|quotaResetTimeStamp)"
    r"[\"']?\s*[:=]\s*[\"']?([\dT:.+Z-]+(?:ms|s|m|h)?)",
    re.IGNORECASE,
)
"""A field within text, such as `"retryDelay": "47s"`."""

MAX_DEPTH = 8


def _from_body(body: object, now: datetime) -> datetime | None:
    found = [at for at in _instants(body, now, 0) if at is not None]
    return max(found, default=None)


def _instants(value: object, now: datetime, depth: int) -> Iterator[datetime | None]:
    """The times in the fields of a body, at any depth."""
    if depth > MAX_DEPTH:
        return
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if name == "headers" and isinstance(inner, Mapping):
                yield _from_headers({str(key): str(each) for key, each in inner.items()}, now)
            elif isinstance(inner, str | int | float) and not isinstance(inner, bool):
                yield _field(str(name), str(inner), now)
            else:
                yield from _instants(inner, now, depth + 1)
    elif isinstance(value, list | tuple):
        for inner in value[:100]:
            yield from _instants(inner, now, depth + 1)


def _from_fields(text: str, now: datetime) -> datetime | None:
    found = [_field(name, value, now) for name, value in _FIELD.findall(text)]
    return max((at for at in found if at is not None), default=None)


def _field(name: str, value: str, now: datetime) -> datetime | None:
    plain = re.sub(r"[_-]", "", name).lower()
    if plain in _DELAYS:
        return _plausible(_reset, value, now)
    if plain in _INSTANTS and len(value) >= 10:  # an instant, never a number of seconds
        return _plausible(_reset, value, now)
    return None


# words

_UNITS = {
    **dict.fromkeys(("ms", "msec", "msecs", "millisecond", "milliseconds"), 0.001),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
    **dict.fromkeys(("w", "wk", "week", "weeks"), 604800.0),
}
_PART = rf"\d{{1,7}}(?:\.\d+)?\s?(?:{'|'.join(sorted(_UNITS, key=len, reverse=True))})(?![a-z])"
# "8h44m7s": a unit may be followed by the next number at once
_SPAN = rf"{_PART}(?:[\s,]*(?:and\s+)?{_PART})*"
_PARTS = re.compile(r"(\d+(?:\.\d+)?)\s?([a-z]+)", re.IGNORECASE)

_IN_SPAN = re.compile(
    r"(?P<how>try(?:ing)? again|retry(?:ing)?|resets?|wait(?:ing)?|come back|back|available"
    r"|renews?|refresh(?:es)?|restored|unlocks?|expires?)"
    r"(?:\s+(?:again|automatically|at least|for|in|after|about|approximately|around|another"
    r"|once more))*[\s:~]+"
    rf"(?P<span>{_SPAN})",
    re.IGNORECASE,
)
_BARE_SECONDS = re.compile(r"retry[- ]after[:=]?\s+(\d{1,7})(?![\d.:/-]|\s?[a-z])", re.IGNORECASE)
_EPOCH = re.compile(r"\|(\d{10})(?:\d{3})?\b")

_MONTHS = {
    **dict.fromkeys(("jan", "ene", "gen"), 1),
    **dict.fromkeys(("feb", "fev", "fév"), 2),
    **dict.fromkeys(("mar", "mär", "mrz"), 3),
    **dict.fromkeys(("apr", "abr", "avr"), 4),
    **dict.fromkeys(("may", "mai", "mag", "mei"), 5),
    **dict.fromkeys(("jun", "juin", "giu"), 6),
    **dict.fromkeys(("jul", "juil", "lug"), 7),
    **dict.fromkeys(("aug", "ago", "aoû", "aou"), 8),
    **dict.fromkeys(("sep", "set"), 9),
    **dict.fromkeys(("oct", "okt", "out", "ott"), 10),
    **dict.fromkeys(("nov",), 11),
    **dict.fromkeys(("dec", "dez", "dic", "déc"), 12),
}
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_ZONES = {
    **dict.fromkeys(("utc", "gmt", "z"), "UTC"),
    **dict.fromkeys(("pt", "pst", "pdt", "pacific"), "America/Los_Angeles"),
    **dict.fromkeys(("mt", "mst", "mdt", "mountain"), "America/Denver"),
    **dict.fromkeys(("ct", "cst", "cdt", "central"), "America/Chicago"),
    **dict.fromkeys(("et", "est", "edt", "eastern"), "America/New_York"),
    **dict.fromkeys(("cet", "cest"), "Europe/Berlin"),
    **dict.fromkeys(("bst",), "Europe/London"),
    **dict.fromkeys(("jst",), "Asia/Tokyo"),
    **dict.fromkeys(("kst",), "Asia/Seoul"),
    **dict.fromkeys(("ist",), "Asia/Kolkata"),
}
CHINA = ZoneInfo("Asia/Shanghai")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")

_MONTH = rf"(?P<{{}}>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})[^\W\d_]*\.?"
_DATE = (
    r"(?:(?P<weekday>mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+"
    rf"|(?P<tomorrow>tomorrow),?\s+)?(?:"
    rf"{_MONTH.format('month_1')}\s+(?P<day_1>\d{{1,2}})(?:st|nd|rd|th)?(?![\d:])"
    r"|(?P<day_2>\d{1,2})(?:st|nd|rd|th|\.)?\s+(?:de\s+)?"
    rf"{_MONTH.format('month_2')}"
    r"|(?P<us_month>\d{1,2})/(?P<us_day>\d{1,2})(?=/\d{4})"
    r"|(?P<iso_year>\d{4})-(?P<iso_month>\d\d)-(?P<iso_day>\d\d)"
    r")?(?:(?:,\s*|\s+(?:de\s+)?|/)(?P<year>20\d\d)(?![\d:]))?"
)
_TIME = (
    r"(?:(?P<name>midnight|noon)|(?P<hour>\d{1,2}))(?:[:h](?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.\d+)?)?)?"
    r"(?:\s*(?P<half>[ap])\.?m\b\.?)?"
)
_ZONE = (
    r"(?:\s*\((?P<zone>[A-Za-z][\w/+-]+)\)|\s?(?P<bare>UTC|GMT|Z|[PMCE][SD]?T|CES?T|BST|JST|KST|IST"
    r"|Pacific|Mountain|Central|Eastern)\b|\s?(?P<offset>[+-]\d\d:?\d\d)\b)?"
)
_CLOCK = re.compile(
    r"(?P<how>resets?|reset time|try(?:ing)? again|retry|renews?|refresh(?:es)?|regain access|available"
    r"|come back|wait until|until|ends?|重置时间|将在|将于|于)"
    r"(?:\s+(?:again|automatically))?\s*(?:at\s+|on\s+|after\s+|until\s+|:\s*|is\s+)?"
    rf"(?:(?P<early>{_TIME.replace('?P<', '?P<early_')}{_ZONE.replace('?P<', '?P<early_')})\s+on\s+"
    rf"(?P<late_day>\d{{1,2}})\s+{_MONTH.format('late_month')}"
    rf"|{_DATE}(?:T|,?\s*(?:(?:at|um|às|a las|à)\s+)?)(?:{_TIME}{_ZONE})?)",
    re.IGNORECASE,
)


def from_words(text: str, at: LocalTime) -> datetime | None:
    """The time that words announce: a span, a time of day, a date."""
    if (epoch := _EPOCH.search(text)) is not None:
        return _sane(datetime.fromtimestamp(int(epoch[1]), UTC), at.now)
    if (bare := _BARE_SECONDS.search(text)) is not None:
        return _sane(at.now + timedelta(seconds=int(bare[1])), at.now)
    for found in _IN_SPAN.finditer(text):
        span = _span(found["span"])
        if found["how"].lower() != "retrying" or span >= MIN_OWN_RETRY:
            return _sane(at.now + span, at.now)
    local = CHINA if _CHINESE.search(text) else at.local
    for clock in _CLOCK.finditer(text):
        if (named := _named_time(clock, at.now, local)) is not None:
            return named
    return None


def _span(text: str) -> timedelta:
    parts = _PARTS.findall(text)
    return timedelta(seconds=sum(float(number) * _UNITS[unit.lower()] for number, unit in parts))


def _named_time(clock: re.Match[str], now: datetime, local: tzinfo) -> datetime | None:
    try:
        return _sane(_resolve(clock, now, local), now)
    except (ValueError, OverflowError):
        return None


def _resolve(clock: re.Match[str], now: datetime, local: tzinfo) -> datetime | None:
    """The first such time after now, by the zone's rules for that day."""
    front = "early_" if clock["early"] else ""
    hour, minute, half = (clock[front + name] for name in ("hour", "minute", "half"))
    if name := clock[front + "name"]:
        hour, minute, half = "12", "00", "a" if name.lower() == "midnight" else "p"
    date = _date(clock)
    if date is None and not (half or minute):
        return None  # a number, but no time
    now = now.astimezone(_zone(clock, front, local))
    at = now.replace(hour=NOON, minute=0, second=0, microsecond=0)
    if hour is not None:
        second = int(clock[front + "second"] or 0)
        at = at.replace(hour=_hour(hour, half), minute=int(minute or 0), second=second)
        if minute and not second and clock["how"].lower().startswith("try"):
            at += MINUTE  # codex rounds down to the minute
    if date is not None:
        year, month, day = date
        at = at.replace(year=year or now.year, month=month, day=day)
        return at if year or at > now - LATE else at.replace(year=at.year + 1)
    if clock["tomorrow"]:
        return at + timedelta(1)
    if clock["weekday"]:
        at += timedelta((_WEEKDAYS.index(clock["weekday"].lower()) - at.weekday()) % 7)
        return at if at > now else at + timedelta(7)
    return max(at, now) if at >= now - LATE else at + timedelta(1)


def _date(clock: re.Match[str]) -> tuple[int, int, int] | None:
    """The year (0 if not named), month and day."""
    year = int(clock["year"] or 0)
    if clock["iso_year"]:
        return int(clock["iso_year"]), int(clock["iso_month"]), int(clock["iso_day"])
    if clock["us_month"]:
        return year, int(clock["us_month"]), int(clock["us_day"])
    for month, day in (("month_1", "day_1"), ("month_2", "day_2"), ("late_month", "late_day")):
        if clock[month]:
            return year, _MONTHS[clock[month].lower()], int(clock[day])
    return None


def _hour(hour: str, half: str | None) -> int:
    return int(hour) % 12 + (12 if half.lower() == "p" else 0) if half else int(hour)


def _zone(clock: re.Match[str], front: str, local: tzinfo) -> tzinfo:
    if offset := clock[front + "offset"]:
        return datetime.strptime(offset.replace(":", ""), "%z").tzinfo or local
    name = clock[front + "zone"] or clock[front + "bare"]
    try:
        return ZoneInfo(_ZONES.get(name.lower(), name)) if name else local
    except (KeyError, ValueError, OSError):  # this machine doesn't know the zone
        return local
