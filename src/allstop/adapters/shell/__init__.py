"""Parses shell command lines with tree-sitter's bash grammar; only literal words are understood.

Patterns of files are replaced by their matches where that is harmless. The script of `bash -c` is
parsed, too, and here-documents in quotes are text.

Not understood: expansions, substitutions, other here-documents, assignments, groups, conditions,
loops, functions, comments, background jobs.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from allstop.adapters.shell.literal_words import exclusion, literal, revision, short, text_of
from allstop.core.asks import BOX, Ask, Decision
from allstop.core.text import one_line
from allstop.policy import command_line
from allstop.policy.file_patterns import is_harmless_pattern
from allstop.policy.policy import Policy, Verdict, evaluate, evaluate_edit

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_SHELL = re.compile(r"(?:/(?:usr/(?:local/)?)?bin/)?(?:ba|z|da|)sh")
_SCRIPT_OPTIONS = frozenset({"-c", "-lc"})

Matches = Callable[[str], tuple[str, ...] | None]

_INSIDE = frozenset({"program", "list", "pipeline", "redirected_statement"})
_OPERATORS = {"&&": "&&", "||": "||", "|": "|", ";": ";", "\n": ";"}
_MAX_DEPTH = 20
_MAX_SCRIPTS = 3
_HERE_DOCUMENT = re.compile(
    r"""(?P<head>[^\n<]*(?<![\d<>&]))<<(?P<quote>['"])(?P<mark>\w+)(?P=quote)(?P<tail>[^\n<]*)\n"""
    r"""(?:[^\n]*\n)*?(?P=mark)(?=\n|\Z)"""
)
_BLANK = re.compile(rb"(?: +(?:\\\n *)*)?")
"""Between words; a line continuation has a blank before its backslash."""
_BETWEEN = re.compile(rb"[ \n]*(?: (?:\\\n[ \n]*)+)*")
_CHANGES_FOLDER = frozenset({"cd", "pushd", "popd", "chdir"})
_GLOBS = frozenset({"-g", "--glob", "--iglob"})
_AFTER_A_WORD = frozenset({b"", b" ", b"\n", b";", b"|", b"&", b"<", b">", b")"})


def parse(text: str, matches: Matches | None = None, depth: int = 0) -> command_line.CommandLine:
    """Parse a command line. Never fails: `why` says if something isn't understood.

    `matches` lists the files that match a pattern where the line starts.
    """
    if why := command_line.unsafe_text_reason(text):
        return command_line.CommandLine(why=why)
    if line := _with_here_document(text, matches, depth):
        return line
    return _LineParser(text.encode(), matches, depth).line()


def _with_here_document(
    text: str, matches: Matches | None, depth: int
) -> command_line.CommandLine | None:
    """Parse a line with a here-document in quotes; None if it isn't one, or not a literal one.

    A file of a name that the text doesn't contain takes its place, so that the parser proves that
    a shell sees a here-document there, and not a part of a word or of a comment.
    """
    found = _HERE_DOCUMENT.match(text)
    if not found:
        return None
    name = next(name for number in range(len(text)) if (name := f"text{number}") not in text)
    rest = f"{found['head']}<{name}{found['tail']}{text[found.end() :]}"
    line = _LineParser(rest.encode(), matches, depth).line()
    stands = command_line.Redirect(operator="<", target=name)
    if line.why or line.redirects.count(stands) != 1 or name in str(line.commands):
        return None
    others = tuple(each for each in line.redirects if each != stands)
    return replace(line, redirects=others)


def check(policy: Policy, text: str) -> Verdict:
    return evaluate(policy, parse(text, policy.matches))


def appraise(ask: Ask, policy: Policy) -> Ask:
    """Add the policy's verdict to an ask. A person answers questions.

    Other tools than commands and edits are judged by the sandbox alone.
    """
    policy = replace(policy, within=policy.within or ask.within)
    match ask.kind:
        case "command":
            verdict = evaluate(policy, _line_of(ask, policy.matches))
        case "edit":
            verdict = evaluate_edit(policy, ask.paths)
        case "tool" if policy.within:
            verdict = Verdict(decision=Decision.ALLOW, rule=BOX)
        case _:
            verdict = Verdict(decision=Decision.ASK, rule="a question is for a person")
    return replace(ask, verdict=verdict.decision.value, rule=one_line(verdict.rule, 200))


def _line_of(ask: Ask, matches: Matches | None) -> command_line.CommandLine:
    """Parse the command of an ask; if both words and text are given, they must mean the same."""
    script = _script(ask.argv)
    if not ask.text:
        return command_line.line_from_words(ask.argv) if script is None else parse(script, matches)
    line = parse(ask.text, matches)
    if not ask.argv or script == ask.text or ask.argv in _split(ask.text):
        return line
    return replace(line, why=line.why or "its words and its text differ")


def _split(text: str) -> list[tuple[str, ...]]:
    """Return the ways in which agents' drivers split a line."""
    try:
        return [tuple(text.split()), tuple(shlex.split(text))]
    except ValueError:
        return [tuple(text.split())]


def _script(argv: tuple[str, ...]) -> str | None:
    """Return the script of `bash -lc SCRIPT`, as agents start their commands."""
    if len(argv) == 3 and _SHELL.fullmatch(argv[0]) and argv[1] in _SCRIPT_OPTIONS:
        return argv[2]
    return None


@cache
def _parser() -> Parser:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


class _LineParser:
    """One pass over the syntax tree, in the order of the text."""

    def __init__(self, source: bytes, matches: Matches | None, scripts: int) -> None:
        self._source = source
        self._matches = matches
        self._scripts = scripts
        self._commands: list[command_line.SimpleCommand] = []
        self._redirects: list[command_line.Redirect] = []
        self._operator = ""
        self._depth = 0
        self._words = 0
        self._why = ""
        self._covered_to = 0

    def line(self) -> command_line.CommandLine:
        root = _parser().parse(self._source).root_node
        if root.has_error:
            self._refuse("it doesn't parse")
        self._walk(root)
        self._cover(len(self._source), len(self._source))
        if len(self._commands) > command_line.MAX_COMMANDS:
            self._refuse(f"more than {command_line.MAX_COMMANDS} commands")
        if why := command_line.too_many_words(self._words):
            self._refuse(why)
        if not self._commands:
            self._refuse("there is no command")
        return command_line.CommandLine(
            commands=tuple(self._commands), redirects=tuple(self._redirects), why=self._why
        )

    def _walk(self, node: Node) -> None:
        waiting = [node]
        while waiting:
            waiting.extend(reversed(self._take(waiting.pop())))

    def _within(self, node: Node) -> None:
        """Walk a part of a command that was taken as a whole."""
        if self._depth == _MAX_DEPTH:
            self._refuse("it is too deep")
            return
        seen_to, self._covered_to = self._covered_to, node.start_byte
        self._depth += 1
        self._walk(node)
        self._cover(node.end_byte, node.end_byte)
        self._depth -= 1
        self._covered_to = seen_to

    def _refuse(self, why: str) -> None:
        self._why = self._why or why

    def _cover(self, start: int, end: int) -> None:
        """Check that only blanks lie between two parts; else the grammar has skipped something."""
        if not _BETWEEN.fullmatch(self._source, self._covered_to, max(start, self._covered_to)):
            self._refuse("it has parts that are not words")
        self._covered_to = max(self._covered_to, end)

    def _take(self, node: Node) -> list[Node]:
        """Handle a node; returns the inner nodes to handle next."""
        kind = node.type
        if kind in _INSIDE:
            return node.children
        self._cover(node.start_byte, node.end_byte)
        if kind in _OPERATORS:
            self._operator = _OPERATORS[kind]
            return []
        if kind == "command":
            return self._command(node)
        if kind == "file_redirect":
            return self._redirect(node)
        if kind == "test_command" and (words := self._test(node)):
            return self._add(words, is_cut=False)
        self._refuse(f"{kind.replace('_', ' ')} is not literal" if node.is_named else f"has {kind}")
        return node.children

    def _add(self, words: tuple[str, ...], *, is_cut: bool) -> list[Node]:
        self._words += len(words)
        command = command_line.SimpleCommand(
            words=words[: command_line.MAX_WORDS],
            after=self._operator,
            is_cut=is_cut or len(words) > command_line.MAX_WORDS,
            script=None if is_cut else self._script(words),
        )
        self._commands.append(command)
        self._operator = ";"
        return []

    def _script(self, words: tuple[str, ...]) -> command_line.CommandLine | None:
        script = _script(words) if self._scripts < _MAX_SCRIPTS else None
        return None if script is None else parse(script, self._at_start(), self._scripts + 1)

    def _at_start(self) -> Matches | None:
        """Patterns have known matches only in the folder where the line starts."""
        has_left = any(command.words[0] in _CHANGES_FOLDER for command in self._commands)
        return None if has_left else self._matches

    def _files(self, words: list[str], node: Node) -> tuple[str, ...]:
        """Return the files that match a word, if all shells agree on them; else none."""
        matches = self._at_start()
        pattern = text_of(node)
        is_whole = self._source[node.end_byte : node.end_byte + 1] in _AFTER_A_WORD
        if matches is None or not is_whole or node.type not in ("word", "concatenation"):
            return ()
        return (matches(pattern) or ()) if is_harmless_pattern(tuple(words), pattern) else ()

    def _word(self, node: Node, *, is_of_git: bool = False) -> str | None:
        """Return a literal word; None if the grammar ended it before a shell would."""
        follows = self._source[node.end_byte : node.end_byte + 1]
        if follows not in _AFTER_A_WORD:
            return None
        word = literal(node)
        return revision(node) if word is None and is_of_git else word

    def _command(self, node: Node) -> list[Node]:
        words: list[str] = []
        further: list[Node] = []
        end, is_cut = node.start_byte, False
        for child in node.children:
            named = child.children[0] if child.type == "command_name" else child
            if not is_cut and not _BLANK.fullmatch(self._source, end, child.start_byte):
                self._refuse("it has parts that are not words")
            end = child.end_byte
            if child.type in ("variable_assignment", "file_redirect"):
                further.append(child)
                continue
            word = self._word(named, is_of_git=words[:1] == ["git"])
            if word is None and words and words[-1] in _GLOBS:
                word = exclusion(named)
            if word is None and words and not is_cut and (files := self._files(words, named)):
                words.extend(files)
                continue
            if word is None:
                self._refuse(f"not literal: {short(named)}")
                further.append(named)
            is_cut = is_cut or word is None
            if word is not None and not is_cut:
                words.append(word)
        if words:
            self._add(tuple(words), is_cut=is_cut)
        for inner in further:
            self._within(inner)
        return []

    def _test(self, node: Node) -> tuple[str, ...]:
        """Accept only `[ -f FILE ]`: other tests evaluate their arguments."""
        kinds = [child.type for child in node.children]
        if kinds != ["[", "unary_expression", "]"] or len(node.children[1].children) != 2:
            return ()
        words = [self._word(child) for child in node.children[1].children]
        return ("test", *(word for word in words if word is not None)) if None not in words else ()

    def _redirect(self, node: Node) -> list[Node]:
        kinds = [child.type for child in node.children]
        target = self._word(node.children[-1])
        if kinds[:1] == ["file_descriptor"]:
            descriptor, rest = text_of(node.children[0]), node.children[1:]
        else:
            descriptor, rest = "", node.children
        if len(rest) != 2 or target is None:
            self._refuse("a redirect that is not literal")
            return node.children
        self._redirects.append(
            command_line.Redirect(operator=text_of(rest[0]), target=target, descriptor=descriptor)
        )
        return []
