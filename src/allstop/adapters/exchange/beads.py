"""beads: `issues.jsonl`, `bd export`, or the list that `bd list --json` prints.

Priority 0 is the most urgent one of 0 to 4: it becomes 2, the middle (2) becomes 0, 4 becomes -2.
Dependencies of the types `blocks`, `waits-for` and `conditional-blocks` become needs;
`parent-child` makes the parent an operation. The issue's type, unless it is `task`, becomes a tag.
Left out: deleted issues (tombstones), templates, pinned notes, messages and memories.
"""

from __future__ import annotations

from allstop.adapters.exchange.file_contents import Content, Json, as_json
from allstop.adapters.exchange.json_document import Entry, sections
from allstop.adapters.exchange.task_items import DEFERRED, Item, shape
from allstop.core.tasks import NewTask

NAME = "beads"
_NEEDS = frozenset({"blocks", "waits-for", "conditional-blocks"})
_NO_WORK = frozenset({"message", "event", "gate", "molecule", "agent", "role", "rig"})
_MIDDLE = 2
_LOWEST = 4


def looks_like(content: Content) -> bool:
    if not isinstance(content, Json):
        return False
    if content.by_line:
        return any(_is_issue(document.value) for document in content.documents)
    match content.whole.value:
        case [*entries]:
            return any(_has_type(one) for one in entries)
        case value:
            return _has_type(value)


def read(content: Content) -> list[NewTask]:
    entries = _entries(as_json(content))
    gone = {entry.name("id") for entry in entries if _is_deleted(entry)}
    return shape(content.path, [_item(entry, gone) for entry in entries if _is_work(entry)])


def _is_issue(value: object) -> bool:
    return isinstance(value, dict) and "id" in value and "title" in value


def _has_type(value: object) -> bool:
    return isinstance(value, dict) and "issue_type" in value and "title" in value


def _entries(content: Json) -> list[Entry]:
    if not content.by_line and isinstance(content.whole.value, list):
        return content.whole.entries((), content.whole.value)
    return [document.entry((), document.value) for document in content.documents]


def _is_deleted(entry: Entry) -> bool:
    return entry.words("status") == "tombstone"


def _is_work(entry: Entry) -> bool:
    return (
        (entry.words("_type") or "issue") == "issue"
        and entry.words("status") not in ("tombstone", "pinned")
        and entry.words("issue_type") not in _NO_WORK
        and not entry.flag("is_template")
        and not entry.flag("pinned")
    )


def _item(entry: Entry, gone: set[str]) -> Item:
    key = entry.name("id")
    links = [_link(one) for one in entry.entries("dependencies")]
    parents = [target for target, type_ in links if type_ == "parent-child"]
    return Item(
        key=key,
        title=entry.text("title"),
        source=f"{NAME}:{key}",
        body=_body(entry),
        parent=next((one for one in parents if one not in gone), entry.words("parent")),
        needs=tuple(to for to, type_ in links if type_ in _NEEDS and to not in gone),
        tags=_tags(entry),
        priority=_priority(entry),
        done=entry.words("status") == "closed",
    )


def _link(entry: Entry) -> tuple[str, str]:
    """What it points to and how; a list from `bd list` has the issue itself there."""
    target = entry.name("depends_on_id" if entry.has("depends_on_id") else "id")
    return target, entry.words("type") or entry.words("dependency_type") or "blocks"


def _body(entry: Entry) -> str:
    return sections(
        ("", entry.words("description")),
        ("Design", entry.words("design")),
        ("Acceptance criteria", entry.words("acceptance_criteria")),
        ("Notes", entry.words("notes")),
    )


def _tags(entry: Entry) -> tuple[str, ...]:
    type_ = entry.words("issue_type")
    own = (type_,) if type_ not in ("", "task") else ()
    waits = (DEFERRED,) if entry.words("status") == "deferred" else ()
    return entry.texts("labels") + own + waits


def _priority(entry: Entry) -> int:
    number = entry.whole("priority")
    if number is None:
        return 0
    if not 0 <= number <= _LOWEST:
        raise entry.wrong("priority", f"a whole number from 0 to {_LOWEST}")
    return _MIDDLE - number
