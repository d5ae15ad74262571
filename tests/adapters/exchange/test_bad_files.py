"""B4: errors in files name the line, and a file without tasks is an error."""

import json
import os
import sqlite3

import pytest

from allstop.adapters.exchange import FORMATS, ImportFileError, read_tasks, write_tasks
from allstop.core.errors import AllstopError

READABLE = "the formats are json, markdown, prd, beads, taskmaster, github, vibe-kanban"
RANGE = "from -1000000000 to 1000000000"
KEYS = (
    "id, title, status, body, operation, needs, tags, priority, agent, iterations, minutes, "
    "stuck_after, may_change, labels, source"
)
STATUSES = (
    "pending, active, waiting, review, merging, done, blocked, failed, timeout, skipped, cancelled"
)
CIRCLE = """{"id": "a", "title": "A", "issue_type": "task", "parent": "b"}
{"id": "b", "title": "B", "issue_type": "task", "parent": "a"}
{"id": "c", "title": "C", "issue_type": "task", "parent": "d"}
"""


def mistake(path, named=None):
    with pytest.raises(ImportFileError) as raised:
        read_tasks(path, named)
    return raised.value.message.replace(f"{path.parent}/", ""), raised.value.hint


def in_file(tmp_path, name, text, named=None):
    file = tmp_path / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return mistake(file, named)[0]


STORIES = """{
  "project": "MyApp",
  "userStories": [
    {"id": "US-1", "title": "One"},
    {"id": "US-2", "title": "Two"},
    {
      "id": "US-3",
      "title": "Three"
    },
    {
      "id": "US-4",

      "notes": "[{\\"}",
      "title": 5
    }
  ]
}
"""


def test_b4_a_wrong_type_is_told_with_its_line_and_its_path(tmp_path):
    message = in_file(tmp_path, "prd.json", STORIES)

    assert message == "prd.json:14: userStories[3].title: expected a text, found a number"


def test_b4_the_error_has_its_parts(tmp_path):
    file = tmp_path / "prd.json"
    file.write_text(STORIES)

    with pytest.raises(ImportFileError) as raised:
        read_tasks(file)

    error = raised.value
    problem = "userStories[3].title: expected a text, found a number"
    assert (error.path, error.line, error.problem) == (file, 14, problem)
    assert error.code == "invalid_import_file"


