"""Mutants: product code with one changed line broken on purpose. A test should notice each."""

import re
from collections.abc import Collection, Iterator, Sequence
from difflib import SequenceMatcher

from msgspec import Struct
from tree_sitter import Node

from allstop.core.text import one_line
from allstop.gate.facts import ChangedFile
from allstop.gate.path_kinds import is_code, is_test, is_test_material
from allstop.gate.syntax import Tree, lacks_grammar, nodes, parse, text_of

MOST = 25
LONGEST = 120
ODD_NUMBER = "7919"
"""No expected value is likely to equal it."""


class Mutant(Struct, frozen=True, gc=False, kw_only=True):
    path: str
    line: int
    old: str
    new: str
    text: str  # of the whole file

    @property
    def words(self) -> str:
        return f"{self.old} → {self.new}"


def mutants(changes: Sequence[ChangedFile], most: int = MOST) -> tuple[Mutant, ...]:
    """The mutants of the changed lines, at most so many: spread over the files and the lines."""
    by_line = [line for change in changes if _is_product(change) for line in _of_file(change)]
    chosen: list[Mutant] = []
    for turn in range(max(map(len, by_line), default=0)):
        chosen += [line[turn] for line in by_line if turn < len(line)]
    return tuple(_spread(chosen, most))


def without_grammar(changes: Sequence[ChangedFile]) -> tuple[str, ...]:
    """The changed product files that can't be mutated before the extra `gate` is installed."""
    return tuple(each.path for each in changes if _is_product(each) and lacks_grammar(each.path))


