"""Reads GitHub issues from `gh issue list --json number,title,body,labels,state,…`.

It also reads the REST API's list (`gh api`) and a single issue (`gh issue view --json …`), and skips
pull requests. Labels become tags. A milestone, or the parent of a sub-issue, becomes the operation.
Open issues in `blockedBy` become needs; issue texts are not searched for any.
Priority comes from labels: `P0` to `P4` become 2 to -2, `priority: high` (or critical, medium,
low) becomes 1 (or 2, 0, -1).

The number #12 becomes the id `gh-12`. If the fields include `url`, the source contains the
repository's name.
"""

import re

from allstop.adapters.exchange.file_contents import Content, Json, as_json
from allstop.adapters.exchange.json_document import Entry
from allstop.adapters.exchange.task_items import CANCELLED, PRIORITY_WORDS, Item, to_id, to_tasks
from allstop.core.tasks import NewTask

NAME = "github"
_URL = re.compile(r"https?://[^/]+/(?:repos/)?([^/]+/[^/]+)/(?:issues|pull)/\d+")
_PRIORITY_NUMBER = re.compile(r"(?:priority[:/ -]*)?p([0-4])", re.IGNORECASE)
_PRIORITY_WORD = re.compile(r"prio(?:rity)?[:/ -]+(\w+)", re.IGNORECASE)


def looks_like(content: Content) -> bool:
    if not isinstance(content, Json) or content.by_line:
        return False
    value = content.whole.value
    entries = value if isinstance(value, list) else [value]
    return any(isinstance(one, dict) and "number" in one and "title" in one for one in entries)


def read(content: Content) -> list[NewTask]:
    document = as_json(content).whole
    if isinstance(document.value, list):
        entries = document.entries((), document.value)
    else:
        entries = [document.entry((), document.value)]
    issues = [entry for entry in entries if not entry.has("pull_request")]
    return to_tasks(content.path, [_item(entry) for entry in issues], _name)


def _name(key: str) -> str:
    number = key.rpartition("#")[2]
    return f"gh-{number}" if number.isdigit() else to_id(key)


def _item(entry: Entry) -> Item:
    repository = _repository(entry)
    number = _number(entry)
    labels = _labels(entry)
    state = entry.optional_text("state").lower()
    reason = entry.optional_text("stateReason") or entry.optional_text("state_reason")
    return Item(
        key=f"{repository}#{number}",
        title=entry.text("title"),
        source=f"{NAME}:{repository}#{number}",
        body=entry.optional_text("body"),
        parent=_parent(entry, repository),
        operation=_title_of(entry, "parent") or _title_of(entry, "milestone"),
        needs=tuple(f"{repository}#{one}" for one in _blockers(entry)),
        tags=labels + ((CANCELLED,) if reason.lower() == "not_planned" else ()),
        priority=_priority(labels),
        done=state == "closed" or entry.flag("closed"),
    )


def _number(entry: Entry) -> int:
    number = entry.whole_number("number", least=1)
    if number is None:
        raise entry.error("number", "a whole number")
    return number


def _repository(entry: Entry) -> str:
    url = entry.optional_text("html_url") or entry.optional_text("url")
    found = _URL.match(url)
    return found[1] if found else ""


def _labels(entry: Entry) -> tuple[str, ...]:
    values = entry.fields.get("labels")
    if isinstance(values, list) and any(isinstance(one, str) for one in values):
        return entry.texts("labels")
    return tuple(one.text("name") for one in entry.entries("labels"))


def _parent(entry: Entry, repository: str) -> str:
    parent = entry.entry("parent")
    return f"{repository}#{_number(parent)}" if parent else ""


def _title_of(entry: Entry, key: str) -> str:
    one = entry.entry(key)
    return one.optional_text("title") if one else ""


def _blockers(entry: Entry) -> list[int]:
    """The numbers of open blockers, from a list or from GraphQL's `nodes`."""
    holder, key = entry, "blockedBy"
    if isinstance(entry.fields.get(key), dict):
        holder, key = entry.entry(key) or entry, "nodes"
    return [
        _number(one)
        for one in holder.entries(key)
        if one.optional_text("state").lower() != "closed"
    ]


def _priority(labels: tuple[str, ...]) -> int:
    for label in labels:
        number = _PRIORITY_NUMBER.fullmatch(label.strip())
        word = _PRIORITY_WORD.fullmatch(label.strip())
        if number:
            return 2 - int(number[1])
        if word and word[1].lower() in PRIORITY_WORDS:
            return PRIORITY_WORDS[word[1].lower()]
    return 0
