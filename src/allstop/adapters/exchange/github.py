"""GitHub's issues: the list of `gh issue list --json number,title,body,labels,state,…`.

The list of the REST API (`gh api`) and the single issue of `gh issue view --json …` are read too;
pull requests are left out. Labels become tags. A milestone, or the parent of a sub-issue, becomes
the operation. Open issues in `blockedBy` become needs; nothing is guessed from what a text says.
Priority comes from labels: `P0` to `P4` become 2 to -2, `priority: high` (or critical, medium,
low) becomes 1 (or 2, 0, -1).

The number #12 becomes the id `gh-12`. With `url` among the fields, the key for importing twice has
the repository's name in it.
"""

from __future__ import annotations

import re

from allstop.adapters.exchange.file_contents import Content, Json, as_json
from allstop.adapters.exchange.json_document import Entry
from allstop.adapters.exchange.task_items import CANCELLED, NAMED, Item, fit, shape
from allstop.core.tasks import NewTask

NAME = "github"
_URL = re.compile(r"https?://[^/]+/(?:repos/)?([^/]+/[^/]+)/(?:issues|pull)/\d+")
_NUMBERED = re.compile(r"(?:priority[:/ -]*)?p([0-4])", re.IGNORECASE)
_WORDED = re.compile(r"prio(?:rity)?[:/ -]+(\w+)", re.IGNORECASE)


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
    return shape(content.path, [_item(entry) for entry in issues], _name)


def _name(key: str) -> str:
    number = key.rpartition("#")[2]
    return f"gh-{number}" if number.isdigit() else fit(key)


def _item(entry: Entry) -> Item:
    repository = _repository(entry)
    number = _number(entry)
    labels = _labels(entry)
    state = entry.words("state").lower()
    dropped = entry.words("stateReason") or entry.words("state_reason")
    return Item(
        key=f"{repository}#{number}",
        title=entry.text("title"),
        source=f"{NAME}:{repository}#{number}",
        body=entry.words("body"),
        parent=_parent(entry, repository),
        operation=_title_of(entry, "parent") or _title_of(entry, "milestone"),
        needs=tuple(f"{repository}#{one}" for one in _blockers(entry)),
        tags=labels + ((CANCELLED,) if dropped.lower() == "not_planned" else ()),
        priority=_priority(labels),
        done=state == "closed" or entry.flag("closed"),
    )


def _number(entry: Entry) -> int:
    number = entry.whole("number", least=1)
    if number is None:
        raise entry.wrong("number", "a whole number")
    return number


def _repository(entry: Entry) -> str:
    url = entry.words("html_url") or entry.words("url")
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
    return one.words("title") if one else ""


def _blockers(entry: Entry) -> list[int]:
    """Those that are still open, from a list or from GraphQL's `nodes`."""
    holder, key = entry, "blockedBy"
    if isinstance(entry.fields.get(key), dict):
        holder, key = entry.entry(key) or entry, "nodes"
    return [_number(one) for one in holder.entries(key) if one.words("state").lower() != "closed"]


def _priority(labels: tuple[str, ...]) -> int:
    for label in labels:
        numbered = _NUMBERED.fullmatch(label.strip())
        worded = _WORDED.fullmatch(label.strip())
        if numbered:
            return 2 - int(numbered[1])
        if worded and worded[1].lower() in NAMED:
            return NAMED[worded[1].lower()]
    return 0
