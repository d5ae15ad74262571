"""The policy's verdict on a command or an edit: allow, ask or deny, and the rule that decided."""

import re
from collections.abc import Callable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from allstop.core.asks import BOX, Decision, Rule, strictness
from allstop.policy.command_line import CommandLine, Redirect, SimpleCommand, word_set
from allstop.policy.denied import (
    INTERPRETERS,
    WRAPPERS,
    denied,
    denied_line,
    denied_redirect,
    name_of,
    wrapped_commands,
)
from allstop.policy.git import git
from allstop.policy.guarded_files import guard_reason
from allstop.policy.options import MISSING_ARGUMENT, MISSING_VALUE
from allstop.policy.paths import (
    HARMLESS_DEVICES,
    MAX_FOLDERS,
    PathScope,
    Steps,
    never_escapes,
    resolve,
    unreadable_reason,
)
from allstop.policy.read_only import check_read_only

Words = tuple[str, ...]

SCRATCH = "/tmp"  # noqa: S108 - a box has its own


class Policy(Struct, frozen=True, kw_only=True):
    workspace: str
    """The absolute path of the folder that an agent may read and change."""
    folder: str = "."
    """The folder in it in which commands start."""
    rules: tuple[Rule, ...] = ()
    within: bool = False
    """The sandbox allows everything that no rule denies."""
    escapes: Callable[[str], bool] = never_escapes
    """Whether links in a path within the workspace lead out of it."""
    matches: Callable[[str], Words | None] | None = None
    """The files that match a pattern in the folder; None if they can't be told."""

    def where(self) -> PathScope:
        scratch = SCRATCH if self.within else ""
        return PathScope(
            root=self.workspace,
            folders=(self.start(),),
            scratch=scratch,
            escapes=self.escapes,
        )

    def start(self) -> Steps:
        return resolve(self.folder, self.workspace) or ()


class Verdict(Struct, frozen=True, gc=False, kw_only=True):
    decision: Decision
    rule: str
    """The name of the rule, or why there is none."""
    part: str = ""
    """The part of the line that decided."""
    own: bool = False
    """Whether it is a person's rule."""


def evaluate(policy: Policy, line: CommandLine) -> Verdict:
    """The strictest verdict on any part of the line; the first of equally strict ones."""
    verdicts = _verdicts(policy, line, policy.where())
    said = [_in_sandbox(policy, verdict) for verdict in verdicts]
    worst = max(said, key=lambda verdict: strictness(verdict.decision))
    if worst.decision is not Decision.ALLOW:
        return worst
    if BOX in (verdict.rule for verdict in said):  # no rule allows the whole of it
        return Verdict(decision=Decision.ALLOW, rule=BOX, part=worst.part)
    names = ", ".join(dict.fromkeys(verdict.rule for verdict in said))
    return Verdict(decision=Decision.ALLOW, rule=names, part=worst.part)


def _in_sandbox(policy: Policy, verdict: Verdict) -> Verdict:
    if not policy.within or verdict.own or verdict.decision is not Decision.ASK:
        return verdict
    return Verdict(decision=Decision.ALLOW, rule=BOX, part=verdict.part)


def _verdicts(policy: Policy, line: CommandLine, start: PathScope) -> Iterator[Verdict]:
    where = everywhere = start
    if why := denied_line(line):
        yield Verdict(decision=Decision.DENY, rule=f"never: {why}")
    for place, command in enumerate(line.commands):
        if command.after not in ("&&", "|"):
            where = everywhere
        reads_stdin = start.reads_stdin or command.after == "|"
        yield from _of_command(policy, command, replace(where, reads_stdin=reads_stdin))
        following = line.commands[place + 1].after if place + 1 < len(line.commands) else ""
        where = _after_cd(command, where, following)
        folders = dict.fromkeys((*everywhere.folders, *where.folders))
        everywhere = replace(everywhere, folders=tuple(folders))
    for redirect in line.redirects:
        yield from _of_redirect(redirect, everywhere)
    if line.why or not line.commands:
        yield Verdict(decision=Decision.ASK, rule=line.why or "there is no command")


def _of_command(policy: Policy, command: SimpleCommand, where: PathScope) -> Iterator[Verdict]:
    part = " ".join(command.words)
    if why := denied(command.words, where):
        yield Verdict(decision=Decision.DENY, rule=f"never: {why}", part=part)
    matching = [rule for rule in policy.rules if matches(rule, command, where)]
    for rule in matching:
        yield Verdict(decision=rule.decision, rule=describe_rule(rule), part=part, own=True)
    if command.script:
        yield from _verdicts(policy, command.script, where)
        return
    name, why = _built_in(command.words, where, policy.start())
    if not why:
        yield Verdict(decision=Decision.ALLOW, rule=f"built-in: {name}", part=part)
    elif command.is_cut and why in (MISSING_VALUE, MISSING_ARGUMENT):
        return  # the verdict on the line names the unknown words
    elif not any(rule.decision is Decision.ALLOW for rule in matching):
        yield Verdict(decision=Decision.ASK, rule=f"{name}: {why}", part=part)


