"""Reads `prd.json` as ralph tools use it.

`{"project" or "name", "branchName", "description", "userStories": [...]}`, each story with `id`,
`title`, `description`, `acceptanceCriteria`, `priority`, `passes`, `notes`, `dependsOn`, `labels`,
and Allstop's own `mayChange`: the tests that the story may change.
Also the plain list of features, `[{"category", "description", "steps", "passes"}]`, where the
description is the title.

A story's priority 1 is the most urgent: 1 becomes 0, 2 becomes -1, and so on. The project becomes
the operation, and its description a part of each story's body. A story without an id gets one made
from its title. The source contains the branch, or else the project, because every PRD starts its
ids at US-001.
"""

from allstop.adapters.exchange.file_contents import Content, Json, as_json
from allstop.adapters.exchange.json_document import Document, Entry, sections
from allstop.adapters.exchange.task_items import (
    PRIORITY_WORDS,
    Item,
    checksum,
    slug,
    to_tasks,
    with_parent_text,
)
from allstop.core.tasks import NewTask

NAME = "prd"
_DONE = frozenset({"done", "complete", "completed", "passed", "closed"})


def looks_like(content: Content) -> bool:
    if not isinstance(content, Json) or content.by_line:
        return False
    match content.whole.value:
        case {"userStories": _}:
            return True
        case [*entries]:
            return any(isinstance(one, dict) and "passes" in one for one in entries)
        case _:
            return False


def read(content: Content) -> list[NewTask]:
    document = as_json(content).whole
    if isinstance(document.value, list):
        entries = document.entries((), document.value)
        return to_tasks(content.path, [_feature(entry) for entry in entries])
    root = document.entry((), document.value)
    return to_tasks(content.path, [_story(root, entry) for entry in _stories(document, root)])


def _stories(document: Document, root: Entry) -> list[Entry]:
    if not root.has("userStories"):
        raise root.error("userStories", "a list")
    return document.entries(("userStories",), root.fields["userStories"])


def _story(root: Entry, entry: Entry) -> Item:
    title = entry.text("title")
    project = root.optional_text("name") or root.optional_text("project")
    body = sections(
        ("", entry.optional_text("description")),
        ("Acceptance criteria", _criteria(entry, "acceptanceCriteria")),
        ("Notes", entry.optional_text("notes") or entry.optional_text("completionNotes")),
    )
    return _item(
        entry,
        title=title,
        body=with_parent_text(body, project or "the whole", root.optional_text("description")),
        operation=project,
        origin=root.optional_text("branchName") or project,
    )


def _feature(entry: Entry) -> Item:
    body = sections(
        ("", entry.optional_text("description") if entry.has("title") else ""),
        ("Steps", _criteria(entry, "steps")),
        ("Acceptance criteria", _criteria(entry, "acceptanceCriteria")),
        ("Notes", entry.optional_text("notes")),
    )
    title = entry.text("title" if entry.has("title") else "description")
    return _item(entry, title=title, body=body, operation="", origin="")


def _item(entry: Entry, *, title: str, body: str, operation: str, origin: str) -> Item:
    key = entry.name("id") if entry.has("id") else title
    origin_key = key if entry.has("id") else checksum(title, 16)
    category = entry.optional_text("category")
    return Item(
        key=key,
        id="" if entry.has("id") else f"{slug(title)}-{checksum(title)}",
        title=title,
        source=":".join(part for part in (NAME, origin, origin_key) if part),
        body=body,
        operation=operation,
        needs=entry.names("dependsOn") or entry.names("dependencies"),
        tags=entry.texts("labels") + entry.texts("tags") + ((category,) if category else ()),
        priority=_priority(entry),
        may_change=entry.texts("mayChange"),
        done=_is_done(entry),
    )


def _criteria(entry: Entry, key: str) -> str | tuple[str, ...]:
    return entry.optional_text(key) if isinstance(entry.fields.get(key), str) else entry.texts(key)


def _priority(entry: Entry) -> int:
    named = entry.fields.get("priority")
    if isinstance(named, str) and named.lower() in PRIORITY_WORDS:
        return PRIORITY_WORDS[named.lower()]
    number = entry.whole_number("priority")
    return 0 if number is None else 1 - number


def _is_done(entry: Entry) -> bool:
    return (
        entry.flag("passes")
        or entry.flag("completed")
        or entry.optional_text("status").lower() in _DONE
    )
