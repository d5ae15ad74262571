"""Tries to get out of the box, and prints as JSON which attempts succeeded.

escape.py TARGETS: a JSON object that names what lies outside. With `but` in it, a list of names,
these are left out: what would harm a machine that has no box around it.
"""

import json
import sys

import escape_files
import escape_kernel
import escape_processes
import escape_sockets

TABLES = (escape_files, escape_processes, escape_sockets, escape_kernel)


def attempts(at):
    """Each by its name; what is True, or raises nothing and isn't False, has succeeded."""
    found = {}
    for table in TABLES:
        for name, attempt in table.attempts(at).items():
            assert name not in found, name
            found[name] = attempt
    return {name: attempt for name, attempt in found.items() if name not in at.get("but", ())}


def succeeds(attempt):
    try:
        return attempt() not in (False, [])
    except (OSError, ValueError):  # a limit that can't be raised is a wrong value
        return False


at = json.loads(sys.argv[1])
print(json.dumps({name: succeeds(attempt) for name, attempt in attempts(at).items()}))
