"""Every error has a code that names its cause: in programs, nobody compares sentences."""

from __future__ import annotations

import importlib.util

from project import project_files

_spec = importlib.util.spec_from_file_location(
    "error_codes", project_files.ROOT / "tools" / "error_codes.py"
)
assert _spec is not None
assert _spec.loader is not None
error_codes = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(error_codes)


def found_in(folder, text):
    (folder / "module.py").write_text(text, encoding="utf-8")
    return [(each.code, each.message) for each in error_codes.find_errors(folder)]


def test_every_error_has_a_code_of_its_own():
    errors = error_codes.find_errors()
    offenders = [f"{each.file}:{each.line}: {each.message}" for each in errors if not each.code]

    assert errors
    assert offenders == []


def test_codes_and_messages_are_read_from_the_source(tmp_path):
    found = found_in(
        tmp_path,
        """
class NotFoundError(AllstopError):
    default_code = "not_found"

class LostError(NotFoundError):
    def __init__(self, name):
        super().__init__(f"{name} is lost")

def find(name):
    message = f"no {name!r} in {', '.join(names)}"
    if name:
        raise AllstopError(message, "look again", code="missing")
    raise NotFoundError("nothing" " here")

def lose(error):
    raise LostError("a") from AllstopError(error.message, code=error.code)

forgotten = AllstopError("no code")
""",
    )

    assert found == [
        ("missing", "no {name} in {…}"),
        ("not_found", "nothing here"),
        ("not_found", "{name} is lost"),
        ("{code}", "{message}"),
        ("", "no code"),
    ]
