"""Words as a shell makes them: the one text of a word, or nothing where that can't be told.

What the grammar and a shell could read differently is not literal: expansions, globs, braces.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from allstop.core.allowing.secrets import CODE

if TYPE_CHECKING:
    from tree_sitter import Node

_UNQUOTED = re.compile(r"(?!=)(?:[\w@%+=:,./-]|\\[();.*|+?\[\]^$ ])+|!")
_REVISION = re.compile(
    r"(?=[\w@.])(?:[\w@./:+-]|(?<=[\w@}^~])[~^]|(?<=[@^])\{[A-Za-z0-9/-]*\})+", re.ASCII
)
_PATTERN_OPTION = re.compile(
    r"--(?:include|exclude|exclude-dir)=(?:[\w.*?/-]|\{[\w.*?/,-]+\})+", re.ASCII
)
"""A glob here can only become more of the same option."""
_KINDS = "|".join(sorted(CODE))
_STEP = r"(?![.-])[\w@+.*?-]+"
_GLOB = re.compile(rf"(?:\./)?(?:{_STEP}/)*(?:{_STEP})?", re.ASCII)
"""None of these can be hidden, and no step leads back."""
_OF_CODE = re.compile(rf"(?:.*/)?(?:[\w@+.-]+|[\w@+.*?-]*\.(?:{_KINDS}))", re.ASCII)
"""Texts of a kind that holds no secrets, or files with a whole name."""
_IN_DOUBLE_QUOTES = re.compile(
    r"""(?:[^\\$`!"]|\\(?![\n!])[\s\S]|\$(?=[)|]|\Z)|!(?=[ =]|\Z))*""",
)
_ESCAPED = re.compile(r"\\(.)")
_ESCAPED_IN_QUOTES = re.compile(r'\\([\\$`"])')
_STRING_PARTS = frozenset({'"', "string_content", "$"})
_EXIT_CODE = "$?"


def text_of(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def short(node: Node) -> str:
    text = text_of(node)
    return text if len(text) <= 40 else f"{text[:39]}…"


def literal(node: Node) -> str | None:
    """The one text that any shell makes of this word."""
    text = text_of(node)
    match node.type:
        case "word" | "number" | "test_operator":
            return _unquoted(text)
        case "raw_string":
            return text[1:-1]
        case "string" if all(_is_plain(child) for child in node.children):
            return _double_quoted(_with_exit_code(node)[1:-1])
        case "simple_expansion" if text == _EXIT_CODE:
            return "0"
        case "concatenation":
            return _joined(node, text)
        case _:
            return None


def _is_plain(part: Node) -> bool:
    """Of a string: text, or a number that nobody can choose."""
    return part.type in _STRING_PARTS or text_of(part) == _EXIT_CODE


def _with_exit_code(node: Node) -> str:
    """A string's text with a number in the place of each exit code."""
    text, start = node.text or b"", node.start_byte
    for part in reversed(node.children):
        if text_of(part) == _EXIT_CODE:
            text = text[: part.start_byte - start] + b"0" + text[part.end_byte - start :]
    return text.decode("utf-8", "replace")


def is_glob(node: Node) -> bool:
    text = text_of(node)
    return node.type == "word" and bool(re.search("[*?]", text) and _GLOB.fullmatch(text))


def may_be_options(glob: str) -> bool:
    return glob[0] in "*?"


def may_be_secrets(glob: str) -> bool:
    return not _OF_CODE.fullmatch(glob)


def _unquoted(text: str) -> str | None:
    if _UNQUOTED.fullmatch(text):
        return _ESCAPED.sub(r"\1", text)
    return text if _REVISION.fullmatch(text) or _PATTERN_OPTION.fullmatch(text) else None


def _double_quoted(text: str) -> str | None:
    if _IN_DOUBLE_QUOTES.fullmatch(text):
        return _ESCAPED_IN_QUOTES.sub(r"\1", text)
    return None


def _joined(node: Node, text: str) -> str | None:
    if _REVISION.fullmatch(text) or _PATTERN_OPTION.fullmatch(text) or text == "{}":
        return text
    parts = [literal(child) for child in node.children]
    touching = sum(len(child.text or b"") for child in node.children) == len(node.text or b"")
    return "".join(part or "" for part in parts) if touching and None not in parts else None
