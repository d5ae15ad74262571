"""Runner settings: the parts of shared files that decide which tests run and how."""

import configparser
import json
import re
import tomllib
from collections.abc import Callable, Mapping

MARK = "#tests"
"""After a protected path: only these parts of the file are protected."""

_PYPROJECT = ("pytest", "tox", "coverage", "nox", "unittest", "hatch", "poe", "taskipy", "pdm")
_SETUP_CFG = re.compile(r"(tool:)?pytest|coverage:.*|aliases|nosetests")
_PACKAGE = ("jest", "vitest", "mocha", "ava", "nyc", "c8", "tap", "karma", "cypress")
_SCRIPT = re.compile(r"(pre|post)?(test|check|verify|ci)\b.*")
_TARGET = re.compile(r"^(test|check|verify|ci)[\w-]*( [^:=]*)?::?(?!=)")
_MAKE_VARIABLE = re.compile(
    r"^(export )?[\w.-]*(TEST|PYTHON|NODE|NPM|SHELL|PATH)[\w.-]*\s*[:?+!]?="
)


def is_shared(path: str) -> bool:
    """Whether a file has settings of tests beside others."""
    return path.rpartition("/")[2] in _PARTS


def differ(path: str, old: bytes, new: bytes) -> bool:
    """Whether the test settings of a file changed; True if the new version can't be read."""
    parts = _PARTS.get(path.rpartition("/")[2])
    if parts is None:
        return False
    try:
        after = parts(new.decode())
    except (ValueError, configparser.Error, RecursionError):
        return True
    try:
        return parts(old.decode()) != after
    except (ValueError, configparser.Error, RecursionError):
        return True


def _pyproject(text: str) -> object:
    tool = tomllib.loads(text).get("tool", {})
    return {name: tool[name] for name in _PYPROJECT if name in tool}


def _setup_cfg(text: str) -> object:
    parser = configparser.RawConfigParser(strict=False)
    parser.read_string(text)
    return {name: dict(parser[name]) for name in parser.sections() if _SETUP_CFG.fullmatch(name)}


def _package_json(text: str) -> object:
    content = json.loads(text) if text.strip() else {}
    if not isinstance(content, dict):
        return content
    scripts = content.get("scripts")
    scripts = scripts if isinstance(scripts, dict) else {}
    tests = {name: run for name, run in scripts.items() if _SCRIPT.fullmatch(name)}
    return {"scripts": tests} | {name: content[name] for name in _PACKAGE if name in content}


def _makefile(text: str) -> object:
    """The rules of test targets with their recipes, and variables that choose programs."""
    kept, in_rule = [], False
    for line in text.splitlines():
        if _MAKE_VARIABLE.match(line):
            kept.append(line)
        elif not line.startswith("\t") and line.strip():
            in_rule = _TARGET.match(line) is not None
        if in_rule and line.strip():
            kept.append(line)
    return kept


_PARTS: Mapping[str, Callable[[str], object]] = {
    "pyproject.toml": _pyproject,
    "setup.cfg": _setup_cfg,
    "package.json": _package_json,
    "Makefile": _makefile,
    "makefile": _makefile,
    "GNUmakefile": _makefile,
}


# --- one version of a file with the test settings of another ---

_SECTIONS = {
    "pyproject.toml": re.compile(rf"\[+\s*tool\.({'|'.join(_PYPROJECT)})\b.*"),
    "setup.cfg": re.compile(rf"\[({_SETUP_CFG.pattern})\]\s*"),
}


def with_test_settings(path: str, before: str, after: str) -> str:
    """The file after a change, with the test settings from before it."""
    name = path.rpartition("/")[2]
    if name in _SECTIONS:
        kept = [text for of_tests, text in _sections(name, after) if not of_tests]
        own = [text for of_tests, text in _sections(name, before) if of_tests]
        return "".join((*kept, "\n", *own))
    if name == "package.json":
        try:
            return _merged_package(json.loads(before or "{}"), json.loads(after or "{}"))
        except (ValueError, AttributeError, RecursionError):
            return before
    return before or after


def _sections(name: str, text: str) -> list[tuple[bool, str]]:
    """The sections of a file in order, and whether each is one of tests."""
    found: list[tuple[bool, str]] = []
    for line in text.splitlines(keepends=True):
        is_header = line.startswith("[")
        if is_header or not found:
            of_tests = is_header and _SECTIONS[name].match(line) is not None
            found.append((of_tests, ""))
        found[-1] = (found[-1][0], found[-1][1] + line)
    return found


def _merged_package(before: dict[str, object], after: dict[str, object]) -> str:
    old, new = before.get("scripts"), after.get("scripts")
    scripts = {name: run for name, run in _dict(new).items() if not _SCRIPT.fullmatch(name)}
    scripts |= {name: run for name, run in _dict(old).items() if _SCRIPT.fullmatch(name)}
    merged = {name: value for name, value in after.items() if name not in _PACKAGE}
    merged |= {name: before[name] for name in _PACKAGE if name in before}
    return json.dumps(merged | {"scripts": scripts}, indent=2) + "\n"


def _dict(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}
