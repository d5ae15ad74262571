"""New functions that return something else: a new test that checks their results must notice it.

A new test of a new function can't be run on the target's code, which lacks the name. So the new
functions of the work are changed instead, all at once.
"""

import ast
import re
from collections.abc import Callable, Iterator, Sequence

from allstop.core.gate import Verdict
from allstop.core.moves import Finding
from allstop.core.text import one_line
from allstop.gate.facts import Case, CaseStatus, ChangedFile, CheckFacts, Facts
from allstop.gate.inline_tests import modules
from allstop.gate.red_witness import new_tests
from allstop.gate.syntax import closing, family_of
from allstop.gate.test_text import bare_name, definitions, is_product, names_in

SHOWN = 3


def changed_files(changes: Sequence[ChangedFile], tests: Sequence[Case]) -> dict[str, str]:
    """The product files with new functions that these tests name, and return something else."""
    named = _names_of_tests(changes, tests)
    found: dict[str, str] = {}
    for each in changes:
        change = _FORMS.get(family_of(each.path) or "")
        if change is None or not each.after or not is_product(each.path):
            continue
        names = (definitions(each.after) - definitions(each.before or "")) & named
        text = change(each.after, names) if names else each.after
        if text != each.after:
            found[each.path] = text
    return found


def _names_of_tests(changes: Sequence[ChangedFile], tests: Sequence[Case]) -> frozenset[str]:
    files = {case.file for case in tests}
    texts = [
        each.after if each.path in files or not is_product(each.path) else _tests_of_rust(each)
        for each in changes
        if each.after
    ]
    return names_in("\n".join(texts))


def _tests_of_rust(change: ChangedFile) -> str:
    """The test modules of a product file, which the report names after the crate."""
    return "\n".join(modules(change.after or "")) if change.path.endswith(".rs") else ""


# --- Python ---

_PYTHON = """


def _allstop_other(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    if isinstance(value, str):
        return value + "~"
    if isinstance(value, list):
        return [*value, "~"]
    if isinstance(value, dict):
        return {**value, "~": "~"}
    return object()


def _allstop_changed(function):
    import functools
    import inspect

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def changed(*given, **named):
            return _allstop_other(await function(*given, **named))

    else:

        @functools.wraps(function)
        def changed(*given, **named):
            return _allstop_other(function(*given, **named))

    return changed

"""


def _python(text: str, names: frozenset[str]) -> str:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return text
    lines = [f"{path} = _allstop_changed({path})" for path in _functions(tree.body, names)]
    return text + _PYTHON + "\n".join(lines) + "\n" if lines else text


def _functions(body: Sequence[ast.stmt], names: frozenset[str], prefix: str = "") -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _functions(node.body, names, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            is_plain = not node.decorator_list and not node.name.startswith("__")
            if node.name in names and is_plain and _returns(node):
                yield f"{prefix}{node.name}"


def _returns(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether it returns values, and is no generator."""
    nodes = list(ast.walk(function))
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in nodes):
        return False
    return any(isinstance(node, ast.Return) and node.value is not None for node in nodes)


# --- JavaScript and TypeScript ---

_JAVASCRIPT = """
function allstopOther(value) {
  if (typeof value === 'boolean') return !value;
  if (typeof value === 'number') return value + 1;
  if (typeof value === 'string') return `${value}~`;
  if (Array.isArray(value)) return [...value, '~'];
  if (value && typeof value.then === 'function') return value.then(allstopOther);
  return value === undefined ? undefined : { allstop: value === null };
}
function allstopChanged(made) {
  return typeof made !== 'function' ? made : function (...given) {
    return allstopOther(made.apply(this, given));
  };
}
"""
_EXPORT = re.compile(
    r"^export\s+(?:(?P<async>async\s+)?function\s+|(?P<const>const)\s+)(?P<name>[A-Za-z_$][\w$]*)(?=\s*[(=:<])",
    re.MULTILINE,
)


def _javascript(text: str, names: frozenset[str]) -> str:
    wrapped: list[str] = []

    def renamed(found: re.Match[str]) -> str:
        name = found["name"]
        if name not in names:
            return found[0]
        kind = "const " if found["const"] else f"{found['async'] or ''}function "
        wrapped.append(f"export const {name} = allstopChanged({name}Allstop);")
        return f"{kind}{name}Allstop"

    made = _EXPORT.sub(renamed, text)
    wrapped += [
        f"if (module.exports.{name}) module.exports.{name} = allstopChanged(module.exports.{name});"
        for name in sorted(names)
        if re.search(rf"\bexports\.{re.escape(name)}\s*=|\bmodule\.exports\s*=", text)
    ]
    return "\n".join((made.rstrip("\n"), _JAVASCRIPT, *wrapped, "")) if wrapped else text


# --- Go and Rust ---

_GO = re.compile(
    r"^func (?:\([^)]*\) )?(?P<name>\w+)(?P<given>\((?:[^()]|\([^()]*\))*\)) (?P<type>bool|string|u?int\d*|float\d+) \{",
    re.MULTILINE,
)


def _go(text: str, names: frozenset[str]) -> str:
    def changed(found: re.Match[str]) -> str:
        kind, result = found["type"], "allstop"
        if found["name"] not in names:
            return found[0]
        other = {"bool": "!allstop", "string": 'allstop + "~"'}.get(kind, "allstop + 1")
        head = found[0].removesuffix(f"{kind} {{")
        return f"{head}({result} {kind}) {{\n\tdefer func() {{ {result} = {other} }}()\n"

    return _GO.sub(changed, text)


_RUST = re.compile(
    r"\bfn (?P<name>\w+)(?:<[^>]*>)?\((?:[^()]|\([^()]*\))*\)\s*->\s*(?P<type>bool|String|[ui](?:8|16|32|64|128|size)|f32|f64)\s*\{"
)


def _rust(text: str, names: frozenset[str]) -> str:
    for found in reversed(list(_RUST.finditer(text))):
        if found["name"] not in names:
            continue
        begin, end, kind = found.end(), closing(text, found.end()), found["type"]
        other = {
            "bool": "!allstop",
            "String": 'format!("{allstop}~")',
            "f32": "allstop + 1.0",
            "f64": "allstop + 1.0",
        }.get(kind, "allstop.wrapping_add(1)")
        body = f" let allstop = (|| -> {kind} {{{text[begin : end - 1]}}})(); {other} }}"
        text = text[:begin] + body + text[end:]
    return text


_FORMS: dict[str, Callable[[str, frozenset[str]], str]] = {
    "python": _python,
    "js": _javascript,
    "go": _go,
    "rust": _rust,
}


# --- judging ---


def findings(facts: Facts) -> Iterator[Finding]:
    for check in facts.checks:
        yield from _of_check(check)


def _of_check(check: CheckFacts) -> Iterator[Finding]:
    if check.changed_results is None or check.changed_results.report is None:
        return
    ran = check.changed_results.report.by_id
    new = [case for case in new_tests(check) if case.id in ran]
    if not new or any(ran[case.id].status is not CaseStatus.PASSED for case in new):
        return
    names = one_line(", ".join(dict.fromkeys(bare_name(case.id) for case in new[:SHOWN])), 160)
    yield Finding(
        kind="checks_nothing",
        path=new[0].file or check.name,
        test=new[0].id,
        text=f"no new test notices when the new functions return something else: {names}",
        verdict=Verdict.ASK,
        to_agent="let the new tests compare the results of the new code with what is expected",
    )
