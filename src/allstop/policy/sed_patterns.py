"""A pattern for regular expressions between delimiters that all versions of sed and awk read alike.

Programs differ on brackets: for some, `/[]/`, `/[\\]/` and `/[[:alpha:]/` are complete, for others
they go on to the next slash. So a bracket must not contain the delimiter or end ambiguously.
"""


def regex_between(mark: str) -> str:
    """A pattern for the text before the closing delimiter."""
    within = rf"\[:[a-z]+:\]|[^{mark}\[\]\\\n]|\\[^{mark}\[\]\n]"
    opening = r"\[(?:\^(?!\])|(?![\^\]]))"
    return rf"(?:[^{mark}\\\n\[]|\\[^\n]|{opening}(?:{within})+\])*"
