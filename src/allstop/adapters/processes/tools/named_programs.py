"""The programs that a shell command line names."""

import re
import shlex
from collections.abc import Iterator

_ENDS = frozenset({";", "&", "&&", "|", "||", "|&", "(", ")", "\n", ";;"})
_KEYWORDS = frozenset({"!", "{", "}", "if", "then", "elif", "else", "while", "until", "do", "time"})
_STARTERS = frozenset({
    "command", "doas", "env", "exec", "ionice", "nice", "nohup", "setsid", "stdbuf", "sudo",
    "timeout", "xargs", "xvfb-run",
})  # fmt: skip
_SHELLS = frozenset({"sh", "bash", "dash", "zsh"})
_BUILTINS = frozenset({
    "alias", "break", "case", "cd", "command", "continue", "done", "echo", "esac", "eval", "exec",
    "exit", "export", "false", "fi", "for", "function", "local", "printf", "pwd", "read", "return",
    "set", "shift", "source", "test", "trap", "true", "type", "ulimit", "umask", "unset", "wait",
})  # fmt: skip
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=.*", re.DOTALL)
_NUMBER = re.compile(r"\d+(?:\.\d+)?[smhd]?")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
MAX_DEPTH = 3


def named_programs(line: str) -> tuple[str, ...]:
    """The names of programs in a command line, without paths, builtins and names in variables.

    Programs behind others that only start them, such as `timeout` and `sh -c`, are included.
    """
    return tuple(dict.fromkeys(_names(line, MAX_DEPTH)))


def _names(line: str, depth: int) -> Iterator[str]:
    for command in _commands(line):
        yield from _of_command(command, depth)


def _commands(line: str) -> Iterator[list[str]]:
    words: list[str] = []
    for word in (*_split(line), ";"):
        if word in _ENDS:
            yield words
            words = []
        else:
            words.append(word)


def _split(line: str) -> list[str]:
    lexer = shlex.shlex(line.replace("\\\n", " "), posix=True, punctuation_chars=";&|()\n")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = "#"
    try:
        return list(lexer)
    except ValueError:  # an open quote
        return line.split()


def _of_command(words: list[str], depth: int) -> Iterator[str]:
    at_start = True
    for index, word in enumerate(words):
        if _ASSIGNMENT.fullmatch(word) or word in _KEYWORDS:
            continue
        if not at_start and (word.startswith("-") or _NUMBER.fullmatch(word)):
            continue
        if _NAME.fullmatch(word) and word not in _BUILTINS:
            yield word
        if depth and word.rpartition("/")[2] in _SHELLS:
            yield from _names(_script(words[index + 1 :]), depth - 1)
        if word not in _STARTERS:
            return
        at_start = False


def _script(arguments: list[str]) -> str:
    """The script of `sh -c SCRIPT`."""
    option, script = (*arguments, "", "")[:2]
    return script if re.fullmatch("-[a-z]*c", option) else ""
