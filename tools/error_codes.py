"""Finds every error code in src: where AllstopError, its subclasses and refusals are created."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
ERROR = "AllstopError"
REFUSAL = "allstop/board/task_commands.py"
"""Its `Refusal` becomes an AllstopError with the same message, hint and code."""


class Raised(NamedTuple):
    """One place where an error is created."""

    file: str
    line: int
    code: str
    """Empty if the error has no code of its own, `{…}` if the code comes from elsewhere."""

    message: str


class ErrorClass(NamedTuple):
    base: str
    code: str
    message: str


def find_errors(source: Path = ROOT / "src") -> list[Raised]:
    """Every creation of an error below `source`, in the order of files and lines."""
    texts = {
        file.relative_to(source).as_posix(): file.read_text(encoding="utf-8")
        for file in source.rglob("*.py")
    }
    trees, classes = _error_classes(texts)
    found = [each for file, tree in trees.items() for each in _raised(file, tree, classes)]
    return sorted(found)


def _error_classes(
    texts: Mapping[str, str],
) -> tuple[dict[str, ast.Module], dict[str, ErrorClass]]:
    """The files that name an error, and AllstopError and all classes below it by name."""
    trees: dict[str, ast.Module] = {}
    nodes: list[ast.ClassDef] = []
    classes = {ERROR: ErrorClass("", "", "")}
    while True:
        names = re.compile(rf"\b(?:{'|'.join(classes)}|Refusal)\b")
        for file, text in texts.items():
            if file not in trees and names.search(text):
                trees[file] = ast.parse(text)
                nodes += [each for each in ast.walk(trees[file]) if isinstance(each, ast.ClassDef)]
        new = {
            node.name: ErrorClass(base.id, _default_code(node), _own_message(node))
            for node in nodes
            for base in node.bases
            if isinstance(base, ast.Name) and base.id in classes and node.name not in classes
        }
        if not new:
            return trees, classes
        classes.update(new)


def _default_code(node: ast.ClassDef) -> str:
    for each in node.body:
        if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "default_code":
            return _template(each.value, None)
    return ""


def _own_message(node: ast.ClassDef) -> str:
    """The message that the class gives itself, if its creator doesn't pass one."""
    for function in node.body:
        if isinstance(function, ast.FunctionDef) and function.name == "__init__":
            if "message" in [each.arg for each in function.args.args]:
                return ""
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "super().__init__":
                    return _template(call.args[0], function)
    return ""


def _raised(file: str, tree: ast.Module, classes: Mapping[str, ErrorClass]) -> Iterator[Raised]:
    names = {*classes, "Refusal"} if file == REFUSAL else set(classes)
    for function, call in _calls(tree, None):
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        if name not in names:
            continue
        given = next((each.value for each in call.keywords if each.arg == "code"), None)
        code = _template(given, function) if given else _inherited_code(name, classes)
        yield Raised(file, call.lineno, code, _message(call, name, function, classes))


def _calls(node: ast.AST, function: ast.AST | None) -> Iterator[tuple[ast.AST | None, ast.Call]]:
    """Every call, with the innermost function around it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call):
            yield function, child
        is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
        yield from _calls(child, child if is_function else function)


def _inherited_code(name: str, classes: Mapping[str, ErrorClass]) -> str:
    while name in classes and not classes[name].code:
        name = classes[name].base
    return classes[name].code if name in classes else ""


def _message(
    call: ast.Call, name: str, function: ast.AST | None, classes: Mapping[str, ErrorClass]
) -> str:
    """The template of the message; errors about a file have it after path and line."""
    if name in classes and classes[name].message:
        own = classes[name].message
        problem = _template(call.args[2], function) if "{problem}" in own else ""
        return own.replace("{problem}", problem)
    return _template(call.args[0], function) if call.args else "{message}"


def _template(node: ast.expr, function: ast.AST | None) -> str:
    """A text with `{…}` for its inserted parts."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(_part(each) for each in values)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _template(left, function) + _template(right, function)
        case ast.Name(id=name) if function is not None:
            assigned = _assigned(name, function, node.lineno)
            return f"{{{name}}}" if assigned is None else _template(assigned, None)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return f"{{{name}}}"
        case _:
            return "{…}"


def _part(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=value):
            return str(value)
        case ast.FormattedValue(value=ast.Name(id=name) | ast.Attribute(attr=name)):
            return f"{{{name}}}"
        case _:
            return "{…}"


def _assigned(name: str, function: ast.AST, line: int) -> ast.expr | None:
    """The value that a variable has on a line: that of the last assignment above it."""
    assigned = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name
    ]
    above = [node for node in assigned if node.lineno < line]
    return max(above, key=lambda node: node.lineno).value if above else None