def _spread(found: Sequence[Mutant], most: int) -> Sequence[Mutant]:
    if len(found) <= most:
        return found
    return [found[number * len(found) // most] for number in range(most)]


def _is_product(change: ChangedFile) -> bool:
    path = change.path
    has_text = change.is_readable and bool(change.after)
    return has_text and is_code(path) and not is_test(path) and not is_test_material(path)


def changed_lines(before: str, after: str) -> frozenset[int]:
    """The numbers of the new and changed lines, counted from 1."""
    old, new = before.splitlines(), after.splitlines()
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return frozenset(n + 1 for kind, _, _, a, b in blocks if kind != "equal" for n in range(a, b))


def _of_file(change: ChangedFile) -> list[list[Mutant]]:
    """The mutants of each changed line, the most telling first."""
    tree = parse(change.path, change.after or "")
    if tree is None:
        return []
    lines = changed_lines(change.before or "", change.after or "")
    found: dict[int, list[tuple[int, Mutant]]] = {}
    for node in nodes(tree.root):
        number = node.start_point[0] + 1
        if number not in lines or _is_in_rust_test(tree, node):
            continue
        for rank, place, new in _broken(tree, node):
            mutant = _mutant(change.path, tree, place, new)
            if mutant is not None:
                found.setdefault(number, []).append((rank, mutant))
    return [[each for _, each in sorted(found[n], key=lambda it: it[0])] for n in sorted(found)]


def _mutant(path: str, tree: Tree, place: Node, new: str) -> Mutant | None:
    old = text_of(place)
    if old == new:
        return None
    source = tree.source
    mutated = source[: place.start_byte] + new.encode() + source[place.end_byte :]
    return Mutant(
        path=path,
        line=place.start_point[0] + 1,
        old=one_line(" ".join(old.split()), LONGEST),
        new=one_line(new, LONGEST),
        text=mutated.decode("utf-8", "replace"),
    )


def _is_in_rust_test(tree: Tree, node: Node) -> bool:
    """Whether it is part of a module of tests, which Rust keeps in the file of the product."""
    above: Node | None = node if tree.family == "rust" else None
    while above is not None:
        if above.type in ("mod_item", "function_item") and _is_for_tests(above.prev_named_sibling):
            return True
        above = above.parent
    return False


def _is_for_tests(attribute: Node | None) -> bool:
    is_one = attribute is not None and attribute.type == "attribute_item"
    return is_one and re.search(r"\btest\b", text_of(attribute)) is not None


# --- operators ---

Broken = Iterator[tuple[int, Node, str]]

_OPPOSITE = {
    "==": "!=", "!=": "==", "===": "!==", "!==": "===", "<": ">=", ">=": "<", ">": "<=", "<=": ">",
    "and": "or", "or": "and", "&&": "||", "||": "&&", "+": "-", "-": "+", "*": "+", "/": "*",
    "//": "*", "%": "*", "is": "is not", "+=": "-=", "-=": "+=",
}  # fmt: skip
_BINARY = frozenset(
    {
        "binary_expression",
        "binary_operator",
        "boolean_operator",
        "comparison_operator",
        "augmented_assignment",
        "augmented_assignment_expression",
        "compound_assignment_expr",
    }
)
_BOOLEANS = {"True": "False", "False": "True", "true": "false", "false": "true"}
_NUMBERS = frozenset(
    {"integer", "float", "number", "int_literal", "float_literal", "integer_literal"}
)
_NUMERIC = re.compile(
    r"(u?int(8|16|32|64)?|float(32|64)|[iu](8|16|32|64|128|size)|f(32|64)|rune|byte)"
)
_TEXTS = {"string": '"mutant"', "String": '"mutant".to_string()', "&str": '"mutant"'}


def _broken(tree: Tree, node: Node) -> Broken:
    """The ways to break one node: the rank of each, the node to replace, and the new text."""
    if node.type in ("return_statement", "return_expression", "arrow_function"):
        yield from _other_return(tree.family, node)
    elif node.type == "function_item":
        yield from _other_tail(node)
    elif node.type in ("if_statement", "if_expression", "conditional_expression"):
        yield from _negated(tree.family, node)
    elif node.type in _BINARY:
        operator = next((child for child in node.children if text_of(child) in _OPPOSITE), None)
        if operator is not None and not _joins_texts(node, text_of(operator)):
            yield 2, operator, _OPPOSITE[text_of(operator)]
    elif text_of(node) in _BOOLEANS and node.type.lower() in ("true", "false", "boolean_literal"):
        yield 3, node, _BOOLEANS[text_of(node)]
    elif node.type in _NUMBERS:
        yield 3, node, _next_number(text_of(node))
    elif node.type == "expression_statement" and _is_call(node):
        yield 4, node, {"python": "pass"}.get(tree.family, "" if tree.family == "go" else ";")


def _is_call(node: Node) -> bool:
    inner = node.named_children[0] if len(node.named_children) == 1 else None
    return inner is not None and inner.type in ("call", "call_expression", "await_expression")


def _joins_texts(node: Node, operator: str) -> bool:
    """Whether a plus joins texts, where a minus would only be an error."""
    kinds = ("string", "template_string", "interpreted_string_literal", "string_literal")
    return operator == "+" and any(child.type in kinds for child in node.named_children)


def _next_number(text: str) -> str:
    plain = re.fullmatch(r"\d+", text)
    return str(int(text) + 1) if plain else ODD_NUMBER if re.search(r"[1-9]", text) else "1"


def _other_return(family: str, node: Node) -> Broken:
    """Return something else: the only operator that notices code made for the tests."""
    if node.type == "arrow_function":
        body = node.child_by_field_name("body")
        if body is not None and body.type != "statement_block":
            yield 0, body, "undefined"
        return
    value = node.named_children[0] if node.named_children else None
    if value is None:
        return
    match family:
        case "python":
            yield 0, value, ODD_NUMBER if text_of(value) in ("None", "True", "False") else "None"
        case "js":
            is_nothing = text_of(value) in ("undefined", "null", "true", "false")
            yield 0, value, ODD_NUMBER if is_nothing else "undefined"
        case "go":
            if value.type == "expression_list" and len(value.named_children) != 1:
                return
            if other := _of_type(_result_type(node, "function_declaration", "result"), value):
                yield 0, value, other
        case _:
            if other := _of_type(_result_type(node, "function_item", "return_type"), value):
                yield 0, value, other


def _other_tail(function: Node) -> Broken:
    """The last expression of a Rust function is what it returns."""
    body = function.child_by_field_name("body")
    tail = body.named_children[-1] if body is not None and body.named_children else None
    if tail is None or tail.type.endswith(("_statement", "_item", "_declaration", "comment")):
        return
    kind = text_of(function.child_by_field_name("return_type"))
    if other := _of_type(kind, tail):
        yield 0, tail, other


def _result_type(node: Node, function: str, field: str) -> str:
    above = node.parent
    while above is not None and above.type not in (function, "method_declaration", "func_literal"):
        above = above.parent
    return text_of(above.child_by_field_name(field)) if above is not None else ""


def _of_type(kind: str, value: Node) -> str:
    """Another value of this type of Go or Rust; "" if there is no simple one."""
    if kind == "bool":
        return f"!({text_of(value)})"
    if _NUMERIC.fullmatch(kind):
        return "113" if kind in ("int8", "uint8", "i8", "u8", "byte") else ODD_NUMBER
    return _TEXTS.get(kind, "nil" if kind.startswith(("*", "[]", "map[")) else "")


def _negated(family: str, node: Node) -> Broken:
    condition = node.child_by_field_name("condition")
    if condition is None:
        return
    text = text_of(condition)
    if condition.type == "parenthesized_expression":
        yield 1, condition, f"(!{text})"
    elif family == "python":
        yield 1, condition, f"not ({text})"
    elif not text.startswith("let "):
        yield 1, condition, f"!({text})"


def survivor_lines(survivors: Collection[Mutant]) -> tuple[str, ...]:
    """One line for each mutant that no test noticed."""
    return tuple(
        f"{each.path}:{each.line} {each.words}"
        for each in sorted(survivors, key=lambda each: (each.path, each.line))
    )
