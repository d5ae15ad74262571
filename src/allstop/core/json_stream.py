"""Extracts a message from a JSON reply while the reply is streamed."""

_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_SPACE = " \t\r\n"


class StringDecoder:
    """Decodes the inside of a JSON string, one character at a time.

    The first half of a surrogate pair is kept until the second half arrives.
    """

    def __init__(self) -> None:
        self._escape = ""
        self._half = ""

    @property
    def is_escaping(self) -> bool:
        return bool(self._escape)

    def feed(self, char: str) -> str:
        if not self._escape:
            if char == "\\":
                self._escape = char
                return ""
            return self._whole(char)
        self._escape += char
        if self._escape[1] != "u":
            self._escape = ""
            return self._whole(_ESCAPED.get(char, char))
        if len(self._escape) < 6:
            return ""
        digits, self._escape = self._escape[2:], ""
        return self._whole(_character(digits))

    def end(self) -> str:
        half, self._half = self._half, ""
        return "\N{REPLACEMENT CHARACTER}" if half else ""

    def _whole(self, char: str) -> str:
        if self._half and "\udc00" <= char <= "\udfff":
            pair, self._half = self._half + char, ""
            return pair.encode("utf-16", "surrogatepass").decode("utf-16")
        before = self.end()
        if "\ud800" <= char <= "\udbff":
            self._half = char
            return before
        return before + ("\N{REPLACEMENT CHARACTER}" if "\udc00" <= char <= "\udfff" else char)


def _character(digits: str) -> str:
    try:
        return chr(int(digits, 16))
    except ValueError:
        return "\N{REPLACEMENT CHARACTER}"


class MessageExtractor:
    """Extracts the value of an object's "message"; text that is not an object passes unchanged."""

    def __init__(self, key: str = "message") -> None:
        self._wanted = key
        self._before: str | None = ""  # leading white space; None once text has begun
        self._is_object = False
        self._depth = 0
        self._string: StringDecoder | None = None
        self._is_key = False
        self._key = ""
        self._expects_value = False

    def feed(self, text: str) -> str:
        """Add a piece and return the text to show."""
        if self._before is None and not self._is_object:
            return text
        return "".join(map(self._char, text))

    def _char(self, char: str) -> str:
        if self._before is not None:
            return self._first(char, self._before)
        if not self._is_object:
            return char
        if self._string is not None:
            return self._in_string(char, self._string)
        self._outside(char)
        return ""

    def _first(self, char: str, before: str) -> str:
        if char in _SPACE:
            self._before = before + char
            return ""
        self._before = None
        self._is_object = char == "{"
        self._depth = 1
        return "" if self._is_object else before + char

    def _outside(self, char: str) -> None:
        if char == '"':
            self._string = StringDecoder()
            self._is_key = self._depth == 1 and not self._expects_value
            self._key = "" if self._is_key else self._key
        elif char in "{[":
            self._depth += 1
        elif char in "}]":
            self._depth -= 1
        elif self._depth == 1 and char in ":,":
            self._expects_value = char == ":"

    def _in_string(self, char: str, string: StringDecoder) -> str:
        ended = char == '"' and not string.is_escaping
        words = string.end() if ended else string.feed(char)
        if ended:
            self._string = None
        if self._is_key:
            self._key += words
            return ""
        return words if self._depth == 1 and self._key == self._wanted else ""
