"""Blocks in braces: where one ends, past strings and comments."""

import re

_TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|r(#*)\".*?\"\1|\"(?:\\.|[^\"\\])*\"|b?'(?:\\.[^']*|[^'\\])'|[{}]",
    re.DOTALL,
)


def closing(text: str, at: int) -> int:
    """Behind the brace that closes the block which begins before `at`."""
    depth = 1
    for token in _TOKEN.finditer(text, at):
        if token[0] == "{":
            depth += 1
        elif token[0] == "}":
            depth -= 1
            if depth == 0:
                return token.end()
    return len(text)
