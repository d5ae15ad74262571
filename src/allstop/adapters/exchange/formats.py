"""The table of exchange formats, and the detection of a file's format."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from msgspec import Struct

from allstop.adapters.exchange import (
    allstop_export,
    beads,
    csv_export,
    github,
    markdown,
    prd,
    taskmaster,
    vibe_kanban,
)
from allstop.adapters.exchange.file_contents import Content, Json, Text, load, load_piped
from allstop.adapters.exchange.file_errors import ImportFileError
from allstop.adapters.exchange.json_document import describe
from allstop.core.errors import AllstopError
from allstop.core.tasks import NewTask, Task


class Format(Struct, frozen=True, kw_only=True):
    """A file format for tasks; `read` or `write` is None if it isn't supported."""

    name: str
    description: str
    looks_like: Callable[[Content], bool] | None = None
    read: Callable[[Content], list[NewTask]] | None = None
    write: Callable[[Sequence[Task]], str] | None = None


class _Reader(Protocol):
    """A module that reads a format."""

    NAME: str

    def looks_like(self, content: Content) -> bool: ...
    def read(self, content: Content) -> list[NewTask]: ...


def _readable(
    module: _Reader, description: str, write: Callable[[Sequence[Task]], str] | None = None
) -> Format:
    return Format(
        name=module.NAME,
        description=description,
        looks_like=module.looks_like,
        read=module.read,
        write=write,
    )


_ALL = (
    _readable(allstop_export, "Allstop's own export; keeps everything", write=allstop_export.write),
    _readable(
        markdown, "a Markdown checklist: - [ ] title (needs: T1) #tag !3", write=markdown.write
    ),
    _readable(prd, "prd.json as ralph tools use it: userStories, or a list of features"),
    _readable(beads, "beads' issues.jsonl, or what bd list --json prints"),
    _readable(taskmaster, "task-master's tasks.json, with or without tags"),
    _readable(github, "GitHub issues: gh issue list --json number,title,body,labels,state,url"),
    _readable(vibe_kanban, "vibe-kanban's database, db.v2.sqlite; it is only read"),
    Format(
        name=csv_export.NAME,
        description="a table for spreadsheets; export only",
        write=csv_export.write,
    ),
)

FORMATS: Mapping[str, Format] = MappingProxyType({one.name: one for one in _ALL})


def read_tasks(path: Path | bytes, format: str | None = None) -> list[NewTask]:  # noqa: A002 - its name for callers
    """The tasks in a file or in piped data, at least one; detects the format if none is given.

    Raises ImportFileError if the file is invalid. Unknown needs, duplicate ids and cycles are not
    checked here: the board rejects them.
    """
    read = None if format is None else _named(format, _READABLE).read
    content = load_piped(path) if isinstance(path, bytes) else load(path)
    if read is None:
        read = _detect(content).read
    assert read
    tasks = read(content)
    if not tasks:
        raise ImportFileError(
            content.path, None, "expected at least one task, found none", code="no_tasks"
        )
    return tasks


def write_tasks(tasks: Sequence[Task], format: str) -> str:  # noqa: A002 - its name for callers
    """The tasks as text, in the given order."""
    write = _named(format, _WRITABLE).write
    assert write
    return write(tasks)


_READABLE = tuple(one.name for one in _ALL if one.read)
_WRITABLE = tuple(one.name for one in _ALL if one.write)


def _named(name: str, known: Sequence[str]) -> Format:
    if name not in known:
        raise AllstopError(f"unknown format {name!r}", _listed(known), code="unknown_format")
    return FORMATS[name]


def _listed(names: Sequence[str]) -> str:
    return f"the formats are {', '.join(names)}"


def _detect(content: Content) -> Format:
    found = [one for one in _ALL if one.looks_like and one.looks_like(content)]
    if len(found) == 1:
        return found[0]
    if found:
        names = " and ".join(one.name for one in found)
        problem = f"expected one format, found signs of {names}"
        raise ImportFileError(
            content.path, None, problem, f"name one; {_listed(_READABLE)}", code="ambiguous_format"
        )
    match content:
        case Text(json_error=ImportFileError() as json_error):
            raise json_error
        case Json():
            shown = describe(content.documents[0].value)
            line, problem = content.documents[0].first_line, f"expected tasks, found {shown}"
        case _:
            line, problem = 1, "expected tasks, found a text without any"
    raise ImportFileError(content.path, line, problem, _listed(_READABLE), code="unknown_format")
