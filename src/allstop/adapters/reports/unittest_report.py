"""Runs `python -m unittest` and writes a JUnit report. Runs in a box, with the box's Python.

The file's text is handed to that Python, so it uses nothing but the standard library.
"""

import os
import sys
import time
import traceback
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO
from xml.sax import saxutils


class _Result(unittest.TextTestResult):
    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.rows: dict[str, tuple[Any, str, str, str]] = {}
        self.began = time.perf_counter()

    def keep(self, test: Any, kind: str = "", error: Any = None, text: str = "") -> None:
        if kind or test.id() not in self.rows:
            name = error[0].__name__ if error else ""
            line = "".join(traceback.format_exception_only(*error[:2])) if error else text
            self.rows[test.id()] = (test, kind, name, line)

    def addSuccess(self, test: Any) -> None:
        super().addSuccess(test)
        self.keep(test)

    def addFailure(self, test: Any, err: Any) -> None:
        super().addFailure(test, err)
        self.keep(test, "failure", err)

    def addError(self, test: Any, err: Any) -> None:
        super().addError(test, err)
        self.keep(test, "error", err)

    def addSkip(self, test: Any, reason: str) -> None:
        super().addSkip(test, reason)
        self.keep(test, "skipped", text=reason)

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        super().addExpectedFailure(test, err)
        self.keep(test, "skipped", text="expected failure")

    def addUnexpectedSuccess(self, test: Any) -> None:
        super().addUnexpectedSuccess(test)
        self.keep(test, "failure", text="unexpected success")

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        super().addSubTest(test, subtest, err)
        if err:
            failed = issubclass(err[0], test.failureException)
            self.keep(test, "failure" if failed else "error", err)


class _Runner(unittest.TextTestRunner):
    resultclass = _Result
    left_out: tuple[str, ...] = ()

    def run(self, test: Any) -> Any:
        if not self.left_out:
            return super().run(test)
        kept = (each for each in _all_tests(test) if not _is_one_of(each, self.left_out))
        return super().run(unittest.TestSuite(kept))


def _all_tests(suite: Any) -> Iterator[Any]:
    for each in suite:
        if isinstance(each, unittest.TestSuite):
            yield from _all_tests(each)
        else:
            yield each


def _is_one_of(test: Any, names: tuple[str, ...]) -> bool:
    """`names`: each a file, `::`, and the class with the test."""
    place = f"{_file(test)}::"
    tails = [name[len(place) :] for name in names if name.startswith(place)]
    return any(test.id() == tail or test.id().endswith(f".{tail}") for tail in tails)


def _file(test: Any) -> str:
    module = sys.modules.get(type(test).__module__)
    return os.path.relpath(getattr(module, "__file__", None) or ".")


def _write(rows: dict[str, tuple[Any, str, str, str]], file: TextIO) -> None:
    file.write("<testsuites><testsuite name='unittest'>")
    for test, kind, name, text in rows.values():
        path, module = _file(test), sys.modules.get(type(test).__module__)
        group, _, own = test.id().rpartition(".")
        words = {"classname": group, "name": own}
        if not group.startswith("unittest.loader"):
            words["file"] = path if module is not None else ""
        elif Path(path := own.replace(".", "/") + ".py").exists():  # it couldn't be loaded
            words = {"classname": "", "name": path, "file": path}
            text = text.strip().rpartition("\n")[2]
        file.write(f"<testcase {_attributes(words)}>")
        if kind:
            shown = {"message": text[:2000], "type": name}
            file.write(f"<{kind} {_attributes(shown)}/>")
        file.write("</testcase>")
    file.write("</testsuite></testsuites>")


def _attributes(words: dict[str, str]) -> str:
    clean = {k: "".join(c if c in "\n\t" or c >= " " else "?" for c in v) for k, v in words.items()}
    return " ".join(f"{k}={saxutils.quoteattr(v)}" for k, v in clean.items())


def main() -> None:
    place = os.environ.pop("ALLSTOP_REPORT")
    _Runner.left_out = tuple(filter(None, os.environ.pop("ALLSTOP_LEFT_OUT", "").split("\n")))
    sys.path[0] = os.getcwd()  # noqa: PTH109 - as `python -m` does it
    sys.argv[0] = "python -m unittest"
    program = unittest.main(module=None, exit=False, testRunner=_Runner)
    result: Any = program.result
    with Path(place).open("w", encoding="utf-8", errors="replace") as file:
        _write(result.rows, file)
    sys.exit(not result.wasSuccessful())


if __name__ == "__main__":
    main()
