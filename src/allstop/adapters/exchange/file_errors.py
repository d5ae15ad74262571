"""The error for a file of tasks that can't be imported, with its line."""

from pathlib import Path

from allstop.core.errors import AllstopError


class ImportFileError(AllstopError):
    """A file can't be read as a list of tasks."""

    default_code = "invalid_import_file"

    def __init__(
        self, path: Path, line: int | None, problem: str, hint: str = "", *, code: str = ""
    ) -> None:
        location = str(path) if line is None else f"{path}:{line}"
        super().__init__(f"{location}: {problem}", hint, code=code)
        self.path = path
        self.line = line
        self.problem = problem
