"""Syntax trees of source files, if the extra `gate` with its grammars is installed."""

import re
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from itertools import accumulate
from typing import NamedTuple

from tree_sitter import Language, Node, Parser

LARGEST_CHARS = 200_000

DEEPEST = 500
"""Brackets within each other. Parsers need the square of the time for more, and nobody writes it."""

MOST_CONTINUED = 1000
"""Lines of Python that end with a backslash; for these and for comments it is the same."""
"""Longer files, which are generated, are read as plain text."""

_GRAMMARS = {
    "py": ("tree_sitter_python", "language"),
    "js": ("tree_sitter_javascript", "language"),
    "jsx": ("tree_sitter_javascript", "language"),
    "mjs": ("tree_sitter_javascript", "language"),
    "cjs": ("tree_sitter_javascript", "language"),
    "ts": ("tree_sitter_typescript", "language_typescript"),
    "mts": ("tree_sitter_typescript", "language_typescript"),
    "cts": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "go": ("tree_sitter_go", "language"),
    "rs": ("tree_sitter_rust", "language"),
}
_FAMILIES = {"py": "python", "go": "go", "rs": "rust"}


class Tree(NamedTuple):
    """A parsed file. Offsets of nodes are bytes of `source`."""

    family: str  # python, js (also TypeScript), go, rust
    source: bytes
    root: Node


def family_of(path: str) -> str:
    """The family of languages of a file; "" if none of these."""
    ending = _ending(path)
    return _FAMILIES.get(ending, "js") if ending in _GRAMMARS else ""


def parse(path: str, text: str) -> Tree | None:
    """The tree of a file; None without its grammar, or if it would take too long."""
    language = _language(_ending(path))
    if language is None or len(text) > LARGEST_CHARS or _depth(text) > DEEPEST:
        return None
    family = family_of(path)
    source = text.encode("utf-8", "replace")
    if family == "python":
        if source.count(b"\\\n") > MOST_CONTINUED:
            return None
        source = _COMMENT_LINES.sub(lambda found: b"\n" * found[0].count(b"\n"), source)
    return Tree(family, source, Parser(language).parse(source).root_node)


_COMMENT_LINES = re.compile(rb"(^[ \t]*(#[^\n]*)?\n){50,}", re.MULTILINE)
_BRACKETS = re.compile(r"[][(){}]")


def _depth(text: str) -> int:
    """The most brackets that are open at once, those in strings included."""
    steps = (1 if each[0] in "[({" else -1 for each in _BRACKETS.finditer(text))
    return max(accumulate(steps), default=0)


def lacks_grammar(path: str) -> bool:
    """Whether a grammar for this language exists, and is not installed."""
    ending = _ending(path)
    return ending in _GRAMMARS and _language(ending) is None


def nodes(root: Node) -> Iterator[Node]:
    """A node and all below it, in the order of the text."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def text_of(node: Node | None) -> str:
    return (node.text or b"").decode("utf-8", "replace") if node is not None else ""


def _ending(path: str) -> str:
    return path.rpartition(".")[2].lower()


@lru_cache(maxsize=len(_GRAMMARS))
def _language(ending: str) -> Language | None:
    if ending not in _GRAMMARS:
        return None
    module, name = _GRAMMARS[ending]
    try:
        return Language(getattr(import_module(module), name)())
    except ImportError:
        return None


_BRACES = re.compile(
    r"//[^\n]*|/\*.*?\*/|r(#*)\".*?\"\1|\"(?:\\.|[^\"\\])*\"|b?'(?:\\.[^']*|[^'\\])'|[{}]",
    re.DOTALL,
)


def closing(text: str, at: int) -> int:
    """Behind the brace that closes the block which begins before `at`."""
    depth = 1
    for token in _BRACES.finditer(text, at):
        if token[0] == "{":
            depth += 1
        elif token[0] == "}":
            depth -= 1
            if depth == 0:
                return token.end()
    return len(text)