@pytest.mark.parametrize(
    ("story", "problem"),
    [
        ("5", ": expected an object, found a number"),
        ("{}", ".title: expected a text, found nothing"),
        ('{"title": null}', ".title: expected a text, found null"),
        ('{"title": " \\n"}', ".title: expected a text, found an empty text"),
        ('{"title": true}', ".title: expected a text, found true"),
        ('{"title": "\\ud800"}', ".title: expected a text, found half of a character"),
        ('{"title": "a", "description": []}', ".description: expected a text, found a list"),
        ('{"title": "a", "passes": "no"}', ".passes: expected true or false, found a text"),
        ('{"title": "a", "priority": "x"}', ".priority: expected a whole number, found a text"),
        ('{"title": "a", "priority": 1.5}', ".priority: expected a whole number, found a number"),
        (
            '{"title": "a", "priority": 1e400}',
            ".priority: expected a whole number, found the number inf",
        ),
        (
            '{"title": "a", "priority": 99999999999}',
            f".priority: expected a whole number {RANGE}, found the number 99999999999",
        ),
        ('{"title": "a", "labels": "x"}', ".labels: expected a list, found a text"),
        ('{"title": "a", "labels": ["x", 5]}', ".labels[1]: expected a text, found a number"),
        (
            '{"title": "a", "dependsOn": [{}]}',
            ".dependsOn[0]: expected a text or a whole number, found an object",
        ),
        (
            '{"title": "a", "id": false}',
            ".id: expected a text or a whole number, found false",
        ),
    ],
)
def test_b4_each_field_of_a_story(tmp_path, story, problem):
    message = in_file(tmp_path, "prd.json", f'{{"userStories":\n\n[{story}]}}')

    assert message == f"prd.json:3: userStories[0]{problem}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ":1: expected tasks, found an empty file"),
        (" \n\n", ":1: expected tasks, found an empty file"),
        (b"\xef\xbb\xbf", ":1: expected tasks, found an empty file"),
        (b"\xff\xfe[\0]\0", ":1: expected UTF-8 text, found UTF-16"),
        (b"a\n\0", ":2: expected text, found binary data"),
        (b"a\nb\n\xe4rger", ":3: expected UTF-8 text, found another encoding"),
        ("Hello\nyou\n", ":1: expected tasks, found a text without any"),
        ("5", ":1: expected tasks, found a text without any"),
        ("[]", ":1: expected tasks, found an empty list"),
        ("{}", ":1: expected tasks, found an empty object"),
        ("[5]", ":1: expected tasks, found a list"),
        (
            '{"name": 1, "a": 2, "b": 3, "c": 4, "d": 5, "e": 6}',
            ':1: expected tasks, found an object with "name", "a", "b", "c", "d", …',
        ),
        ('{"a": 1}\n{"a": 2}\n', ':1: expected tasks, found an object with "a"'),
        ('{\n"a": 1\n"b"}', ":3: not valid JSON: expecting ',' delimiter, column 1"),
        ('{"a": 1}\n{"a" 2}\n', ":2: not valid JSON: expecting ':' delimiter, column 6"),
        ("[" * 100_000, ":1: not valid JSON: nested too deeply"),
        ('["NaN",\nNaN]', ":2: not valid JSON: NaN is no number"),
        ("[\n" + "9" * 5000 + "]", ":2: not valid JSON: 9999999999999999999… is no number"),
        (
            '{"userStories": [],\n "x": {"userStories": 1},\n "userStories": []}',
            ':3: expected each key once, found "userStories" twice',
        ),
        (
            '{"userStories": [],\n "tasks": []}',
            ": expected one format, found signs of prd and taskmaster",
        ),
        (
            '{"userStories":\n []}',
            ":2: userStories: expected at least one task, found an empty list",
        ),
        ('{"userStories":\n {}}', ":2: userStories: expected a list, found an object"),
        ('{"tasks":\n 5}', ":2: tasks: expected a list, found a number"),
        ('{"tasks":\n []}', ":2: tasks: expected at least one task, found an empty list"),
        (
            '{"a b": {"tasks": [\n{"id": 1}]}}',
            ':2: ["a b"].tasks[0].title: expected a text, found nothing',
        ),
        (
            '{"tasks": [{"id": 1, "title": "A", "subtasks": [\n{"id": 1, "title": 2}]}]}',
            ":2: tasks[0].subtasks[0].title: expected a text, found a number",
        ),
        (
            '{"tasks": [{"id": 1, "title": "A", "priority": "big"}]}',
            ":1: tasks[0].priority: expected high, medium or low, found a text",
        ),
        (
            '{"id": "a", "title": "A", "issue_type": "task"}\n\n{"id": "b"}\n',
            ":3: title: expected a text, found nothing",
        ),
        (
            '{"id": "a", "title": "A", "issue_type": "task", "priority": 5}',
            ":1: priority: expected a whole number from 0 to 4, found a number",
        ),
        (
            '{"id": "a", "title": "A", "issue_type": "task", "status": "tombstone"}',
            ": expected at least one task, found none",
        ),
        (
            CIRCLE,
            ": a, b: expected no cycle of parents, found one",
        ),
        (
            '[{"number": 1, "title": "A"},\n {"number": "2", "title": "B"}]',
            ":2: [1].number: expected a whole number, found a text",
        ),
        (
            '[{"number": 1, "title": "A"},\n {"title": "B"}]',
            ":2: [1].number: expected a whole number, found nothing",
        ),
        (
            '[{"number": 1, "title": "A", "labels": [\n{"color": "red"}]}]',
            ":2: [0].labels[0].name: expected a text, found nothing",
        ),
        ('{"allstop": 1}', ":1: allstop: expected a text, found a number"),
        ('{"allstop": "x"}', ':1: allstop: expected "tasks", found a text'),
        (
            '{"allstop": "tasks",\n"version": 2}',
            ":2: version: expected the number 1, found a number",
        ),
        (
            '{"allstop": "tasks", "version": 1}',
            ":1: tasks: expected a list, found nothing",
        ),
        (
            '{"allstop": "tasks", "version": 1, "tasks": [\n{"id": "a", "title": "A",\n"need": 1}]}',
            f":3: tasks[0].need: expected one of {KEYS}, found a number",
        ),
        (
            '{"allstop": "tasks", "version": 1, "tasks": [{"id": "a", "title": "A",\n"status": "x"}]}',
            f":2: tasks[0].status: expected one of {STATUSES}, found a text",
        ),
        (
            '{"allstop": "tasks", "version": 1, "tasks": [{"id": "a", "title": "A", "minutes": -1}]}',
            ":1: tasks[0].minutes: expected a number from 0 to 1000000000, found the number -1",
        ),
        ("- [ ] A\n- [ ]\n", ":2: expected a title, found nothing"),
        ("- [ ] A\n- [?] B\n", ':2: expected "[ ]" or "[x]", found "[?]"'),
        ("- [ ] A (minutes: soon)\n", ":1: minutes: expected a number, found 'soon'"),
        ("- [ ] A (iterations: 1.5)\n", ":1: iterations: expected a whole number, found 1.5"),
        (
            "- [ ] A !99999999999\n",
            ":1: priority: expected a number from -1000000000 to 1000000000, found 99999999999",
        ),
        (
            "- [ ] A\n```\n- [ ] B\n",
            ":2: expected an end of this code block, found the end of the file",
        ),
        (
            "- [ ] A\n\n<!-- \n- [ ] B\n",
            ":3: expected an end of this comment, found the end of the file",
        ),
        (
            "```\n- [ ] A\n```\n",
            ': expected items such as "- [ ] title", found none outside code blocks',
        ),
        (
            "- [ ] A\n# B\n- [ ] A\n- [ ] C (needs: a)\n",
            ":4: needs: expected one item called 'a', found 2",
        ),
        (
            "- [ ] T1: A\n- [ ] T1: B\n  - [ ] C\n",
            ": T1: expected this parent once, found it 2 times",
        ),
        (
            "".join(f"{' ' * at}- [ ] A\n" for at in range(40)),
            ":34: expected at most 32 levels of items, found more",
        ),
    ],
)
def test_b4_each_mistake_has_its_message(tmp_path, text, message):
    assert in_file(tmp_path, "file", text) == f"file{message}"


