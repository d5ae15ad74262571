"""What find may look for, and which programs may be given what it finds."""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

from allstop.core.allowing.kinds import unlike
from allstop.core.allowing.places import Where, readable
from allstop.core.allowing.secrets import CODE, is_secret
from allstop.core.shell_words import set_of

Words = tuple[str, ...]

_PLAIN = set_of(
    "! ( ) , -not -a -and -o -or -empty -readable -writable -executable -prune -print -print0 -ls"
    " -depth -d -xdev -mount -follow -true -false -quit -daystart -noleaf -nouser -nogroup"
    " -ignore_readdir_race -noignore_readdir_race"
)
_VALUED = {
    name: kind
    for kind, names in {
        "text": "-name -iname -path -ipath -wholename -iwholename -regex -iregex -type -xtype"
        " -size -perm -user -group -regextype -printf -lname -ilname -fstype -newermt",
        "num": "-mtime -mmin -atime -amin -ctime -cmin -maxdepth -mindepth -links -inum -uid -gid",
        "path": "-newer -anewer -cnewer -samefile",
    }.items()
    for name in names.split()
}


class Fed(Struct, frozen=True, kw_only=True):
    """A program with names of files in the places of `{}`; find gives several after a plus."""

    words: Words
    most: int
    before: Words
    """The words of find that choose these files."""

    def readings(self) -> list[Words]:
        return [self._with(("a.py", "b.py", "c.py")[:count]) for count in range(1, self.most + 1)]

    def _with(self, names: Words) -> Words:
        found: list[str] = []
        for word in self.words:
            found += names if word == "{}" else (word,)
        return tuple(found)


Judge = Callable[[Fed], str]


def find(words: Words, where: Where, judge: Judge) -> str:
    awaited, in_expression, place = "", False, 0
    while place < len(words):
        word = words[place]
        place += 1
        why = ""
        if awaited:
            why, awaited = unlike(awaited, word, where), ""
        elif word in _VALUED:
            awaited, in_expression = _VALUED[word], True
        elif word in _PLAIN:
            in_expression = True
        elif word == "-exec":
            in_expression = True
            size, why = _fed(words[place:], words[: place - 1], judge)
            place += size
        elif word in ("-L", "-H", "-P") and not in_expression:
            continue
        elif word.startswith("-") or in_expression:
            why = f"{word} is not on the list"
        else:
            why = readable(word, where)
        if why:
            return why
    return "an option lacks its value" if awaited else ""


def _fed(words: Words, before: Words, judge: Judge) -> tuple[int, str]:
    """How many words are the program's, and why it may not be given files."""
    end = next((place for place, word in enumerate(words) if word in (";", "+")), 0)
    given = words[:end]
    if "{}" not in given[1:] or any("{}" in word and word != "{}" for word in given):
        return end + 1, "-exec needs a program and {} as a word"
    is_many = words[end] == "+"
    return end + 1, judge(Fed(words=given, most=3 if is_many else 1, before=before))


def names_code(words: Words) -> bool:
    """Whether all that is found has a name as code has, so that no secret is among it."""
    if {",", "-true", "-L", "-follow"}.intersection(words) or re.search(
        r"(?:!|-not) \(", " ".join(words)
    ):
        return False
    *others, last = _branches(words)
    pruned = [each for each in others if each[-1:] == ("-prune",) and "(" not in words]
    return all(_is_named_as_code(each) for each in (*others, last) if each not in pruned)


def _branches(words: Words) -> list[Words]:
    found: list[Words] = [()]
    for word in words:
        if word in ("-o", "-or"):
            found.append(())
        else:
            found[-1] = (*found[-1], word)
    return found


def _is_named_as_code(branch: Words) -> bool:
    names = [
        value
        for before, option, value in zip(("", *branch), branch, branch[1:], strict=False)
        if option in ("-name", "-iname") and before not in ("!", "-not")
    ]
    return bool(names) and all(_is_of_code(name) for name in names)


def _is_of_code(name: str) -> bool:
    if re.search(r"[*?\[\\]", name):
        return name.rpartition(".")[2] in CODE
    return not is_secret((".git", name))  # wherever it is found
