"""Searches that reach hidden files: not for what secrets look like, and not for just anything."""

from __future__ import annotations

import re

from allstop.core.allowing.options import Taken
from allstop.core.allowing.places import Where
from allstop.core.allowing.secrets import CODE
from allstop.core.shell_words import set_of

GREPS = set_of("grep egrep fgrep")
SEARCHES = GREPS | set_of("rg ag")
_NAMES_ONLY = set_of(
    "-l -L -c -q --files-with-matches --files-without-match --count --count-matches --quiet --silent"
    " --files --type-list"
)
_HUNTED = re.compile(
    r"(?i)secret|token|passw|passphrase|credential|key|private|begin|akia|ghp_|github_pat|sk-|xox[bp]"
    r"|bearer|auth|database_url|dsn|_pass|_pwd|connection.?string|://"
)
_SHOWN = CODE | set_of(
    "cargo cfg csharp gradle ini json kotlin lock lua markdown python ruby rust svelte toml txt xml yaml yml"
)
_UNSURE = re.compile(r"\([^()]*\)(?:[?*]|\{0)|\[[^\]]*\]|\\.|[?*+]|\{[0-9,]*\}")


def reveals(taken: Taken) -> bool:
    """Whether a search shows lines; with some options it only names or counts."""
    return not taken.has(*_NAMES_ONLY)


def hunts(name: str, taken: Taken, where: Where) -> str:
    """Why this search asks for a person; nothing if it may be made."""
    patterned = taken.has("-e", "-f", "--regexp", "--file", "--files", "--type-list")
    paths = taken.operands if patterned else taken.operands[1:]
    at_root = not paths or any(() in (where.leads(path) or ()) for path in paths)
    if not at_root or not _reaches_hidden(name, taken) or not reveals(taken):
        return ""
    if _is_narrowed(taken) or not any(is_hunting(each) for each in _patterns(taken)):
        return ""
    return "it would show secrets in hidden files; name a folder, or kinds of files"


def _reaches_hidden(name: str, taken: Taken) -> bool:
    if name in GREPS:
        return taken.has("-r", "-R", "--recursive", "--dereference-recursive")
    if name == "git grep":
        return taken.has("--no-index", "--untracked")
    unrestricted = len(taken.values("-u", "--unrestricted"))
    return unrestricted > 1 or taken.has("--hidden", "-.")


def _is_narrowed(taken: Taken) -> bool:
    """To files of kinds that are shown to others."""
    globs = taken.values("--include", "-g", "--glob", "--iglob")
    kinds = [each.rpartition(".")[2].strip("{}") for each in globs if not each.startswith("!")]
    kinds += taken.values("-t", "--type")
    return bool(kinds) and _SHOWN.issuperset(kind for each in kinds for kind in each.split(","))


def _patterns(taken: Taken) -> list[str]:
    """What is looked for; an empty one stands for everything, and for what nobody knows."""
    if taken.has("-f", "--file", "-v", "--invert-match"):
        return [""]
    return taken.values("-e", "--regexp") or list(taken.operands[:1])


def is_hunting(pattern: str) -> bool:
    if _HUNTED.search(pattern):
        return True
    return any(
        not re.search(r"\w{3}", _UNSURE.sub(" ", each)) for each in re.split(r"\\?\|", pattern)
    )
