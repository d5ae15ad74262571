"""B4: exported tasks can be imported again, and no file crashes the import."""

import json
import string
from textwrap import dedent

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from allstop.adapters.exchange import (
    FORMATS,
    ImportFileError,
    read_tasks,
    source_of,
    write_tasks,
)
from allstop.core.tasks import ID, OVER, NewTask, Status, Task

LETTERS = st.characters(exclude_categories=["Cs", "Cc"])
IDS = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", fullmatch=True)
MARKS = st.sampled_from(
    ["#tag", "!3", "(needs: a)", "(id: x)", "[T1]", "T1:", "T001", "\\", "- [ ]", "(tags: a, b)"]
)
BODIES = st.lists(
    st.one_of(
        st.text(LETTERS, max_size=12),
        st.sampled_from(
            [
                "- [ ] x",
                "\\- [x] y",
                "  * [ ]",
                "```",
                "~~~~",
                "<!--",
                "-->",
                "## h",
                "---",
                "1. [-] z",
            ]
        ),
    ),
    max_size=6,
).map("\n".join)


def a_line(text: str) -> str:
    return " ".join(text.split())


LINES = (
    st.lists(st.one_of(st.text(LETTERS, max_size=12), MARKS), max_size=4).map(" ".join).map(a_line)
)
TITLES = LINES.filter(bool)


@st.composite
def a_task(draw, id_):
    return Task(
        id=id_,
        number=1,
        title=draw(TITLES),
        body=draw(BODIES),
        status=draw(st.sampled_from(Status)),
        operation=draw(LINES),
        needs=tuple(draw(st.lists(IDS, max_size=3, unique=True))),
        tags=tuple(draw(st.lists(TITLES, max_size=3, unique=True))),
        priority=draw(st.integers(-(10**9), 10**9)),
        agent=draw(st.none() | TITLES),
        iterations=draw(st.none() | st.integers(0, 10**9)),
        minutes=draw(st.none() | st.floats(0, 10**9)),
        stuck_after=draw(st.none() | st.integers(0, 10**9)),
        may_change=tuple(draw(st.lists(TITLES, max_size=3))),
        labels=tuple(draw(st.lists(st.sampled_from(["gpu", "large-memory"]), unique=True))),
        source=draw(LINES),
    )


@st.composite
def some_tasks(draw):
    ids = draw(st.lists(IDS, min_size=1, max_size=4, unique=True))
    return [draw(a_task(one)) for one in ids]


def added(task: Task) -> NewTask:
    return NewTask(
        id=task.id,
        title=task.title,
        body=task.body,
        operation=task.operation,
        needs=task.needs,
        tags=task.tags,
        priority=task.priority,
        agent=task.agent,
        iterations=task.iterations,
        minutes=task.minutes,
        stuck_after=task.stuck_after,
        may_change=task.may_change,
        labels=task.labels,
        source=source_of(task),
        done=task.status in OVER,
    )


def in_markdown(task: Task) -> NewTask:
    """The task as Markdown can carry it: a body without margin and empty lines around it."""
    lines = [line if line.strip() else "" for line in task.body.split("\n")]
    new = added(task)
    fields = {name: getattr(new, name) for name in new.__struct_fields__}
    fields["body"] = dedent("\n".join(lines)).strip("\n")
    fields["source"] = task.source or f"markdown:{task.id}"
    return NewTask(**fields)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("exchange") / "file"


@given(tasks=some_tasks())
def test_b4_own_json_comes_back_exactly(file, tasks):
    file.write_text(write_tasks(tasks, "json"), encoding="utf-8", newline="")

    assert read_tasks(file) == [added(task) for task in tasks]


@given(
    title=st.text(st.characters(exclude_categories=["Cs"])),
    body=st.text(st.characters(exclude_categories=["Cs"])),
)
def test_b4_own_json_keeps_every_character(file, title, body):
    task = Task(id="a", number=1, title=f"x{title}", body=body)
    file.write_text(write_tasks([task], "json"), encoding="utf-8", newline="")

    assert read_tasks(file) == [added(task)]


