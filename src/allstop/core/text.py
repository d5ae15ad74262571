"""Makes text of agents and people safe to show, for terminals and inside JSON."""

import re

_ESCAPES = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC: titles, links, the clipboard
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # DCS and friends
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI: colours, cursor moves
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_HIDDEN = (
    r"\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    r"\ufe00-\ufe0d\ufeff\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_INVISIBLE = re.compile(f"[{_HIDDEN}]")
_ESCAPED_IN_JSON = re.compile(rf"[\x7f-\x9f\ud800-\udfff{_HIDDEN}]")


def plain(text: str) -> str:
    """The text without escape sequences, with control and invisible characters shown."""
    text = _ESCAPES.sub("", text.replace("\r\n", "\n"))
    text = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)
    return _INVISIBLE.sub(lambda found: f"<U+{ord(found[0]):04X}>", text)


def escape_json(document: str) -> str:
    """The same JSON document, with control and invisible characters written as \\uXXXX."""
    return _ESCAPED_IN_JSON.sub(_json_escape, document)


def _json_escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def one_line(text: str, most: int = 100) -> str:
    """The text as one line of at most `most` characters."""
    line = " ".join(plain(text).split())
    return line if len(line) <= most else line[: most - 1] + "…"


def money(usd: float, *, partial: bool = False) -> str:
    """Dollars for people. `partial`: agents did not report all that was spent."""
    if partial and usd == 0:
        return "unknown"
    shown = f"${usd:,.2f}" if usd == 0 or usd >= 0.01 else "<$0.01"
    return f"≥ {shown.lstrip('<')}" if partial else shown


def token_count(tokens: int, *, partial: bool = False) -> str:
    """`519 tokens`. `partial`: agents did not report all that they used."""
    if partial and tokens == 0:
        return "tokens unknown"
    return f"{'≥ ' if partial else ''}{tokens:,} tokens"


def counted(number: int, noun: str) -> str:
    """`1 turn`, `2,000 turns`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def last_line(text: str) -> str:
    """The last line of the text, shortened."""
    return one_line(text.rstrip().rpartition("\n")[2])


def last_chars(text: str, most: int) -> str:
    """The last `most` characters, after a note on how many were left out."""
    return text if len(text) <= most else f"[… {len(text) - most:,} characters …]\n{text[-most:]}"
