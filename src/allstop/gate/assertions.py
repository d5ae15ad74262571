"""The assertions of a test file, each with its test, and how strict each one is.

They are read from the syntax tree if there is one, otherwise from the lines.
"""

import re
from collections.abc import Iterator
from enum import IntEnum

from msgspec import Struct
from tree_sitter import Node

from allstop.core.text import one_line
from allstop.gate.syntax import Tree, parse, text_of

LONGEST = 300


class Strength(IntEnum):
    """How much an assertion can tell, from nothing to everything."""

    NOTHING = 0
    EXISTENCE = 1
    PART = 2
    EXACT = 3


class Assertion(Struct, frozen=True, gc=False, kw_only=True):
    test: str  # "": outside of a test
    text: str  # in one line
    line: int


def assertions(path: str, text: str) -> tuple[Assertion, ...]:
    tree = parse(path, text)
    return tuple(_in_tree(tree) if tree is not None else in_lines(text))


def strength(text: str) -> Strength:
    """How strict an assertion is, by its form."""
    return next((each for each, form in _FORMS if form.search(text)), Strength.PART)


_LITERAL = r"(?:True|true|1|\"[^\"]*\"|'[^']*')"
_FORMS = (
    (
        Strength.NOTHING,
        re.compile(
            rf"^assert\s+{_LITERAL}(\s*,|\s*$)|\bor\s+True\b|\|\|\s*true\b"
            r"|^assert!\(\s*true\s*[,)]|\bassertTrue\(\s*True\s*[,)]|\bexpect\(\s*(true|1)\s*\)\.to"
            r"|^assert\s+(?P<a>[\w.]+)\s*==\s*(?P=a)\s*$|\bassertEqual\(\s*(?P<b>[\w.]+)\s*,\s*(?P=b)\s*[,)]"
            r"|\bexpect\(\s*(?P<c>[\w.]+)\s*\)\.to(Be|Equal|StrictEqual)\(\s*(?P=c)\s*\)"
            r"|\bassert_eq!\(\s*(?P<d>[\w.]+)\s*,\s*(?P=d)\s*\)|\bANY\b|expect\.anything\(\)"
        ),
    ),
    (
        Strength.EXISTENCE,
        re.compile(
            r"\bis not None\b|\bassert(IsNotNone|True|IsInstance|IsNotNull)\b|\bisinstance\("
            r"|\.(toBeDefined|toBeTruthy|toBeInstanceOf)\(|\.not\.toBe(Null|Undefined)\("
            r"|\.toThrow(Error)?\(\s*\)|\b(NotNil|NotEmpty|IsType)\(|\braises\((Base)?Exception[,)]"
            r"|\bassertRaises\((Base)?Exception[,)]|\bis_(some|ok)\(\)|^assert(\.ok)?\(?\s*[\w.()\[\]]+\)?$"
            r"|\blen\([^()]*\)\s*>=?\s*[01]\b"
        ),
    ),
    (
        Strength.EXACT,
        re.compile(
            r"(?<![<>!])===?(?!=)|\bassert(Equal|Is|DictEqual|ListEqual|Raises\w*|CountEqual)\b"
            r"|\.(toBe|toEqual|toStrictEqual|toMatchSnapshot|toMatchInlineSnapshot|toThrow\w*)\("
            r"|\b(deepStrictEqual|strictEqual|deepEqual|equal)\(|\b(Equal|EqualError|ErrorIs)\("
            r"|\bassert_eq!|\braises\(|\bis (None|True|False)\b|!=.*\bt\.(Error|Fatal)"
        ),
    ),
)


# --- by the syntax tree ---

_TEST_CALLS = re.compile(r"(it|test|specify)(\.\w+)*(\(.*\))?", re.DOTALL)
_GROUP_CALLS = re.compile(r"(describe|suite|context)(\.\w+)*")
_JS_ASSERTS = re.compile(r"(expect\s*[(.]|assert(\.\w+)*\s*\(|t\.(is|deepEqual|true|throws)\()")
_PY_CALLS = re.compile(
    r"(self\.)?assert\w+$|(self|pytest)\.fail\w*$|(pytest\.)?(raises|warns|approx_equal)$"
)
_GO_CALLS = re.compile(r"(t|b|s\.T\(\))\.(Error|Fatal|Fail)\w*|(assert|require|is)\.\w+")
_RUST_MACROS = re.compile(r"(debug_)?assert\w*|panic")


