"""Reads command lines with tree-sitter's grammar of bash; only what is literal is understood.

What the grammar and a shell could read differently is not literal: expansions, globs, braces,
substitutions, here-documents, assignments, functions, comments, background jobs.
"""

from __future__ import annotations

import re
import shlex
from functools import cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from allstop.core.allowing.policy import Policy, Verdict, of_paths, weigh
from allstop.core.approvals import Ask, Decision
from allstop.core.plain import one_line
from allstop.core.shell_words import MOST_COMMANDS, Line, Redirect, Simple, of_words, unfit

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_SHELL = re.compile(r"(?:/(?:usr/(?:local/)?)?bin/)?(?:ba|z|da|)sh")
_SCRIPT_OPTIONS = frozenset({"-c", "-lc"})

_UNQUOTED = re.compile(r"(?!=)(?:[\w@%+=:,./-]|\\[().*|+?\[\]^$ ])+|!")
_REVISION = re.compile(
    r"(?=[\w@.])(?:[\w@./:+-]|(?<=[\w@}^~])[~^]|(?<=[@^])\{[A-Za-z0-9/-]*\})+", re.ASCII
)
_PATTERN_OPTION = re.compile(r"--(?:include|exclude|exclude-dir)=[\w.*?/-]+", re.ASCII)
"""A glob here can only become more of the same option."""
_TEXTS = (
    "c cc cpp cs css go h hpp html java js jsx kt md mjs php py pyi rb rs rst scss sh sql svelte swift"
    " ts tsx vue"
).replace(" ", "|")
_STEP = r"(?![.-])[\w@+.-]+"
_GLOB = re.compile(
    rf"(?:\./|(?:\./)?{_STEP}/)(?:(?:{_STEP}|\*)/)*(?:{_STEP}|\*[\w.-]*\.(?:{_TEXTS}))", re.ASCII
)
"""Files of folders that are named, so that none can look like an option or be hidden: each is a
text of a kind that holds no secrets, or has a whole name."""
_IN_DOUBLE_QUOTES = re.compile(
    r"""(?:[^\\$`!"]|\\(?![\n!])[\s\S]|\$(?=[)|]|\Z)|!(?=[ =]|\Z))*""",
)
_ESCAPED = re.compile(r"\\(.)")
_ESCAPED_IN_QUOTES = re.compile(r'\\([\\$`"])')

_INSIDE = frozenset({"program", "list", "pipeline", "redirected_statement"})
_JOINTS = {"&&": "&&", "||": "||", "|": "|", ";": ";", "\n": ";"}
_STRING_PARTS = frozenset({'"', "string_content", "$"})
_EXIT_CODE = "$?"
_AFTER_A_WORD = frozenset({b"", b" ", b"\n", b";", b"|", b"&", b"<", b">", b")"})


def parse(text: str) -> Line:
    """Never fails: what can't be understood says why."""
    if why := unfit(text):
        return Line(why=why)
    return _Reading(text.encode()).line()


def check(policy: Policy, text: str) -> Verdict:
    return weigh(policy, parse(text))


def appraise(ask: Ask, policy: Policy) -> Ask:
    """The same, with what the policy says of it; what is no command and no change is for a person."""
    match ask.kind:
        case "command":
            verdict = weigh(policy, _line_of(ask))
        case "edit":
            verdict = of_paths(policy, ask.paths)
        case _:
            verdict = Verdict(decision=Decision.ASK, rule="a question is for a person")
    return replace(ask, verdict=verdict.decision.value, rule=one_line(verdict.rule, 200))


def _line_of(ask: Ask) -> Line:
    """Where words and text are both given they have to mean the same."""
    script = _script(ask.argv)
    if not ask.text:
        return of_words(ask.argv) if script is None else parse(script)
    line = parse(ask.text)
    if not ask.argv or script == ask.text or ask.argv in _split(ask.text):
        return line
    return replace(line, why=line.why or "its words and its text differ")


def _split(text: str) -> list[tuple[str, ...]]:
    """The ways in which agents' drivers take a line apart, operators and all."""
    try:
        return [tuple(text.split()), tuple(shlex.split(text))]
    except ValueError:
        return [tuple(text.split())]


def _script(argv: tuple[str, ...]) -> str | None:
    """Of `bash -lc SCRIPT`, as agents start their commands."""
    if len(argv) == 3 and _SHELL.fullmatch(argv[0]) and argv[1] in _SCRIPT_OPTIONS:
        return argv[2]
    return None


@cache
def _parser() -> Parser:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


