"""What is wrong with a file of tasks, and where."""

from __future__ import annotations

from pathlib import Path

from allstop.core.errors import AllstopError


class ImportFileError(AllstopError):
    """A file can't be read as a list of tasks."""

    def __init__(self, path: Path, line: int | None, problem: str, hint: str = "") -> None:
        place = str(path) if line is None else f"{path}:{line}"
        super().__init__(f"{place}: {problem}", hint)
        self.path = path
        self.line = line
        self.problem = problem
