"""B4: importing the databases of all vibe-kanban versions."""

import sqlite3
from uuid import UUID

import pytest

from allstop.adapters.exchange import read_tasks
from allstop.core.tasks import NewTask

SCHEMA = """
CREATE TABLE projects (id BLOB PRIMARY KEY, name TEXT NOT NULL, git_repo_path TEXT NOT NULL);
CREATE TABLE tasks (id BLOB PRIMARY KEY, project_id BLOB NOT NULL, title TEXT NOT NULL,
  description TEXT, status TEXT NOT NULL DEFAULT 'todo'
  CHECK (status IN ('todo','inprogress','done','cancelled','inreview')),
  created_at TEXT NOT NULL, updated_at TEXT NOT NULL{column});
CREATE TABLE {attempts} (id BLOB PRIMARY KEY, task_id BLOB NOT NULL);
"""
VERSIONS = {
    "first": ("", "task_attempts"),
    "with parents": (", parent_task_attempt BLOB", "task_attempts"),
    "with workspaces": (", parent_workspace_id BLOB", "workspaces"),
}


@pytest.fixture(params=VERSIONS)
def kanban(request, tmp_path):
    column, attempts = VERSIONS[request.param]
    file = tmp_path / "db.v2.sqlite"
    with sqlite3.connect(file) as database:
        database.executescript(SCHEMA.format(column=column, attempts=attempts))
        database.execute("INSERT INTO projects VALUES (?, 'Shop', '/shop')", (_uuid(1),))
        rows = [(2, "Second", None, "cancelled"), (1, "First\nmore", "Do it.", "done")]
        for number, title, text, status in rows:
            database.execute(
                "INSERT INTO tasks (id, project_id, title, description, status, created_at,"
                " updated_at) VALUES (?, ?, ?, ?, ?, ?, '')",
                (_uuid(number), _uuid(1), title, text, status, f"2026-01-0{number}"),
            )
        database.execute(f"INSERT INTO {attempts} VALUES (?, ?)", (_uuid(7), _uuid(1)))
        if column:
            database.execute(
                f"UPDATE tasks SET {column.split()[1]} = ? WHERE title = 'Second'", (_uuid(7),)
            )
    database.close()
    return file, bool(column)


def _uuid(number: int) -> bytes:
    return UUID(int=number << 96).bytes


def test_b4_vibe_kanban_in_all_its_versions(kanban):
    file, has_parents = kanban
    before = sorted(file.parent.iterdir()), file.read_bytes()

    tasks = read_tasks(file)

    assert tasks == [
        NewTask(
            id="vk-000000010000",
            title="First",
            body="more\n\nDo it.",
            operation="Shop",
            source="vibe-kanban:00000001-0000-0000-0000-000000000000",
            done=True,
        ),
        NewTask(
            id="vk-000000020000",
            title="Second",
            operation="Shop",
            needs=("vk-000000010000",) if has_parents else (),
            tags=("cancelled",),
            source="vibe-kanban:00000002-0000-0000-0000-000000000000",
            done=True,
        ),
    ]
    assert (sorted(file.parent.iterdir()), file.read_bytes()) == before


def test_b4_a_database_with_a_write_ahead_log_leaves_nothing_behind(tmp_path):
    file = tmp_path / "db.sqlite"
    database = sqlite3.connect(file)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("CREATE TABLE tasks (id TEXT, title TEXT, status TEXT)")
    database.execute("INSERT INTO tasks VALUES ('one', 'One', 'todo')")
    database.commit()
    database.close()

    tasks = read_tasks(file)

    assert tasks == [NewTask(id="one", title="One", source="vibe-kanban:one")]
    assert list(tmp_path.iterdir()) == [file]
