"""Detects symbolic links that lead out of a workspace."""

import os
from collections.abc import Callable


def links_out(root: str) -> Callable[[str], bool]:
    """Return a check for paths. Not for a box, where a command sees other files than the host."""
    real = os.path.realpath(root)

    def leads_out(path: str) -> bool:
        """Resolved as the kernel does: `..` after a link means the parent of its target."""
        return os.path.commonpath((real, os.path.realpath(path))) != real

    return leads_out
