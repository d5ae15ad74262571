"""Literal words: the one text that every shell makes of a word, or None if that is unknown.

Words that the grammar and a shell could read differently aren't literal: expansions, globs, braces.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

_UNQUOTED = re.compile(r"(?!=)(?:[\w@%+=:,./-]|\\[().*|+?\[\]^$ ])+|!")
_REVISION = re.compile(
    r"(?=[\w@.])(?:[\w@./:+-]|(?<=[\w@}^~])[~^]|(?<=[@^])\{[A-Za-z0-9/-]+\})+", re.ASCII
)
"""Inside a word, a shell leaves these characters alone, and braces without a comma or dots."""
_IN_DOUBLE_QUOTES = re.compile(
    r"""(?:[^\\$`!"]|\\(?![\n!])[\s\S]|\$(?=[)|]|\Z)|!(?=[ =]|\Z))*""",
)
_EXCLUSION = re.compile(r'"![\w*./-]+"', re.ASCII)
_ESCAPED = re.compile(r"\\(.)")
_ESCAPED_IN_QUOTES = re.compile(r'\\([\\$`"])')
_STRING_PARTS = frozenset({'"', "string_content", "$"})


def text_of(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def short(node: Node) -> str:
    text = text_of(node)
    return text if len(text) <= 40 else f"{text[:39]}…"


def literal(node: Node) -> str | None:
    """Return the one text that any shell makes of this word."""
    text = text_of(node)
    match node.type:
        case "word" | "number" | "test_operator":
            return _unquoted(text)
        case "raw_string":
            return text[1:-1]
        case "string" if all(child.type in _STRING_PARTS for child in node.children):
            return _double_quoted(text[1:-1])
        case "concatenation":
            return _joined(node)
        case _:
            return None


def revision(node: Node) -> str | None:
    """Return a word as git names commits: HEAD~1, main^2, stash@{0}."""
    text = text_of(node)
    is_one = node.type in ("word", "concatenation") and _REVISION.fullmatch(text)
    return text if is_one else None


def exclusion(node: Node) -> str | None:
    """Return an excluded pattern such as "!dist", which only interactive shells expand."""
    text = text_of(node)
    return text[1:-1] if node.type == "string" and _EXCLUSION.fullmatch(text) else None


def _unquoted(text: str) -> str | None:
    return _ESCAPED.sub(r"\1", text) if _UNQUOTED.fullmatch(text) else None


def _double_quoted(text: str) -> str | None:
    if _IN_DOUBLE_QUOTES.fullmatch(text):
        return _ESCAPED_IN_QUOTES.sub(r"\1", text)
    return None


def _joined(node: Node) -> str | None:
    parts = [literal(child) for child in node.children]
    touching = sum(len(child.text or b"") for child in node.children) == len(node.text or b"")
    return "".join(part or "" for part in parts) if touching and None not in parts else None
