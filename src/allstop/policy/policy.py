"""What is said of a command: allow, ask or deny, and which rule says so."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from allstop.core.asks import BOX, Decision, Rule, strictness
from allstop.policy.command_line import Line, Redirect, Simple, set_of
from allstop.policy.denied import (
    INTERPRETERS,
    WRAPPERS,
    denied,
    denied_line,
    denied_redirect,
    name_of,
    seen_through,
)
from allstop.policy.git import git
from allstop.policy.guarded_files import guarded
from allstop.policy.options import NO_ARGUMENT, NO_VALUE
from allstop.policy.paths import HARMLESS, MOST_FOLDERS, Steps, Where, no_links, readable, resolve
from allstop.policy.read_only import looks

Words = tuple[str, ...]

SCRATCH = "/tmp"  # noqa: S108 - a box has its own


class Policy(Struct, frozen=True, kw_only=True):
    workspace: str
    """The absolute path of the folder an agent may look at and change."""
    folder: str = "."
    """Where in it commands start."""
    rules: tuple[Rule, ...] = ()
    within: bool = False
    """What no rule is against is its box's to allow."""
    leads_out: Callable[[str], bool] = no_links
    """Whether links on a way within the workspace lead out of it."""

    def where(self) -> Where:
        scratch = SCRATCH if self.within else ""
        return Where(
            root=self.workspace,
            folders=(self.start(),),
            scratch=scratch,
            leads_out=self.leads_out,
        )

    def start(self) -> Steps:
        return resolve(self.folder, self.workspace) or ()


class Verdict(Struct, frozen=True, gc=False, kw_only=True):
    decision: Decision
    rule: str
    """The name of the rule, or why there is none."""
    part: str = ""
    """The command in the line that decided."""
    own: bool = False
    """Whether a person has made that rule."""


def weigh(policy: Policy, line: Line) -> Verdict:
    """The strictest of all its parts; of equally strict ones the first."""
    said = [_settled(policy, verdict) for verdict in _said(policy, line)]
    worst = max(said, key=lambda verdict: strictness(verdict.decision))
    if worst.decision is not Decision.ALLOW:
        return worst
    if BOX in (verdict.rule for verdict in said):  # no rule allows the whole of it
        return Verdict(decision=Decision.ALLOW, rule=BOX, part=worst.part)
    names = ", ".join(dict.fromkeys(verdict.rule for verdict in said))
    return Verdict(decision=Decision.ALLOW, rule=names, part=worst.part)


def _settled(policy: Policy, verdict: Verdict) -> Verdict:
    if not policy.within or verdict.own or verdict.decision is not Decision.ASK:
        return verdict
    return Verdict(decision=Decision.ALLOW, rule=BOX, part=verdict.part)


def _said(policy: Policy, line: Line) -> Iterator[Verdict]:
    where = everywhere = policy.where()
    if why := denied_line(line):
        yield Verdict(decision=Decision.DENY, rule=f"never: {why}")
    for place, command in enumerate(line.commands):
        if command.after not in ("&&", "|"):
            where = everywhere
        yield from _of_command(policy, command, replace(where, is_fed=command.after == "|"))
        following = line.commands[place + 1].after if place + 1 < len(line.commands) else ""
        where = _moved(command, where, following)
        everywhere = _either(everywhere, where)
    for redirect in line.redirects:
        yield from _of_redirect(redirect, everywhere)
    if line.why or not line.commands:
        yield Verdict(decision=Decision.ASK, rule=line.why or "there is no command")


def _of_command(policy: Policy, command: Simple, where: Where) -> Iterator[Verdict]:
    part = " ".join(command.words)
    if why := denied(command.words, where):
        yield Verdict(decision=Decision.DENY, rule=f"never: {why}", part=part)
    matching = [rule for rule in policy.rules if matches(rule, command, where)]
    for rule in matching:
        yield Verdict(decision=rule.decision, rule=told(rule), part=part, own=True)
    name, why = _built_in(command.words, where, policy.start())
    if not why:
        yield Verdict(decision=Decision.ALLOW, rule=f"built-in: {name}", part=part)
    elif command.is_cut and why in (NO_VALUE, NO_ARGUMENT):
        return  # the line says what it is that is not known
    elif not any(rule.decision is Decision.ALLOW for rule in matching):
        yield Verdict(decision=Decision.ASK, rule=f"{name}: {why}", part=part)


def told(rule: Rule) -> str:
    said = f"{rule.decision} {' '.join(rule.prefix)}"
    name = f"{rule.name}: {said}" if rule.name else said
    return f"{name} ({rule.why})" if rule.why else name


