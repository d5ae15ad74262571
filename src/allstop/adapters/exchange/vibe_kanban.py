"""Reads vibe-kanban's SQLite file, `db.sqlite` or `db.v2.sqlite`; opens it read-only.

All versions have the tables `projects` (id, name) and `tasks` (id, project_id, title, description,
status). A task may be based on another task's attempt: the column is `parent_task_attempt` and points
to `task_attempts`, in later versions `parent_workspace_id` and `workspaces`. It becomes a need. The
project becomes the operation. There are no priorities. The id is `vk-` and the first twelve digits of
the task's UUID.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote
from uuid import UUID

from allstop.adapters.exchange.file_contents import Content, Database
from allstop.adapters.exchange.file_errors import ImportFileError
from allstop.adapters.exchange.json_document import kind
from allstop.adapters.exchange.task_items import CANCELLED, Item, clean, to_id, to_tasks
from allstop.core.tasks import NewTask
from allstop.core.text import one_line

NAME = "vibe-kanban"
_FINISHED = frozenset({"done", CANCELLED})
_REQUIRED_COLUMNS = ("id", "title", "status")
_PARENTS = (("parent_workspace_id", "workspaces"), ("parent_task_attempt", "task_attempts"))
_WAL_FORMAT_AT = 18


def looks_like(content: Content) -> bool:
    return isinstance(content, Database)


def read(content: Content) -> list[NewTask]:
    if not isinstance(content, Database):
        raise ImportFileError(content.path, None, "expected an SQLite database, found a text")
    try:
        with _open(content.path) as connection:
            items = list(_items(content.path, connection))
    except (sqlite3.Error, OSError) as error:
        raise ImportFileError(
            content.path, None, f"can't be read: {error}", code="unreadable_file"
        ) from None
    if not items:
        raise ImportFileError(
            content.path, None, "tasks: expected at least one task, found an empty table"
        )
    return to_tasks(content.path, items, _name)


@contextmanager
def _open(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the file without creating a missing write-ahead log in its folder."""
    with path.open("rb") as file:
        is_wal = file.read(_WAL_FORMAT_AT + 1)[_WAL_FORMAT_AT:] == b"\2"
    has_no_wal = is_wal and not path.with_name(f"{path.name}-wal").exists()
    mode = "immutable=1" if has_no_wal else "mode=ro"
    with closing(
        sqlite3.connect(f"file:{quote(str(path.absolute()))}?{mode}", uri=True)
    ) as connection:
        connection.execute("PRAGMA trusted_schema = OFF")
        yield connection


def _items(path: Path, connection: sqlite3.Connection) -> Iterator[Item]:
    columns = _columns(path, connection)
    rows = connection.execute(_query(connection, columns))
    for at, (key, title, body, status, project, parent) in enumerate(rows):
        row = _Row(path, at)
        name = row.key(key)
        needs = () if parent is None else (row.key(parent),)
        word = row.text("status", status).lower()
        yield Item(
            key=name,
            title=row.title(title),
            source=f"{NAME}:{name}",
            body="" if body is None else row.text("description", body),
            operation="" if project is None else row.text("project", project),
            needs=needs,
            tags=(CANCELLED,) if word == CANCELLED else (),
            done=word in _FINISHED,
        )


def _columns(path: Path, connection: sqlite3.Connection) -> frozenset[str]:
    tables = _tables(connection)
    if "tasks" not in tables:
        found = ", ".join(one_line(table, 30) for table in sorted(tables)[:8]) or "no tables"
        raise ImportFileError(path, None, f"expected a table named tasks, found {found}")
    columns = _columns_of(connection, "tasks")
    for column in _REQUIRED_COLUMNS:
        if column not in columns:
            found = ", ".join(one_line(one, 30) for one in sorted(columns)[:12])
            raise ImportFileError(
                path, None, f"tasks: expected a column named {column}, found {found}"
            )
    return columns


def _tables(connection: sqlite3.Connection) -> frozenset[str]:
    """The tables without views, because reading a view could take forever."""
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return frozenset(str(name) for (name,) in rows)


def _columns_of(connection: sqlite3.Connection, table: str) -> frozenset[str]:
    rows = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return frozenset(str(name) for (name,) in rows)


def _query(connection: sqlite3.Connection, columns: frozenset[str]) -> str:
    """One query for all versions; missing columns are NULL."""
    tables = _tables(connection)
    body = "t.description" if "description" in columns else "NULL"
    project, parent, joins = "NULL", "NULL", ""
    if "project_id" in columns and {"id", "name"} <= _columns_of(connection, "projects"):
        project, joins = "p.name", " LEFT JOIN projects p ON p.id = t.project_id"
    for column, table in _PARENTS:
        links = _columns_of(connection, table) if table in tables else frozenset()
        if column in columns and {"id", "task_id"} <= links:
            parent = "o.id"
            joins += (
                f" LEFT JOIN {table} a ON a.id = t.{column} LEFT JOIN tasks o ON o.id = a.task_id"
            )
            break
    order = "t.created_at, t.id" if "created_at" in columns else "t.id"
    return (
        f"SELECT t.id, t.title, {body}, t.status, {project}, {parent}"  # noqa: S608 - own words only
        f" FROM tasks t{joins} ORDER BY {order}"
    )


def _name(key: str) -> str:
    try:
        return f"vk-{UUID(key).hex[:12]}"
    except ValueError:
        return to_id(key)


class _Row:
    """Checks the values of one row; errors name its number."""

    def __init__(self, path: Path, at: int) -> None:
        self._path = path
        self._at = at

    def text(self, column: str, value: object) -> str:
        if not isinstance(value, str):
            raise self._error(column, "a text", value)
        return value

    def title(self, value: object) -> str:
        text = self.text("title", value)
        if not clean(text).strip():
            raise self._error("title", "a text", value)
        return text

    def key(self, value: object) -> str:
        match value:
            case bytes() if len(value) == 16:
                return str(UUID(bytes=value))
            case str() if value.strip():
                return value.strip()
            case int():
                return str(value)
            case _:
                raise self._error("id", "a UUID", value)

    def _error(self, column: str, expected: str, value: object) -> ImportFileError:
        found = "bytes" if isinstance(value, bytes) else kind(value)
        problem = f"tasks[{self._at}].{column}: expected {expected}, found {found}"
        return ImportFileError(self._path, None, problem)
