"""Keeps git's settings of this machine and of its user out of the tests."""

import os

VARIABLES = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
}


def hide_from_this_process():
    """For tests that run git without a home of their own; children inherit it."""
    os.environ.update(VARIABLES, GIT_CONFIG_GLOBAL=os.devnull)
    for name in list(os.environ):
        if name.startswith(("GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_CONFIG_COUNT")):
            del os.environ[name]