def _built_in(words: Words, where: Where, start: Steps) -> tuple[str, str]:
    """The name of what is done, and why that is not clearly harmless."""
    name, rest = words[0], words[1:]
    if name == "git":
        if not {(), start}.issuperset(where.folders):
            return "git", "a folder can bring settings of its own"
        return git(rest, where)
    if name == "cd":
        return "cd", _cd(rest, where)
    return looks(words, where)


def _cd(words: Words, where: Where) -> str:
    if len(words) != 1 or words[0].startswith("-") or not words[0]:
        return "only to one folder that is named"
    if len(where.folders) > MOST_FOLDERS:
        return "too many folders"
    return f"{words[0]} is outside the workspace" if where.leads(words[0]) is None else ""


def _moved(command: Simple, where: Where, following: str) -> Where:
    """Where the next command may find itself; only after && is it sure that a move succeeded."""
    if command.words[0] != "cd" or len(command.words) != 2 or len(where.folders) > MOST_FOLDERS:
        return where
    ends = where.leads(command.words[1])
    if ends is None:
        return where
    stays = () if following == "&&" and command.after in ("", "&&", ";") else where.folders
    return replace(where, folders=tuple(dict.fromkeys((*ends, *stays))))


def _either(one: Where, other: Where) -> Where:
    return replace(one, folders=tuple(dict.fromkeys((*one.folders, *other.folders))))


def _of_redirect(redirect: Redirect, where: Where) -> Iterator[Verdict]:
    part = f"{redirect.descriptor}{redirect.operator}{redirect.target}"
    if why := denied_redirect(redirect, where):
        yield Verdict(decision=Decision.DENY, rule=f"never: {why}", part=part)
    elif why := _written(redirect, where):
        yield Verdict(decision=Decision.ASK, rule=why, part=part)


def _written(redirect: Redirect, where: Where) -> str:
    match redirect.operator:
        case "<" if redirect.descriptor in ("", "0"):
            return readable(redirect.target, where)
        case ">" | ">>" | "&>" if redirect.target == "/dev/null":
            return ""
        case ">&" if redirect.target in ("1", "2") and redirect.descriptor in ("", "1", "2"):
            return ""
        case _:
            return f"writes {redirect.target}"


def matches(rule: Rule, command: Simple, where: Where | None = None) -> bool:
    """By its first words. A stricter rule is not got around by a path or by a wrapper; one that
    allows covers only words that are all known, and no path that leads outside."""
    size = len(rule.prefix)
    if rule.decision is not Decision.ALLOW:
        return any(words[:size] == rule.prefix for words in seen_through(command.words))
    if command.is_cut or command.words[:size] != rule.prefix or uncoverable(command.words):
        return False
    return where is None or not any(_leaves(word, where) for word in command.words[size:])


def _leaves(word: str, where: Where) -> bool:
    values = (word, word.partition("=")[2], re.sub(r"^-[A-Za-z]", "", word))
    return any(
        "/" in each and each not in HARMLESS and "://" not in each and where.leads(each) is None
        for each in (*values, f"{word}/" if word == ".." else "")
        if each
    )


_MORE = set_of(
    "git xargs make gmake just task ninja awk gawk mawk sed find fd source . eval exec trap"
    " alias export declare typeset set unset read npx bunx pipx uvx ssh docker podman"
)
_PACKAGE_MANAGERS = set_of("npm yarn pnpm bun")
_THEIR_LISTS = set_of("ls list view info outdated audit why root prefix --version -v")


def uncoverable(words: Words) -> str:
    """Why no rule may allow this: it can run anything, so a prefix says nothing about it."""
    name = name_of(words[0])
    if name in INTERPRETERS or re.fullmatch(r"(?:python|pypy|perl|ruby|php|lua)[\d.]+", name):
        return "it is an interpreter"
    if name in _MORE or name in WRAPPERS:
        return "it can start other programs"
    if name in _PACKAGE_MANAGERS and (len(words) < 2 or words[1] not in _THEIR_LISTS):
        return "it runs a package's scripts"
    return ""


def of_paths(policy: Policy, paths: Words) -> Verdict:
    """Of a change of files: inside it is allowed, outside never; some files are asked about."""
    if not paths:
        return Verdict(decision=Decision.ASK, rule="it doesn't say which files")
    said = [_settled(policy, _of_path(path, policy.where())) for path in paths]
    return max(said, key=lambda verdict: strictness(verdict.decision))


def _of_path(path: str, where: Where) -> Verdict:
    ends = where.leads(path) if path else None
    if ends is None:
        return Verdict(decision=Decision.DENY, rule="never: outside the workspace", part=path)
    if why := next((why for end in ends if (why := guarded(end))), ""):
        return Verdict(decision=Decision.ASK, rule=f"{path} {why}", part=path)
    return Verdict(decision=Decision.ALLOW, rule="inside the workspace", part=path)
