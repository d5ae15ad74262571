"""Loads an imported file and tells whether it is a database, JSON or other text."""

import stat
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from allstop.adapters.exchange.file_errors import ImportFileError
from allstop.adapters.exchange.json_document import Document, parse

LARGEST_MB = 64
"""The limit for text files; a database is not read as a whole."""

_DATABASE = b"SQLite format 3\0"
_ENCODINGS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


class Database(Struct, frozen=True, kw_only=True):
    path: Path


class Json(Struct, frozen=True, kw_only=True):
    """One JSON document, or one per line."""

    path: Path
    documents: tuple[Document, ...]
    by_line: bool = False

    @property
    def whole(self) -> Document:
        if len(self.documents) > 1:
            second = self.documents[1].first_line
            raise ImportFileError(
                self.path, second, "expected one JSON value, found another", code="not_json"
            )
        return self.documents[0]


class Text(Struct, frozen=True, kw_only=True):
    path: Path
    text: str
    json_error: ImportFileError | None = None  # set if it begins like JSON


Content: TypeAlias = Database | Json | Text


STANDARD_INPUT = Path("standard input")


def load(path: Path) -> Content:
    """Load a file. Rejects anything but a regular file, because a pipe could block."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            found = "a directory" if path.is_dir() else "something else"
            raise ImportFileError(path, None, f"expected a file, found {found}", code="not_a_file")
        with path.open("rb") as file:
            head = file.read(len(_DATABASE))
            if head == _DATABASE:
                return Database(path=path)
            data = head + file.read(LARGEST_MB * 1_000_000 + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise ImportFileError(path, None, f"can't be read: {why}", code="unreadable_file") from None
    return _classify(path, _decode(path, data))


def load_piped(data: bytes) -> Content:
    if data.startswith(_DATABASE):
        problem = "expected text, found a database"
        hint = "pass the database's path instead"
        raise ImportFileError(STANDARD_INPUT, None, problem, hint, code="database_piped")
    return _classify(STANDARD_INPUT, _decode(STANDARD_INPUT, data))


def as_json(content: Content) -> Json:
    match content:
        case Json():
            return content
        case Text(json_error=ImportFileError() as json_error):
            raise json_error
        case Text():
            raise ImportFileError(
                content.path, 1, "expected JSON, found other text", code="not_json"
            )
        case Database():
            raise ImportFileError(
                content.path, None, "expected JSON, found a database", code="not_json"
            )


def _decode(path: Path, data: bytes) -> str:
    if len(data) > LARGEST_MB * 1_000_000:
        problem = f"expected at most {LARGEST_MB} MB of text, found more"
        raise ImportFileError(path, None, problem, code="file_too_large")
    encoding = _ENCODINGS.get(data[:2])
    if encoding:
        raise ImportFileError(
            path, 1, f"expected UTF-8 text, found {encoding}", _SAVE, code="not_utf8"
        )
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise ImportFileError(path, line, "expected text, found binary data", code="binary_file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        problem = "expected UTF-8 text, found another encoding"
        raise ImportFileError(path, line, problem, _SAVE, code="not_utf8") from None
    if not text.strip():
        raise ImportFileError(path, 1, "expected tasks, found an empty file", code="empty_file")
    return text


_SAVE = "save the file as UTF-8"


def _classify(path: Path, text: str) -> Json | Text:
    if text.lstrip()[:1] not in ("{", "["):
        return Text(path=path, text=text)
    try:
        return Json(path=path, documents=(parse(path, text),))
    except ImportFileError as json_error:
        return _by_line(path, text, json_error)


def _by_line(path: Path, text: str, json_error: ImportFileError) -> Json | Text:
    """JSON Lines if the first line is an object; otherwise text with the JSON error."""
    lines = [(at, line) for at, line in enumerate(text.split("\n"), 1) if line.strip()]
    try:
        first = parse(path, lines[0][1], lines[0][0])
    except ImportFileError:
        return Text(path=path, text=text, json_error=json_error)
    if len(lines) == 1 or not isinstance(first.value, dict):
        return Text(path=path, text=text, json_error=json_error)
    try:
        rest = tuple(parse(path, line, at) for at, line in lines[1:])
    except ImportFileError as line_error:
        return Text(path=path, text=text, json_error=line_error)
    return Json(path=path, documents=(first, *rest), by_line=True)