class _Reading:
    """One pass over the tree, in the order of the text."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._commands: list[Simple] = []
        self._redirects: list[Redirect] = []
        self._joint = ""
        self._why = ""
        self._seen_to = 0

    def line(self) -> Line:
        root = _parser().parse(self._source).root_node
        if root.has_error:
            self._refuse("it doesn't parse")
        waiting = [root]
        while waiting:
            waiting.extend(reversed(self._take(waiting.pop())))
        self._cover(len(self._source), len(self._source))
        if len(self._commands) > MOST_COMMANDS:
            self._refuse(f"more than {MOST_COMMANDS} commands")
        if not self._commands:
            self._refuse("there is no command")
        return Line(commands=tuple(self._commands), redirects=tuple(self._redirects), why=self._why)

    def _refuse(self, why: str) -> None:
        self._why = self._why or why

    def _cover(self, start: int, end: int) -> None:
        """Whatever lies between two parts is blank, or the grammar has skipped something."""
        if self._source[self._seen_to : start].strip(b" \n"):
            self._refuse("it has parts that are not words")
        self._seen_to = max(self._seen_to, end)

    def _take(self, node: Node) -> list[Node]:
        """What is inside the node and still has to be looked at."""
        kind = node.type
        if kind in _INSIDE:
            return node.children
        self._cover(node.start_byte, node.end_byte)
        if kind in _JOINTS:
            self._joint = _JOINTS[kind]
            return []
        if kind == "command":
            return self._command(node)
        if kind == "file_redirect":
            return self._redirect(node)
        if kind == "test_command" and (words := self._test(node)):
            return self._add(words, is_cut=False)
        self._refuse(f"{kind.replace('_', ' ')} is not literal" if node.is_named else f"has {kind}")
        return node.children

    def _add(
        self, words: tuple[str, ...], *, is_cut: bool, globs: tuple[int, ...] = ()
    ) -> list[Node]:
        command = Simple(words=words, after=self._joint, is_cut=is_cut, globs=globs)
        self._commands.append(command)
        self._joint = ";"
        return []

    def _word(self, node: Node) -> str | None:
        """A word ends where a shell ends it; the grammar splits some that are one."""
        follows = self._source[node.end_byte : node.end_byte + 1]
        if follows not in _AFTER_A_WORD:
            return None
        return _text(node) if _is_glob(node) else _literal(node)

    def _command(self, node: Node) -> list[Node]:
        words: list[str] = []
        globs: list[int] = []
        further: list[Node] = []
        end, is_cut = node.start_byte, False
        for child in node.children:
            named = child.children[0] if child.type == "command_name" else child
            if not is_cut and self._source[end : child.start_byte].strip(b" "):
                self._refuse("it has parts that are not words")
            end = child.end_byte
            if child.type in ("variable_assignment", "file_redirect"):
                further.append(child)
                continue
            word = self._word(named)
            if word is None:
                self._refuse(f"not literal: {_short(named)}")
                further.append(named)
            is_cut = is_cut or word is None
            if word is not None and not is_cut:
                if words and _is_glob(named):
                    globs.append(len(words))
                words.append(word)
        if words:
            self._add(tuple(words), is_cut=is_cut, globs=tuple(globs))
        for inner in further:
            self._seen_to = min(self._seen_to, inner.start_byte)
        return further

    def _test(self, node: Node) -> tuple[str, ...]:
        """`[ -f FILE ]`, nothing else: other tests evaluate what they are given."""
        kinds = [child.type for child in node.children]
        if kinds != ["[", "unary_expression", "]"] or len(node.children[1].children) != 2:
            return ()
        words = [self._word(child) for child in node.children[1].children]
        return ("test", *(word for word in words if word is not None)) if None not in words else ()

    def _redirect(self, node: Node) -> list[Node]:
        kinds = [child.type for child in node.children]
        target = self._word(node.children[-1])
        if kinds[:1] == ["file_descriptor"]:
            descriptor, rest = _text(node.children[0]), node.children[1:]
        else:
            descriptor, rest = "", node.children
        if len(rest) != 2 or target is None:
            self._refuse("a redirect that is not literal")
            return node.children
        self._redirects.append(
            Redirect(operator=_text(rest[0]), target=target, descriptor=descriptor)
        )
        return []


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _short(node: Node) -> str:
    text = _text(node)
    return text if len(text) <= 40 else f"{text[:39]}…"


def _literal(node: Node) -> str | None:
    """The one text that any shell makes of this word."""
    text = _text(node)
    match node.type:
        case "word" | "number" | "test_operator":
            return _unquoted(text)
        case "raw_string":
            return text[1:-1]
        case "string" if all(_is_plain(child) for child in node.children):
            return _double_quoted(_with_exit_code(node)[1:-1])
        case "concatenation":
            return _joined(node, text)
        case _:
            return None


def _is_plain(part: Node) -> bool:
    """Of a string: text, or a number that nobody can choose."""
    return part.type in _STRING_PARTS or _text(part) == _EXIT_CODE


def _with_exit_code(node: Node) -> str:
    """A string's text with a number in the place of each exit code."""
    text, start = node.text or b"", node.start_byte
    for part in reversed(node.children):
        if _text(part) == _EXIT_CODE:
            text = text[: part.start_byte - start] + b"0" + text[part.end_byte - start :]
    return text.decode("utf-8", "replace")


def _is_glob(node: Node) -> bool:
    return node.type == "word" and "*" in _text(node) and bool(_GLOB.fullmatch(_text(node)))


def _unquoted(text: str) -> str | None:
    if _UNQUOTED.fullmatch(text):
        return _ESCAPED.sub(r"\1", text)
    return text if _REVISION.fullmatch(text) or _PATTERN_OPTION.fullmatch(text) else None


def _double_quoted(text: str) -> str | None:
    if _IN_DOUBLE_QUOTES.fullmatch(text):
        return _ESCAPED_IN_QUOTES.sub(r"\1", text)
    return None


def _joined(node: Node, text: str) -> str | None:
    if _REVISION.fullmatch(text):
        return text
    parts = [_literal(child) for child in node.children]
    touching = sum(len(child.text or b"") for child in node.children) == len(node.text or b"")
    return "".join(part or "" for part in parts) if touching and None not in parts else None
