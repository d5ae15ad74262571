"""The expressions of find that are allowed unasked: none that changes files or runs programs."""

from allstop.policy.argument_kinds import kind_mismatch
from allstop.policy.command_line import word_set
from allstop.policy.options import MISSING_VALUE
from allstop.policy.paths import PathScope, unreadable_reason

Words = tuple[str, ...]

_PLAIN = word_set(
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


def find(words: Words, where: PathScope) -> str:
    awaited, in_expression = "", False
    for word in words:
        why = ""
        if awaited:
            why, awaited = kind_mismatch(awaited, word, where), ""
        elif word in _VALUED:
            awaited, in_expression = _VALUED[word], True
        elif word in _PLAIN:
            in_expression = True
        elif word in ("-L", "-H", "-P") and not in_expression:
            continue
        elif word.startswith("-") or in_expression:
            why = f"{word} is not on the list"
        else:
            why = unreadable_reason(word, where)
        if why:
            return why
    return MISSING_VALUE if awaited else ""
