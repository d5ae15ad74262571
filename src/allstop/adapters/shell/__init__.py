"""Reads command lines with tree-sitter's grammar of bash; only what is literal is understood.

What is not: expansions, substitutions, here-documents, most assignments, functions, background jobs.
Groups, conditions and loops over literal words are as good as their commands one after the other.
"""

from __future__ import annotations

import re
import shlex
from functools import cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from allstop.adapters.shell.literals import (
    is_glob,
    literal,
    may_be_options,
    may_be_secrets,
    short,
    text_of,
)
from allstop.adapters.shell.loops import unroll
from allstop.core.allowing.policy import Policy, Verdict, matches, of_paths, weigh
from allstop.core.approvals import Ask, Decision
from allstop.core.plain import one_line
from allstop.core.shell_words import (
    MOST_COMMANDS,
    MOST_WORDS,
    Line,
    Redirect,
    Simple,
    of_words,
    too_many,
    unfit,
)

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_SHELL = re.compile(r"(?:/(?:usr/(?:local/)?)?bin/)?(?:ba|z|da|)sh")
_SCRIPT_OPTIONS = frozenset({"-c", "-lc"})

_INSIDE = frozenset(
    {
        "program",
        "list",
        "pipeline",
        "redirected_statement",
        "negated_command",
        "subshell",
        "compound_statement",
        "if_statement",
        "elif_clause",
        "else_clause",
        "process_substitution",
    }
)
_EDGES = frozenset({"<(", "(", ")", "{", "}", "if", "then", "elif", "else", "fi"})
_JOINTS = {"&&": "&&", "||": "||", "|": "|", ";": ";", "\n": ";"}
_DEEPEST = 20
_HARMLESS = re.compile(
    "(?:CI|NO_COLOR|FORCE_COLOR|CLICOLOR|CARGO_TERM_COLOR|LC_ALL|LC_CTYPE|LANG|TZ|COLUMNS|TERM|NODE_ENV"
    "|RUST_BACKTRACE|PYTHONDONTWRITEBYTECODE|PYTHONUNBUFFERED|CGO_ENABLED|GIT_OPTIONAL_LOCKS"
    r"|GIT_TERMINAL_PROMPT)=(?!\.)[\w.-]*|(?:GIT_|MAN)?PAGER=cat",
    re.ASCII,
)
"""Assignments before a command that can only change how its output looks."""
_OUTPUT = "/dev/stdin"
"""In the place of another command's output."""
_AFTER_A_WORD = frozenset({b"", b" ", b"\n", b";", b"|", b"&", b"<", b">", b")"})


def parse(text: str) -> Line:
    """Never fails: what can't be understood says why."""
    if why := unfit(text):
        return Line(why=why)
    return _Reading(text.encode()).line()


def check(policy: Policy, text: str) -> Verdict:
    return weigh(policy, _read(policy, text))


def _read(policy: Policy, text: str) -> Line:
    """What a shell is given as a script is read too, unless a rule is about that shell."""
    line = parse(text)
    if line.why or line.redirects or len(line.commands) != 1:
        return line
    command = line.commands[0]
    script = _script(command.words)
    strict = (rule for rule in policy.rules if rule.decision is not Decision.ALLOW)
    if script is None or any(matches(rule, command) for rule in strict):
        return line
    return parse(script)


def appraise(ask: Ask, policy: Policy) -> Ask:
    """The same, with what the policy says of it; what is no command and no change is for a person."""
    match ask.kind:
        case "command":
            verdict = weigh(policy, _line_of(ask, policy))
        case "edit":
            verdict = of_paths(policy, ask.paths)
        case _:
            verdict = Verdict(decision=Decision.ASK, rule="a question is for a person")
    return replace(ask, verdict=verdict.decision.value, rule=one_line(verdict.rule, 200))


