"""Searches that reach hidden files: not for what secrets look like, and not for just anything."""

from __future__ import annotations

import re

from allstop.policy.command_line import set_of
from allstop.policy.options import Taken
from allstop.policy.paths import Where
from allstop.policy.secret_files import CODE

GREPS = set_of("grep egrep fgrep")
_FED = set_of("rg ag")
"""Without a path they search what they are fed, and not the folder."""
SEARCHES = GREPS | set_of("rg ag")
_NAMES_ONLY = set_of(
    "-l -L -c -q --files-with-matches --files-without-match --count --count-matches --quiet --silent"
    " --files --type-list"
)
_HUNTED = re.compile(
    r"(?i)secret|token|passw|passphrase|credential|key|private|begin|akia|ghp_|github_pat|sk-|xox[bp]"
    r"|bearer|(?-i:AWS_)|auth|database_url|dsn|pass|pwd|connection.?string|://|ssh-|eyj"
)
_SHOWN = CODE | set_of("csharp gradle kotlin lock markdown python ruby rust")
_SETTINGS = set_of("config conf configs etc settings deploy deployment infra env envs environments")
_UNSURE = re.compile(
    r"\(\?[a-zA-Z-]*[:)]?|\\[pP]\{[^}]*\}|\([^()]*\)(?:[?*]|\{0)|\[[^\]]*\]|(?:\\.|[^\\])(?:[?*]|\{0?,)"
    r"|\\\w|[?*+.^$()]|\{[0-9,]*\}"
)
"""What a match may have or not have, or what fits many characters."""


def reveals(taken: Taken) -> bool:
    """Whether a search shows lines; with some options it only names or counts."""
    return not taken.has(*_NAMES_ONLY)


def hunts(name: str, taken: Taken, where: Where) -> str:
    """Why this search asks for a person; nothing if it may be made."""
    if not reveals(taken) or not _is_deep(name, taken) or _is_narrowed(taken):
        return ""
    patterned = taken.has("-e", "-f", "--regexp", "--file")
    paths = taken.operands if patterned else taken.operands[1:]
    if where.is_fed and not paths and name in _FED:
        return ""
    folders = [end for path in paths or (".",) for end in where.leads(path) or ()]
    folders = [end for end in folders if not end or "." not in end[-1][1:]]
    patterns = _patterns(taken)
    if folders and any(_is_anything(each) for each in patterns):
        return "it would show whole files, whatever is in them; name them"
    unguarded = any(not end or _SETTINGS.intersection(end) for end in folders)
    if unguarded and _reaches_hidden(name, taken) and any(map(is_hunting, patterns)):
        return "it would show secrets in hidden files; name a folder, or kinds of files"
    return ""


def _is_deep(name: str, taken: Taken) -> bool:
    recursive = ("-r", "-R", "--recursive", "--dereference-recursive")
    return name not in GREPS or taken.has(*recursive)


def _reaches_hidden(name: str, taken: Taken) -> bool:
    if name in GREPS:
        return True
    if name == "git grep":
        return taken.has("--no-index", "--untracked")
    unrestricted = len(taken.values("-u", "--unrestricted"))
    return unrestricted > 1 or taken.has("--hidden", "-.")


def _is_narrowed(taken: Taken) -> bool:
    """To files of kinds that are shown to others."""
    globs = taken.values("--include", "-g", "--glob", "--iglob")
    kinds = [each.rpartition(".")[2].strip("{}") for each in globs if not each.startswith("!")]
    kinds += taken.values("-t", "--type")
    return (
        bool(kinds)
        and not taken.has("--type-add")
        and _SHOWN.issuperset(kind for each in kinds for kind in each.split(","))
    )


def _patterns(taken: Taken) -> list[str]:
    """What is looked for; an empty one stands for everything, and for what nobody knows."""
    if taken.has("-f", "--file", "-v", "--invert-match", "--passthru") or _is_wide(taken):
        return [""]
    return taken.values("-e", "--regexp") or list(taken.operands[:1])


def _is_wide(taken: Taken) -> bool:
    """Whether so many lines around a match are shown that it hardly matters what matched."""
    around = ("-A", "-B", "-C", "--after-context", "--before-context", "--context")
    return any(
        len(value) > 2 or int(value) > 50 for value in taken.values(*around) if value.isdigit()
    )


def is_hunting(pattern: str) -> bool:
    return bool(_HUNTED.search(pattern)) or _is_broad(pattern)


def _is_broad(pattern: str) -> bool:
    """Whether one of its branches has no word that says what it matches."""
    return any(not re.search(r"\w{3}", branch) for branch in _branches(pattern))


def _is_anything(pattern: str) -> bool:
    """Whether nearly every line fits one of its branches."""
    return any(len(re.findall(r"\S", branch)) < 2 for branch in _branches(pattern))


def _branches(pattern: str) -> list[str]:
    """What each has to have; a mark that is escaped is itself."""
    return [
        _UNSURE.sub(" ", re.sub(r"\\[^\w\s]", "%", each)) for each in re.split(r"\\?\|", pattern)
    ]
