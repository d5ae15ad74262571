"""Loops over literal words, written out as a shell would run them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from allstop.adapters.shell.literals import is_glob, literal, text_of
from allstop.core.shell_words import LONGEST_BYTES

if TYPE_CHECKING:
    from tree_sitter import Node

_VARIABLE = re.compile(
    "[a-z]|file|dir|folder|name|pkg|package|mod|module|item|num|idx|test|spec|branch|commit|word|ext"
    "|lang|target|service|svc|app|crate|log|doc|page|script|ref|tag|sha|rev|version|word|pattern|term"
)
"""No shell and no program gives these a meaning of its own, as some do to `path` and `IFS`."""
_VALUE = re.compile(r"[\w@%+:,.][\w@%+:,./-]*|/[\w@%+:,./-]*")
_FOR = ("for", "do_group")
_CHANGES = frozenset(
    {"variable_assignment", "for_statement", "while_statement", "declaration_command"}
)


def unroll(loop: Node) -> bytes:
    """The body once for each word; nothing where that is not sure to be the same."""
    match loop.children:
        case [first, variable, _, *between, body] if (first.type, body.type) == _FOR:
            values = [each for each in between if each.type not in (";", "\n")]
            bodies = list(_bodies(text_of(variable), values, body))
            text = b"\n".join(bodies)
            is_whole = len(bodies) == len(values) and len(text) <= LONGEST_BYTES
            return text if is_whole else b""
        case _:
            return b""


def _bodies(variable: str, values: list[Node], body: Node) -> Iterator[bytes]:
    if not _VARIABLE.fullmatch(variable) or _has(body, _CHANGES):
        return
    places = list(_uses(body, variable))
    for value in values:
        if (written := _written(value)) is None or len(written) * len(places) > LONGEST_BYTES:
            return
        if "*" in written and not all(map(_is_kept, places)):
            return
        yield _with(body, places, variable, written)


def _is_kept(place: Node) -> bool:
    """As a word of its own in quotes, so that it stays one file; or within words that are told."""
    if place.type == "string":
        return True
    text = place.parent
    command = text.parent if text is not None and text.type == "string" else None
    return command is not None and text_of(command).startswith("echo ")


def _has(node: Node, kinds: frozenset[str]) -> bool:
    return any(each.type in kinds for each in _all(node))


def _all(node: Node) -> Iterator[Node]:
    waiting = [node]
    while waiting:
        each = waiting.pop()
        yield each
        waiting.extend(reversed(each.children))


def _written(value: Node) -> str | None:
    if is_glob(value):
        return text_of(value) if "?" not in text_of(value) else None
    text = literal(value)
    return text if text is not None and _VALUE.fullmatch(text) else None


def _uses(body: Node, variable: str) -> Iterator[Node]:
    """Whole strings `"$f"`, and the variable wherever else it stands."""
    wanted = (f"${variable}", f"${{{variable}}}")
    whole = tuple(f'"{each}"' for each in wanted)
    for node in _all(body):
        if node.type == "string" and text_of(node) in whole:
            yield node
        elif node.type in ("simple_expansion", "expansion") and text_of(node) in wanted:
            parent = node.parent
            if parent is None or text_of(parent) not in whole:
                yield node


def _with(body: Node, places: list[Node], variable: str, value: str) -> bytes:
    """The body's text between `do` and `done` with the value in these places."""
    text, start = body.text or b"", body.start_byte
    first, last = body.children[0], body.children[-1]
    end = last.start_byte - start
    for place in sorted(places, key=lambda node: -node.start_byte):
        at, to = place.start_byte - start, place.end_byte - start
        text = text[:at] + value.encode() + text[to:]
        end += len(value.encode()) - (to - at)
    return text[first.end_byte - start : end].strip().removesuffix(b";")
