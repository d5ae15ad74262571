"""`prd.json` as ralph tools use it.

`{"project" or "name", "branchName", "description", "userStories": [...]}`, each story with `id`,
`title`, `description`, `acceptanceCriteria`, `priority`, `passes`, `notes`, `dependsOn`, `labels`.
Also the plain list of features, `[{"category", "description", "steps", "passes"}]`, where the
description is the title.

A story's priority 1 is the first one: 1 becomes 0, 2 becomes -1, and so on. The project becomes
the operation and its description a part of each story's text. A story without an id gets one made
from its title. The key for importing twice has the branch (else the project) in it, for each PRD
begins again with US-001.
"""

from __future__ import annotations

from allstop.adapters.exchange.file_contents import Content, Json, as_json
from allstop.adapters.exchange.json_document import Document, Entry, sections
from allstop.adapters.exchange.task_items import NAMED, Item, checksum, part_of, shape, slug
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
        return shape(content.path, [_feature(entry) for entry in entries])
    root = document.entry((), document.value)
    return shape(content.path, [_story(root, entry) for entry in _stories(document, root)])


def _stories(document: Document, root: Entry) -> list[Entry]:
    if not root.has("userStories"):
        raise root.wrong("userStories", "a list")
    return document.entries(("userStories",), root.fields["userStories"])


def _story(root: Entry, entry: Entry) -> Item:
    title = entry.text("title")
    project = root.words("name") or root.words("project")
    body = sections(
        ("", entry.words("description")),
        ("Acceptance criteria", _criteria(entry, "acceptanceCriteria")),
        ("Notes", entry.words("notes") or entry.words("completionNotes")),
    )
    return _item(
        entry,
        title=title,
        body=part_of(body, project or "the whole", root.words("description")),
        operation=project,
        origin=root.words("branchName") or project,
    )


def _feature(entry: Entry) -> Item:
    body = sections(
        ("", entry.words("description") if entry.has("title") else ""),
        ("Steps", _criteria(entry, "steps")),
        ("Acceptance criteria", _criteria(entry, "acceptanceCriteria")),
        ("Notes", entry.words("notes")),
    )
    title = entry.text("title" if entry.has("title") else "description")
    return _item(entry, title=title, body=body, operation="", origin="")


def _item(entry: Entry, *, title: str, body: str, operation: str, origin: str) -> Item:
    key = entry.name("id") if entry.has("id") else title
    origin_key = key if entry.has("id") else checksum(title, 16)
    category = entry.words("category")
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
        done=_is_done(entry),
    )


def _criteria(entry: Entry, key: str) -> str | tuple[str, ...]:
    return entry.words(key) if isinstance(entry.fields.get(key), str) else entry.texts(key)


def _priority(entry: Entry) -> int:
    named = entry.fields.get("priority")
    if isinstance(named, str) and named.lower() in NAMED:
        return NAMED[named.lower()]
    number = entry.whole("priority")
    return 0 if number is None else 1 - number


def _is_done(entry: Entry) -> bool:
    return entry.flag("passes") or entry.flag("completed") or entry.words("status").lower() in _DONE
