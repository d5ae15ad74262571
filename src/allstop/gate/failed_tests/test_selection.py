"""The command of a runner with some tests only, or with all but some, by their ids."""

import re
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence

from allstop.gate.facts import Case, Runner, TestCommand
from allstop.gate.runners import invocation, is_plain, with_tests

MOST = 20
"""More failing tests than these are no accident, and are not run again."""

LEFT_OUT = "ALLSTOP_LEFT_OUT"
"""The variable that tells pytest and unittest, by files of Allstop's, which tests to leave out."""

_SCRIPT_CALL = re.compile(r"\s*(npm|pnpm|yarn|bun)\s(?:[^;&|<>()`$']|'[^']*')*")
_OPERATORS = re.compile(r"[;&|<>()`$\n]")


def only(command: TestCommand, cases: Sequence[Case], known: Collection[str]) -> str | None:
    """The command that runs these tests, perhaps with a few others; None if it can't select them.

    `known`: all paths of the tree, by which an argument is known as a path.
    """
    form = _ONLY.get(command.runner)
    if form is None or not 0 < len(cases) <= MOST or not all(map(_is_test, cases)):
        return None
    return form(command, cases, known)


def without(command: TestCommand, cases: Sequence[Case]) -> str | None:
    """The command that runs all tests but these; None if it can't leave them out.

    Some runners leave out more than is asked, such as tests of the same name in other files. The
    reports of both runs show that.
    """
    form = _WITHOUT.get(command.runner)
    return form(command, cases) if form is not None and all(map(_is_test, cases)) else None


def _is_test(case: Case) -> bool:
    """Whether it is a test, and not a file or a package that can't be loaded."""
    return "::" in case.id and not {"\0", "\n"} & {*case.id}


def _names(case: Case) -> list[str]:
    """The names that lead to the test: classes, modules or groups, and its own."""
    parts = case.id.split("::")[1:]
    return [name for part in parts for name in part.split(" > ")]


def _files(cases: Sequence[Case]) -> list[str]:
    return sorted({case.file for case in cases})


_BETWEEN = "(?: > | )"


def _any_of(names: Sequence[str]) -> str:
    return "|".join(re.escape(name) for name in dict.fromkeys(names))


# --- some tests only ---


def _only_pytest(command: TestCommand, cases: Sequence[Case], known: Collection[str]) -> str | None:
    if not is_plain(command) or not all(case.id.startswith(f"{case.file}::") for case in cases):
        return None
    return with_tests(command, [case.id for case in cases], known)


def _only_unittest(
    command: TestCommand, cases: Sequence[Case], known: Collection[str]
) -> str | None:
    """Patterns of names, so that tests are found and imported as before."""
    if not is_plain(command):
        return None
    patterns = [f"*.{_class_and_name(case)}" for case in cases]
    return " ".join((command.run, *(f"-k {shlex.quote(each)}" for each in patterns)))


def _class_and_name(case: Case) -> str:
    """`Class.test`, without the module that an id may have before it."""
    *groups, name = _names(case)
    return f"{groups[-1].rpartition('.')[2]}.{name}" if groups else name


def _only_node(command: TestCommand, cases: Sequence[Case], known: Collection[str]) -> str | None:
    """By the name and those around it: a test within a test runs only if both are selected."""
    names = [name for case in cases for name in _names(case)]
    option = f"--test-name-pattern=(?:^| )(?:{_any_of(names)})$"
    if not all(case.file for case in cases):
        return None
    if command.script:
        *_, tail = command.script.partition("--test")
        is_bare = all(word.startswith("-") for word in tail.split())
        return _with_arguments(command, [option, *_files(cases)]) if is_bare else None
    return _with_option(command, option, _files(cases), known)


def _only_jest(command: TestCommand, cases: Sequence[Case], known: Collection[str]) -> str | None:
    if not all(case.file for case in cases):
        return None
    option = f"--testNamePattern=^(?:{_any_full_name(cases)})$"
    if command.script:
        return _with_arguments(command, [option, *_files(cases)])
    return _with_option(command, option, _files(cases), known)


def _any_full_name(cases: Sequence[Case]) -> str:
    """Newer versions of vitest put ` > ` between the names of groups and tests, others a space."""
    names = [_BETWEEN.join(map(re.escape, _names(case))) for case in cases]
    return "|".join(dict.fromkeys(names))