def describe_rule(rule: Rule) -> str:
    said = f"{rule.decision} {' '.join(rule.prefix)}"
    name = f"{rule.name}: {said}" if rule.name else said
    return f"{name} ({rule.why})" if rule.why else name


def _built_in(words: Words, where: PathScope, start: Steps) -> tuple[str, str]:
    """The command's name on the built-in lists, and why it needs permission; "" if it doesn't."""
    name, rest = words[0], words[1:]
    if name == "git":
        if not {(), start}.issuperset(where.folders):
            return "git", "another folder can have its own git settings"
        return git(rest, where)
    if name == "cd":
        return "cd", _cd(rest, where)
    return check_read_only(words, where)


def _cd(words: Words, where: PathScope) -> str:
    if len(words) != 1 or words[0].startswith("-") or not words[0]:
        return "only with the name of one folder"
    if len(where.folders) > MAX_FOLDERS:
        return "too many folders"
    return f"{words[0]} is outside the workspace" if where.resolve(words[0]) is None else ""


def _after_cd(command: SimpleCommand, where: PathScope, following: str) -> PathScope:
    """The possible working directories of the next command; only && proves that cd succeeded."""
    if command.words[0] != "cd" or len(command.words) != 2 or len(where.folders) > MAX_FOLDERS:
        return where
    ends = where.resolve(command.words[1])
    if ends is None:
        return where
    stays = () if following == "&&" and command.after in ("", "&&", ";") else where.folders
    return replace(where, folders=tuple(dict.fromkeys((*ends, *stays))))


def _of_redirect(redirect: Redirect, where: PathScope) -> Iterator[Verdict]:
    part = f"{redirect.descriptor}{redirect.operator}{redirect.target}"
    if why := denied_redirect(redirect, where):
        yield Verdict(decision=Decision.DENY, rule=f"never: {why}", part=part)
    elif why := _write_reason(redirect, where):
        yield Verdict(decision=Decision.ASK, rule=why, part=part)


def _write_reason(redirect: Redirect, where: PathScope) -> str:
    match redirect.operator:
        case "<" if redirect.descriptor in ("", "0"):
            return unreadable_reason(redirect.target, where)
        case ">" | ">>" | "&>" if redirect.target == "/dev/null":
            return ""
        case ">&" if redirect.target in ("1", "2") and redirect.descriptor in ("", "1", "2"):
            return ""
        case _:
            return f"writes {redirect.target}"


def matches(rule: Rule, command: SimpleCommand, where: PathScope | None = None) -> bool:
    """Whether a rule applies to a command, by its first words.

    A rule that asks or denies also applies to the program's path and to wrapped commands. A rule
    that allows needs all words to be known and no path to lead outside the workspace.
    """
    size = len(rule.prefix)
    if rule.decision is not Decision.ALLOW:
        return any(words[:size] == rule.prefix for words in wrapped_commands(command.words))
    if command.is_cut or command.words[:size] != rule.prefix or not_coverable_reason(command.words):
        return False
    return where is None or not any(_leaves_workspace(word, where) for word in command.words[size:])


def _leaves_workspace(word: str, where: PathScope) -> bool:
    values = (word, word.partition("=")[2], re.sub(r"^-[A-Za-z]", "", word))
    return any(
        "/" in each
        and each not in HARMLESS_DEVICES
        and "://" not in each
        and where.resolve(each) is None
        for each in (*values, f"{word}/" if word == ".." else "")
        if each
    )


_STARTERS = word_set(
    "git xargs make gmake just task ninja awk gawk mawk sed find fd source . eval exec trap"
    " alias export declare typeset set unset read npx bunx pipx uvx ssh docker podman"
)
_PACKAGE_MANAGERS = word_set("npm yarn pnpm bun")
_READ_ONLY_SUBCOMMANDS = word_set("ls list view info outdated audit why root prefix --version -v")


def not_coverable_reason(words: Words) -> str:
    """Why no rule may allow a command: it can run anything, so its prefix says nothing about it."""
    name = name_of(words[0])
    if name in INTERPRETERS or re.fullmatch(r"(?:python|pypy|perl|ruby|php|lua)[\d.]+", name):
        return "it is an interpreter"
    if name in _STARTERS or name in WRAPPERS:
        return "it can start other programs"
    if name in _PACKAGE_MANAGERS and (len(words) < 2 or words[1] not in _READ_ONLY_SUBCOMMANDS):
        return "it runs a package's scripts"
    return ""


def evaluate_edit(policy: Policy, paths: Words) -> Verdict:
    """The verdict on an edit: denied outside the workspace, asked about for guarded files."""
    if not paths:
        return Verdict(decision=Decision.ASK, rule="it doesn't say which files")
    said = [_in_sandbox(policy, _of_path(path, policy.where())) for path in paths]
    return max(said, key=lambda verdict: strictness(verdict.decision))


def _of_path(path: str, where: PathScope) -> Verdict:
    ends = where.resolve(path) if path else None
    if ends is None:
        return Verdict(decision=Decision.DENY, rule="never: outside the workspace", part=path)
    if why := next((why for end in ends if (why := guard_reason(end))), ""):
        return Verdict(decision=Decision.ASK, rule=f"{path} {why}", part=path)
    return Verdict(decision=Decision.ALLOW, rule="inside the workspace", part=path)