def _line_of(ask: Ask, policy: Policy) -> Line:
    """Where words and text are both given they have to mean the same."""
    script = _script(ask.argv)
    if not ask.text:
        return of_words(ask.argv) if script is None else parse(script)
    line = _read(policy, ask.text)
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
        self._is_afresh = False
        self._is_negated = False
        self._depth = 0
        self._words = 0
        self._why = ""
        self._seen_to = 0

    def line(self) -> Line:
        root = _parser().parse(self._source).root_node
        if root.has_error:
            self._refuse("it doesn't parse")
        self._walk(root)
        self._cover(len(self._source), len(self._source))
        if len(self._commands) > MOST_COMMANDS:
            self._refuse(f"more than {MOST_COMMANDS} commands")
        if why := too_many(self._words):
            self._refuse(why)
        if not self._commands:
            self._refuse("there is no command")
        return Line(commands=tuple(self._commands), redirects=tuple(self._redirects), why=self._why)

    def _walk(self, node: Node) -> None:
        waiting = [node]
        while waiting:
            waiting.extend(reversed(self._take(waiting.pop())))

    def _within(self, node: Node) -> None:
        """A part of a command that was taken as a whole."""
        if self._depth == _DEEPEST:
            self._refuse("it is too deep")
            return
        seen_to, self._seen_to = self._seen_to, node.start_byte
        self._depth += 1
        self._walk(node)
        self._cover(node.end_byte, node.end_byte)
        self._depth -= 1
        self._seen_to = seen_to

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
        if kind in _EDGES:
            self._is_afresh = True
            return []
        if kind == "!":
            self._is_negated = True
            return []
        if (kind == "comment" and self._is_apart(node)) or _is_harmless(node):
            return []
        if kind == "for_statement" and (unrolled := unroll(node)):
            return self._several(_Reading(unrolled).line())
        if kind == "command":
            return self._command(node)
        if kind == "file_redirect":
            return self._redirect(node)
        if kind == "test_command" and (words := self._test(node)):
            return self._add(words, is_cut=False)
        self._refuse(f"{kind.replace('_', ' ')} is not literal" if node.is_named else f"has {kind}")
        return node.children

    def _is_apart(self, comment: Node) -> bool:
        """Begins a line, or follows a blank that is not a part of a word."""
        before = self._source[: comment.start_byte]
        return not before or before.endswith(b"\n") or bool(re.search(rb"[^\\] $", before))

    def _several(self, line: Line) -> list[Node]:
        """What was read elsewhere takes its place here."""
        self._commands += [replace(command, is_afresh=True) for command in line.commands]
        self._redirects += line.redirects
        if line.why:
            self._refuse(line.why)
        self._joint, self._is_afresh = ";", True
        return []

    def _add(
        self, words: tuple[str, ...], *, is_cut: bool, globs: tuple[int, ...] = ()
    ) -> list[Node]:
        self._words += len(words)
        if self._is_negated and words[0] == "cd":
            self._refuse("nobody knows where it leads")
        patterns = [words[place] for place in globs]
        command = Simple(
            words=words[:MOST_WORDS],
            after=self._joint,
            is_afresh=self._is_afresh,
            is_cut=is_cut or len(words) > MOST_WORDS,
            globs=globs if len(words) <= MOST_WORDS else (),
            may_be_options=any(map(may_be_options, patterns)),
            may_be_secrets=any(map(may_be_secrets, patterns)),
        )
        self._commands.append(command)
        self._joint, self._is_afresh, self._is_negated = ";", False, False
        return []

    def _word(self, node: Node) -> str | None:
        """A word ends where a shell ends it; the grammar splits some that are one."""
        follows = self._source[node.end_byte : node.end_byte + 1]
        if follows not in _AFTER_A_WORD:
            return None
        return text_of(node) if is_glob(node) else literal(node)

    def _word_or_output(self, node: Node) -> str | None:
        """Another command's output is as harmless as that command."""
        if node.type != "process_substitution":
            return self._word(node)
        joint = self._joint
        self._within(node)
        self._joint, self._is_afresh = joint, True
        return _OUTPUT

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
            word = self._word_or_output(named)
            if word is None:
                self._refuse(f"not literal: {short(named)}")
                further.append(named)
            is_cut = is_cut or word is None
            if word is not None and not is_cut:
                if words and is_glob(named):
                    globs.append(len(words))
                words.append(word)
        if words:
            self._add(tuple(words), is_cut=is_cut, globs=tuple(globs))
        for inner in further:
            self._within(inner)
        return []

    def _test(self, node: Node) -> tuple[str, ...]:
        """`[ -f FILE ]`, nothing else: other tests evaluate what they are given."""
        kinds = [child.type for child in node.children]
        if kinds != ["[", "unary_expression", "]"] or len(node.children[1].children) != 2:
            return ()
        if is_glob(node.children[1].children[1]):
            return ()  # a name could be an operator
        words = [self._word(child) for child in node.children[1].children]
        return ("test", *(word for word in words if word is not None)) if None not in words else ()

    def _redirect(self, node: Node) -> list[Node]:
        kinds = [child.type for child in node.children]
        named = node.children[-1]
        target = None if is_glob(named) else self._word_or_output(named)
        if kinds[:1] == ["file_descriptor"]:
            descriptor, rest = text_of(node.children[0]), node.children[1:]
        else:
            descriptor, rest = "", node.children
        if len(rest) != 2 or target is None:
            self._refuse("a redirect that is not literal")
            return node.children
        self._redirects.append(
            Redirect(operator=text_of(rest[0]), target=target, descriptor=descriptor)
        )
        return []


def _is_harmless(node: Node) -> bool:
    """An assignment before a command, for that command only."""
    if node.type != "variable_assignment" or not _HARMLESS.fullmatch(text_of(node)):
        return False
    return node.parent is not None and node.parent.type == "command"