def _only_go(command: TestCommand, cases: Sequence[Case], known: Collection[str]) -> str | None:
    """The tests of these names in all packages, with all their rows."""
    if not is_plain(command) or "-args" in command.run.split():
        return None
    names = [case.id.partition("::")[2].partition("/")[0] for case in cases]
    return f"{command.run} -count=1 -run={shlex.quote(f'^({_any_of(names)})$')}"


def _only_cargo(command: TestCommand, cases: Sequence[Case], known: Collection[str]) -> str | None:
    """Examples in documentation can't be selected: their names contain a line's number."""
    if not is_plain(command) or not all(case.file for case in cases):
        return None
    separator = "" if " -- " in command.run else " --"
    names = [case.id.partition("::")[2] for case in cases]
    return " ".join((f"{command.run}{separator} --exact", *map(shlex.quote, names)))


def _with_option(
    command: TestCommand, option: str, files: Sequence[str], known: Collection[str]
) -> str | None:
    """An option behind the runner's name, and these files instead of its own."""
    _, end = invocation(command)
    if end < 0 or not is_plain(command):
        return None
    run = with_tests(command, files, known) if files else command.run
    return f"{run[:end]} {shlex.quote(option)}{run[end:]}"


def _with_arguments(command: TestCommand, words: Sequence[str]) -> str | None:
    """The call of a script of `package.json` that is nothing but the runner, with more arguments."""
    run = command.run.rstrip()
    if not _SCRIPT_CALL.fullmatch(run) or _OPERATORS.search(command.script):
        return None
    separator = "" if " -- " in run or run.lstrip().startswith("yarn") else " --"
    return " ".join((f"{run}{separator}", *map(shlex.quote, words)))


# --- all tests but some ---


def _without_pytest(command: TestCommand, cases: Sequence[Case]) -> str | None:
    """By a variable, which also reaches a runner behind a Makefile."""
    return _with_variable(command, [case.id for case in cases])


def _without_unittest(command: TestCommand, cases: Sequence[Case]) -> str | None:
    return _with_variable(command, [f"{case.file}::{_class_and_name(case)}" for case in cases])


def _with_variable(command: TestCommand, names: Sequence[str]) -> str | None:
    text = "\n".join(names)
    return f"export {LEFT_OUT}={shlex.quote(text)}\n{command.run}"


def _without_node(command: TestCommand, cases: Sequence[Case]) -> str | None:
    """From Node 22 on."""
    names = _any_of([_names(case)[-1] for case in cases])
    return _with_option(command, f"--test-skip-pattern=(?:^| )(?:{names})$", (), ())


def _without_jest(command: TestCommand, cases: Sequence[Case]) -> str | None:
    option = f"--testNamePattern=^(?!(?:{_any_full_name(cases)})$)"
    if command.script:
        return _with_arguments(command, [option])
    return _with_option(command, option, (), ())


def _without_go(command: TestCommand, cases: Sequence[Case]) -> str | None:
    if not is_plain(command) or "-args" in command.run.split():
        return None
    names = [case.id.partition("::")[2].split("/") for case in cases]
    forms = ["/".join(f"^{re.escape(part)}$" for part in parts) for parts in names]
    return f"{command.run} -skip={shlex.quote('|'.join(forms))}"


def _without_cargo(command: TestCommand, cases: Sequence[Case]) -> str | None:
    if not is_plain(command) or " -- " in command.run:
        return None
    names = [case.id.partition("::")[2] for case in cases]
    skips = " ".join(f"--skip {shlex.quote(name)}" for name in names)
    return f"{command.run} -- --exact {skips}"


_ONLY: Mapping[Runner, Callable[[TestCommand, Sequence[Case], Collection[str]], str | None]] = {
    Runner.PYTEST: _only_pytest,
    Runner.UNITTEST: _only_unittest,
    Runner.NODE: _only_node,
    Runner.JEST: _only_jest,
    Runner.VITEST: _only_jest,
    Runner.GO: _only_go,
    Runner.CARGO: _only_cargo,
}
_WITHOUT: Mapping[Runner, Callable[[TestCommand, Sequence[Case]], str | None]] = {
    Runner.PYTEST: _without_pytest,
    Runner.UNITTEST: _without_unittest,
    Runner.NODE: _without_node,
    Runner.JEST: _without_jest,
    Runner.VITEST: _without_jest,
    Runner.GO: _without_go,
    Runner.CARGO: _without_cargo,
}
