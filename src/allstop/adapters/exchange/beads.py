"""Reads issues of beads: `issues.jsonl`, `bd export`, or the output of `bd list --json`.

Priorities 0 (most urgent) to 4 become 2 to -2. Dependencies of the types `blocks`, `waits-for` and
`conditional-blocks` become needs; `parent-child` makes the parent an operation. The issue's type,
unless it is `task`, becomes a tag. Skipped: deleted issues (tombstones), templates, pinned notes,
messages and memories.
"""

from allstop.adapters.exchange.file_contents import Content, Json, as_json
from allstop.adapters.exchange.json_document import Entry, sections
from allstop.adapters.exchange.task_items import DEFERRED, Item, to_tasks
from allstop.core.tasks import NewTask

NAME = "beads"
_NEEDS = frozenset({"blocks", "waits-for", "conditional-blocks"})
_SKIPPED_TYPES = frozenset({"message", "event", "gate", "molecule", "agent", "role", "rig"})
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
    deleted = {
        entry.name("id") for entry in entries if entry.optional_text("status") == "tombstone"
    }
    return to_tasks(content.path, [_item(entry, deleted) for entry in entries if _is_work(entry)])


def _is_issue(value: object) -> bool:
    return isinstance(value, dict) and "id" in value and "title" in value


def _has_type(value: object) -> bool:
    return isinstance(value, dict) and "issue_type" in value and "title" in value


def _entries(content: Json) -> list[Entry]:
    if not content.by_line and isinstance(content.whole.value, list):
        return content.whole.entries((), content.whole.value)
    return [document.entry((), document.value) for document in content.documents]


def _is_work(entry: Entry) -> bool:
    return (
        (entry.optional_text("_type") or "issue") == "issue"
        and entry.optional_text("status") not in ("tombstone", "pinned")
        and entry.optional_text("issue_type") not in _SKIPPED_TYPES
        and not entry.flag("is_template")
        and not entry.flag("pinned")
    )


def _item(entry: Entry, deleted: set[str]) -> Item:
    key = entry.name("id")
    links = [_link(one) for one in entry.entries("dependencies")]
    parents = [target for target, type_ in links if type_ == "parent-child"]
    return Item(
        key=key,
        title=entry.text("title"),
        source=f"{NAME}:{key}",
        body=_body(entry),
        parent=next((one for one in parents if one not in deleted), entry.optional_text("parent")),
        needs=tuple(to for to, type_ in links if type_ in _NEEDS and to not in deleted),
        tags=_tags(entry),
        priority=_priority(entry),
        done=entry.optional_text("status") == "closed",
    )


def _link(entry: Entry) -> tuple[str, str]:
    """The target and type of a dependency; `bd list` puts the target issue itself there."""
    target = entry.name("depends_on_id" if entry.has("depends_on_id") else "id")
    return target, entry.optional_text("type") or entry.optional_text("dependency_type") or "blocks"


def _body(entry: Entry) -> str:
    return sections(
        ("", entry.optional_text("description")),
        ("Design", entry.optional_text("design")),
        ("Acceptance criteria", entry.optional_text("acceptance_criteria")),
        ("Notes", entry.optional_text("notes")),
    )


def _tags(entry: Entry) -> tuple[str, ...]:
    type_ = entry.optional_text("issue_type")
    own = (type_,) if type_ not in ("", "task") else ()
    deferred = (DEFERRED,) if entry.optional_text("status") == "deferred" else ()
    return entry.texts("labels") + own + deferred


def _priority(entry: Entry) -> int:
    number = entry.whole_number("priority")
    if number is None:
        return 0
    if not 0 <= number <= _LOWEST:
        raise entry.error("priority", f"a whole number from 0 to {_LOWEST}")
    return _MIDDLE - number
