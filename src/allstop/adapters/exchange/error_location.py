"""Finds the line of an imported file that the board's refusal is about."""

import re
from collections.abc import Sequence
from pathlib import Path

from allstop.adapters.exchange.file_contents import STANDARD_INPUT
from allstop.adapters.exchange.file_errors import ImportFileError
from allstop.core.errors import AllstopError
from allstop.core.tasks import NewTask


def with_location(
    path: Path | bytes, tasks: Sequence[NewTask], refused: AllstopError
) -> AllstopError:
    """The refusal with the file and line of the first task that it names."""
    named = [task for task in tasks if _names(refused.message, task.id)]
    if not named:
        return refused
    source, data = (STANDARD_INPUT, path) if isinstance(path, bytes) else (path, path.read_bytes())
    lines = data.decode(errors="replace").splitlines()
    return ImportFileError(
        source, _line_of(named[0], lines), refused.message, refused.hint, code=refused.code
    )


def _names(text: str, word: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", text) is not None


def _line_of(task: NewTask, lines: Sequence[str]) -> int | None:
    """The best match: id and title, then either; a generated id is not in the file."""
    for words in ((task.id, task.title), (task.id,), (task.title,)):
        for number, line in enumerate(lines, 1):
            if all(_names(line, word) for word in words):
                return number
    return None
