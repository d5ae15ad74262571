"""Links of a workspace that lead out of it."""

from __future__ import annotations

import os
from collections.abc import Callable


def links_out(root: str) -> Callable[[str], bool]:
    """Where the files are those that a command would find: not for a box, which shows others."""
    real = os.path.realpath(root)

    def leads_out(path: str) -> bool:
        """As the system walks it: `..` after a link is above what the link leads to."""
        return os.path.commonpath((real, os.path.realpath(path))) != real

    return leads_out
