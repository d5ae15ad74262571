"""B4: ids, titles, parents and sources of imported tasks, in any format."""

import json
from pathlib import Path

import pytest

from allstop.adapters.exchange import read_tasks
from allstop.core.tasks import ID

SAMPLES = Path(__file__).parent / "samples"


def prd(tmp_path, *stories, name="prd.json"):
    file = tmp_path / name
    file.write_text(json.dumps({"userStories": stories}))
    return file


def markdown(tmp_path, text):
    file = tmp_path / "plan.md"
    file.write_text(text)
    return read_tasks(file)


@pytest.mark.parametrize("sample", sorted(SAMPLES.iterdir()), ids=lambda path: path.name)
def test_b4_importing_twice_can_be_recognised(sample, tmp_path):
    moved = tmp_path / f"other-{sample.name}"
    moved.write_bytes(sample.read_bytes())

    first, second = read_tasks(sample), read_tasks(moved)

    assert first == second
    assert len({task.source for task in first}) == len(first)
    assert all(task.source for task in first)


def test_b4_a_markdown_item_keeps_its_key_when_it_is_moved_and_done(tmp_path):
    before = markdown(tmp_path, "# A\n- [ ] One\n- [ ] Two\n")
    after = markdown(tmp_path, "Hello\n# A\n- [ ] Zero\n- [x] Two #new\n* [ ] One\n")

    assert {task.source for task in before} < {task.source for task in after}


def test_b4_the_same_title_at_the_same_place_is_another_item(tmp_path):
    tasks = markdown(tmp_path, "- [ ] Test\n- [ ] Test\n")

    assert len({task.id for task in tasks}) == 2
    assert len({task.source for task in tasks}) == 2


def test_b4_stories_of_two_branches_are_not_the_same(tmp_path):
    story = {"id": "US-001", "title": "A"}
    sources = set()
    for branch in ("one", "two"):
        file = tmp_path / f"{branch}.json"
        file.write_text(json.dumps({"branchName": branch, "userStories": [story]}))
        sources |= {task.source for task in read_tasks(file)}

    assert sources == {"prd:one:US-001", "prd:two:US-001"}


def test_b4_ids_that_are_none_are_made_to_fit_and_needs_follow(tmp_path):
    keys = ["US 1", "US/1", "über", "../..", "x" * 100, "3.1", 7]
    stories = [{"id": key, "title": "A"} for key in keys]
    stories.append({"id": "last", "title": "B", "dependsOn": keys})

    tasks = read_tasks(prd(tmp_path, *stories))

    ids = [task.id for task in tasks[:-1]]
    assert ids == [
        "US-1-2f5014",
        "US-1-eaaa00",
        "ber-b51c85",
        "task-0cfd1c",
        "x" * 57 + "-09ecb6",
        "3.1",
        "7",
    ]
    assert all(ID.fullmatch(one) for one in ids)
    assert tasks[-1].needs == tuple(ids)


def test_b4_a_title_of_several_lines_is_cut_into_title_and_body(tmp_path):
    story = {"id": "A", "title": "\n Fix\tit \r\nall\n", "description": "Now."}

    (task,) = read_tasks(prd(tmp_path, story))

    assert (task.title, task.body) == ("Fix it", "all\n\nNow.")


def test_b4_control_characters_do_not_come_in(tmp_path):
    story = {"id": "A", "title": "Fix\x00\x1b[31m it", "description": "a\x00b\tc"}

    (task,) = read_tasks(prd(tmp_path, story))

    assert (task.title, task.body) == ("Fix[31m it", "ab\tc")


def test_b4_what_the_board_judges_is_let_through(tmp_path):
    stories = [
        {"id": "A", "title": "A", "dependsOn": ["A", "B", "nowhere"]},
        {"id": "B", "title": "B", "dependsOn": ["A"]},
        {"id": "B", "title": "again"},
    ]

    tasks = read_tasks(prd(tmp_path, *stories))

    assert [(task.id, task.needs) for task in tasks] == [
        ("A", ("A", "B", "nowhere")),
        ("B", ("A",)),
        ("B", ()),
    ]


def test_b4_a_parent_hands_its_needs_on_but_makes_no_cycle(tmp_path):
    tasks = markdown(
        tmp_path,
        "- [ ] P1: Parent (needs: C1, Z1)\n"
        "  - [ ] C1: Child (needs: P1)\n"
        "  - [ ] C2: Other (needs: C1)\n"
        "- [ ] Z1: Before\n"
        "- [ ] Y1: After (needs: P1)\n",
    )

    assert [(task.id, task.needs) for task in tasks] == [
        ("C1", ("Z1",)),
        ("C2", ("C1", "Z1")),
        ("Z1", ()),
        ("Y1", ("C1", "C2")),
    ]


@pytest.mark.parametrize(
    ("line", "title", "tags", "key"),
    [
        ("Fix C #sharp", "Fix C", ("sharp",), "fix-c"),
        ("Close #12", "Close #12", (), "close-12"),
        (r"Learn C \#sharp", "Learn C #sharp", (), "learn-c-sharp"),
        ("#hash", "#hash", (), "hash"),
        ("[WIP] Go on", "Go on", ("WIP",), "go-on"),
        ("[Docs](https://x.org) are old", "[Docs](https://x.org) are old", (), None),
        ("Note: be quick", "Note: be quick", (), "note-be-quick"),
        ("US-12: Be quick", "Be quick", (), "US-12"),
        ("S3 bucket", "S3 bucket", (), "s3-bucket"),
        ("Add (or so) it (soon)", "Add (or so) it (soon)", (), "add-or-so-it-soon"),
        ("Say hi (tags: a b, c\\, d)", "Say hi", ("a b", "c, d"), "say-hi"),
        ("做饭", "做饭", (), "task-39712e"),
    ],
)
def test_b4_marks_of_a_markdown_item(tmp_path, line, title, tags, key):
    (task,) = markdown(tmp_path, f"- [ ] {line}\n")

    assert (task.title, task.tags) == (title, tags)
    assert key is None or task.id == key


def test_b4_items_in_code_blocks_and_comments_are_none(tmp_path):
    tasks = markdown(
        tmp_path,
        "```\n- [ ] no\n```\n<!--\n- [ ] no\n-->\n- [ ] yes\n  ```\n- [ ] also\n~~~~\n- [ ] no\n~~~~\n",
    )

    assert [task.title for task in tasks] == ["yes", "also"]


@pytest.mark.parametrize("number", range(5))
def test_b4_beads_priorities_are_turned_round(tmp_path, number):
    file = tmp_path / "a.jsonl"
    issue = {"id": "a", "title": "A", "issue_type": "task", "priority": number}
    file.write_text(json.dumps(issue))

    (task,) = read_tasks(file)

    assert task.priority == 2 - number


def test_b4_a_byte_order_mark_and_other_line_ends_are_no_mistake(tmp_path):
    file = tmp_path / "plan.md"
    file.write_bytes(b"\xef\xbb\xbf# A\r\n\r\n- [ ] One\r\n  text\r\n  more\r\n")

    (task,) = read_tasks(file)

    assert (task.title, task.body, task.operation) == ("One", "text\nmore", "A")


def test_b4_the_format_can_be_named(tmp_path):
    file = prd(tmp_path, {"id": "A", "title": "A"}, name="anything.txt")

    assert read_tasks(file, "prd") == read_tasks(file)