def test_b4_files_that_are_none(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    found = [
        mistake(tmp_path / "nowhere")[0],
        mistake(pipe)[0],
        mistake(tmp_path)[0].rpartition("/")[2],
    ]

    assert found == [
        "nowhere: can't be read: No such file or directory",
        "pipe: expected a file, found something else",
        f"{tmp_path.name}: expected a file, found a directory",
    ]


def test_b4_a_file_of_200_megabytes(tmp_path):
    file = tmp_path / "large.json"
    with file.open("wb") as large:
        large.truncate(200_000_000)

    message, _ = mistake(file)

    assert message == "large.json: expected at most 64 MB of text, found more"


def test_b4_an_unknown_file_is_told_which_formats_there_are(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("Hello")

    assert mistake(file)[1] == READABLE


def test_b4_an_ambiguous_file_is_told_to_name_one(tmp_path):
    file = tmp_path / "a.json"
    file.write_text('{"userStories": [], "tasks": []}')

    assert mistake(file)[1] == f"name one; {READABLE}"


@pytest.mark.parametrize(
    ("named", "text", "message"),
    [
        ("prd", '{\n"tasks": []}', ":1: userStories: expected a list, found nothing"),
        ("prd", "- [ ] A", ":1: expected JSON, found other text"),
        ("prd", "{", ":1: not valid JSON: expecting property name enclosed in double quotes"),
        ("prd", '{"a": 1}\n{"a": 1}', ":2: expected one JSON value, found another"),
        ("taskmaster", "{}", ":1: tasks: expected a list, found nothing"),
        ("beads", "[5]", ":1: [0]: expected an object, found a number"),
        ("github", "{}", ":1: number: expected a whole number, found nothing"),
        ("json", "[]", ":1: expected an object, found a list"),
        ("json", "{}", ':1: allstop: expected "tasks", found nothing'),
        ("markdown", "[]", ": expected Markdown, found something else"),
        ("vibe-kanban", "[]", ": expected an SQLite database, found a text"),
    ],
)
def test_b4_a_file_that_is_not_in_the_named_format(tmp_path, named, text, message):
    assert in_file(tmp_path, "file", text, named).startswith(f"file{message}")


@pytest.mark.parametrize("named", [name for name, one in FORMATS.items() if one.read])
def test_b4_a_database_of_something_else(tmp_path, named):
    file = tmp_path / "a.db"
    database = sqlite3.connect(file)
    database.execute("CREATE TABLE notes (a)")
    database.close()

    message, _ = mistake(file, named)

    expected = {
        "vibe-kanban": "a.db: expected a table named tasks, found notes",
        "markdown": "a.db: expected Markdown, found something else",
    }
    assert message == expected.get(named, "a.db: expected JSON, found a database")


@pytest.mark.parametrize(
    ("columns", "row", "message"),
    [
        ("id, name", None, "tasks: expected a column named title, found id, name"),
        (
            "id, title, status",
            None,
            "tasks: expected at least one task, found an empty table",
        ),
        ("id, title, status", ("a", 5, "todo"), "tasks[0].title: expected a text, found a number"),
        (
            "id, title, status",
            ("a", "", "todo"),
            "tasks[0].title: expected a text, found an empty text",
        ),
        ("id, title, status", (b"a", "A", "todo"), "tasks[0].id: expected a UUID, found bytes"),
        ("id, title, status", ("a", "A", None), "tasks[0].status: expected a text, found null"),
    ],
)
def test_b4_each_mistake_in_a_database(tmp_path, columns, row, message):
    file = tmp_path / "a.db"
    database = sqlite3.connect(file)
    database.execute(f"CREATE TABLE tasks ({columns})")
    if row:
        database.execute("INSERT INTO tasks VALUES (?, ?, ?)", row)
    database.commit()
    database.close()

    assert mistake(file)[0] == f"a.db: {message}"


def test_b4_a_broken_database(tmp_path):
    message = in_file(tmp_path, "a.db", b"SQLite format 3\0" + b"nonsense" * 100)

    assert message == "a.db: can't be read: file is not a database"


def test_b4_a_format_that_does_not_exist(tmp_path):
    with pytest.raises(AllstopError) as reading:
        read_tasks(tmp_path / "a", "csv")
    with pytest.raises(AllstopError) as writing:
        write_tasks([], "beads")

    assert (reading.value.code, reading.value.hint) == ("unknown_format", READABLE)
    assert (writing.value.code, writing.value.hint) == (
        "unknown_format",
        "the formats are json, markdown, csv",
    )


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "empty_file"),
        (b"- [ ] a\0", "binary_file"),
        (b"- [ ] \xff", "not_utf8"),
        (b"# Nothing", "unknown_format"),
        (b"- [?] a\n- [ ] b\n", "invalid_import_file"),
        (b"SQLite format 3\0", "database_piped"),
    ],
)
def test_b4_each_cause_has_a_code(data, code):
    with pytest.raises(ImportFileError) as raised:
        read_tasks(data)

    assert raised.value.code == code


def test_b4_the_line_is_right_deep_inside_a_large_file(tmp_path):
    stories = [{"id": f"US-{at}", "title": "A", "notes": "x\ny"} for at in range(2000)]
    stories[1500]["title"] = []
    text = json.dumps({"userStories": stories}, indent=1)
    line = text[: text.index('"title": []')].count("\n") + 1

    message = in_file(tmp_path, "prd.json", text)

    assert message == f"prd.json:{line}: userStories[1500].title: expected a text, found a list"