def _in_tree(tree: Tree) -> Iterator[Assertion]:
    waiting: list[tuple[Node, str]] = [(tree.root, "")]
    while waiting:
        node, test = waiting.pop()
        test = _test_name(tree.family, node, test)
        if _is_assertion(tree.family, node):
            yield Assertion(test=test, text=_joined(node), line=node.start_point[0] + 1)
            if tree.family != "python" or node.type != "with_statement":
                continue
        waiting.extend((child, test) for child in reversed(node.children))


def _test_name(family: str, node: Node, outer: str) -> str:
    """The name of the test that begins with a node, or else the one around it."""
    if node.type in ("function_definition", "function_declaration", "function_item"):
        name = text_of(node.child_by_field_name("name"))
        return name if not outer or family != "python" else f"{outer}.{name}"
    if node.type == "class_definition":
        return text_of(node.child_by_field_name("name"))
    if family == "js" and node.type == "call_expression":
        called = text_of(node.child_by_field_name("function"))
        if _TEST_CALLS.fullmatch(called) or _GROUP_CALLS.fullmatch(called):
            arguments = node.child_by_field_name("arguments")
            first = arguments.named_children[0] if arguments and arguments.named_children else None
            name = text_of(first).strip("'\"`")
            return f"{outer} > {name}" if outer else name
    return outer


def _is_assertion(family: str, node: Node) -> bool:
    match family, node.type:
        case "python", "assert_statement":
            return True
        case "python", "call":
            return _PY_CALLS.match(text_of(node.child_by_field_name("function"))) is not None
        case "js", "expression_statement" | "await_expression":
            return _JS_ASSERTS.match(text_of(node).removeprefix("await ").lstrip()) is not None
        case "go", "if_statement":
            body = text_of(node.child_by_field_name("consequence"))
            return re.search(r"\bt\.(Error|Fatal|Fail)", body) is not None
        case "go", "call_expression":
            return _GO_CALLS.fullmatch(text_of(node.child_by_field_name("function"))) is not None
        case "rust", "macro_invocation":
            return _RUST_MACROS.fullmatch(text_of(node.child_by_field_name("macro"))) is not None
        case _:
            return False


def _joined(node: Node) -> str:
    return one_line(" ".join(text_of(node).split()), LONGEST)


# --- by lines ---

_HEADER = re.compile(
    r"^\s*(?:async\s+)?(?:def (?P<py>test\w*)|func (?P<go>Test\w*)|(?:pub )?(?:async )?fn (?P<rs>\w+)"
    r"|(?:it|test|specify)(?:\.\w+)*\(\s*(?P<q>['\"`])(?P<js>.*?)(?P=q))"
)
_ASSERTS = re.compile(
    r"^\s*(?:await )?(assert\b|self\.(assert|fail)\w*\(|expect\s*\(|assert\.|require\.|assert\w*!\("
    r"|with (pytest\.)?raises\(|t\.(Error|Fatal|Fail)\w*\()"
)
_IF = re.compile(r"^\s*if .*\{\s*$")


def in_lines(text: str) -> Iterator[Assertion]:
    """The assertions as far as lines tell; a long one is cut at its first line."""
    test = ""
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if header := _HEADER.match(line):
            test = next(filter(None, (header["py"], header["go"], header["rs"], header["js"])), "")
        is_if = _IF.match(line) and number < len(lines) and _ASSERTS.match(lines[number])
        follows_if = number > 1 and _IF.match(lines[number - 2])
        if is_if or (_ASSERTS.match(line) and not follows_if):
            whole = f"{line} {lines[number]}" if is_if else line
            yield Assertion(test=test, text=one_line(" ".join(whole.split()), LONGEST), line=number)