@given(tasks=some_tasks())
@example(tasks=[Task(id="b", number=1, title="x", needs=("B",))])
@example(tasks=[Task(id="a", number=1, title="x", tags=tuple(f"t{at}" for at in range(150)))])
@example(tasks=[Task(id="a", number=1, title="#b", tags=("c d",), operation="#")])
@example(
    tasks=[
        Task(id="a1", number=1, title="[T1] x", operation="o"),
        Task(id="b", number=2, title="T1: \\#y"),
    ]
)
def test_b4_markdown_comes_back_as_far_as_it_can(file, tasks):
    file.write_text(write_tasks(tasks, "markdown"), encoding="utf-8", newline="")

    titles = {task.title.casefold() for task in tasks}
    if not any(need.casefold() in titles for task in tasks for need in task.needs):
        assert read_tasks(file) == [in_markdown(task) for task in tasks]


READABLE = [name for name, one in FORMATS.items() if one.read]
ANYTHING = st.one_of(
    st.binary(),
    st.text().map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.text(alphabet="-*[] x#\n\t`(needs:,)!1T\\", max_size=80).map(str.encode),
    st.text(alphabet=st.sampled_from('{}[]",:\\ \n1enulltruk'), max_size=40).map(str.encode),
    st.binary(max_size=200).map(lambda data: b"SQLite format 3\0" + data),
)


def outcome(file, named):
    """The tasks or the error message; any other exception is a crash."""
    try:
        return read_tasks(file, named)
    except ImportFileError as error:
        return error.message


@given(data=ANYTHING, named=st.sampled_from([None, *READABLE]))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_b4_any_bytes_give_tasks_or_an_error(file, data, named):
    file.write_bytes(data)

    assert outcome(file, named)


FIELDS = [
    *("id", "title", "tasks", "userStories", "subtasks", "dependencies", "number", "issue_type"),
    *("passes", "labels", "priority", "status", "parent", "allstop", "version", "description"),
    *("name", "blockedBy", "nodes"),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(FIELDS),
            inner,
            max_size=6,
        )
    ),
    max_leaves=25,
)


@given(value=JSON, named=st.sampled_from([None, "json", "prd", "beads", "taskmaster", "github"]))
def test_b4_any_json_gives_tasks_or_an_error(file, value, named):
    file.write_text(json.dumps(value))

    found = outcome(file, named)

    assert isinstance(found, str) or all(task.title and ID.fullmatch(task.id) for task in found)


A = Task(
    id="login",
    number=1,
    title="Add a login page",
    body="A form.\n- [ ] with a name",
    operation="Accounts",
    needs=("T1",),
    tags=("web", "quick-win"),
    priority=3,
    minutes=20.0,
    source="github:acme/shop#12",
)
B = Task(id="T1", number=2, title='=SUM("a")', status=Status.DONE, tags=("two words",))


def test_b4_markdown_reads_like_a_list():
    assert write_tasks([A, B], "markdown") == (
        "## Accounts\n"
        "\n"
        "- [ ] Add a login page (id: login) (needs: T1) (minutes: 20)"
        " (source: github:acme/shop#12) #web #quick-win !3\n"
        "  A form.\n"
        "  \\- [ ] with a name\n"
        "\n"
        "---\n"
        "\n"
        '- [x] [T1] =SUM("a") (tags: two words)\n'
    )


def test_b4_csv_is_for_spreadsheets_and_has_no_formulas():
    assert write_tasks([A, B], "csv") == (
        "id,title,status,operation,needs,tags,priority,agent,iterations,minutes,stuck_after,"
        "may_change,labels,source,body\n"
        'login,Add a login page,pending,Accounts,T1,"web, quick-win",3,,,20,,,,'
        'github:acme/shop#12,"A form.\n- [ ] with a name"\n'
        'T1,"\'=SUM(""a"")",done,,,two words,0,,,,,,,,\n'
    )


def test_b4_own_json_says_what_there_is_to_say():
    assert write_tasks([B], "json") == (
        '{\n  "allstop": "tasks",\n  "version": 1,\n  "tasks": [\n    {\n'
        '      "id": "T1",\n      "title": "=SUM(\\"a\\")",\n      "status": "done",\n'
        '      "tags": [\n        "two words"\n      ]\n    }\n  ]\n}\n'
    )


def test_b4_each_format_has_a_line_for_the_help():
    for name, one in FORMATS.items():
        assert one.name == name
        assert one.read or one.write
        assert set(name) <= set(string.ascii_lowercase + "-")
        assert 10 < len(one.description) < 80
        assert "\n" not in one.description
