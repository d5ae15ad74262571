"""Regular expressions between two marks, where every program agrees on which mark ends them.

Programs differ in what brackets hide: `/[]/`, `/[\\]/` and `/[[:alpha:]/` are whole for some, and for
others they go on to the next slash. So a bracket holds no mark, and closes where all see it close.
"""

from __future__ import annotations


def between(mark: str) -> str:
    """What fits all that may stand before the second mark."""
    within = rf"\[:[a-z]+:\]|[^{mark}\[\]\\\n]|\\[^{mark}\[\]\n]"
    opening = r"\[(?:\^(?!\])|(?![\^\]]))"
    return rf"(?:[^{mark}\\\n\[]|\\[^\n]|{opening}(?:{within})+\])*"
