"""Checks recursive searches: they may not show secrets in hidden files, or nearly all lines."""

import re

from allstop.policy.command_line import word_set
from allstop.policy.options import ParsedArguments
from allstop.policy.paths import PathScope
from allstop.policy.secret_files import CODE

GREPS = word_set("grep egrep fgrep")
_READ_STDIN = word_set("rg ag")
"""Without a path they search their standard input if there is one, not the folder."""
SEARCHES = GREPS | word_set("rg ag")
_NAMES_ONLY = word_set(
    "-l -L -c -q --files-with-matches --files-without-match --count --count-matches --quiet --silent"
    " --files --type-list"
)
_SECRET_WORDS = re.compile(
    r"(?i)secret|token|passw|passphrase|credential|key|private|begin|akia|ghp_|github_pat|sk-|xox[bp]"
    r"|bearer|(?-i:AWS_)|auth|database_url|dsn|pass|pwd|connection.?string|://|ssh-|eyj"
)
_PUBLIC_TYPES = CODE | word_set("csharp gradle kotlin lock markdown python ruby rust")
_CONFIG_FOLDERS = word_set(
    "config conf configs etc settings deploy deployment infra env envs environments"
)
_WILDCARDS = re.compile(
    r"\(\?[a-zA-Z-]*[:)]?|\\[pP]\{[^}]*\}|\([^()]*\)(?:[?*]|\{0)|\[[^\]]*\]|(?:\\.|[^\\])(?:[?*]|\{0?,)"
    r"|\\\w|[?*+.^$()]|\{[0-9,]*\}"
)
"""Parts of a pattern that are optional or match many characters."""


def shows_lines(arguments: ParsedArguments) -> bool:
    """Whether a search shows lines; with some options it only lists or counts files."""
    return not arguments.has(*_NAMES_ONLY)


def search_risk(name: str, arguments: ParsedArguments, where: PathScope) -> str:
    """Why a search needs permission; "" if it doesn't."""
    if not shows_lines(arguments) or not _is_recursive(name, arguments) or _is_narrowed(arguments):
        return ""
    patterned = arguments.has("-e", "-f", "--regexp", "--file")
    paths = arguments.operands if patterned else arguments.operands[1:]
    if where.reads_stdin and not paths and name in _READ_STDIN:
        return ""
    folders = [end for path in paths or (".",) for end in where.resolve(path) or ()]
    folders = [end for end in folders if not end or "." not in end[-1][1:]]
    patterns = _patterns(arguments)
    if folders and any(_matches_nearly_all(each) for each in patterns):
        return "it would show whole files whatever their content; name the files"
    unguarded = any(not end or _CONFIG_FOLDERS.intersection(end) for end in folders)
    if unguarded and _reaches_hidden(name, arguments) and any(map(looks_for_secrets, patterns)):
        return "it would show secrets in hidden files; name a folder or file types"
    return ""


def _is_recursive(name: str, arguments: ParsedArguments) -> bool:
    recursive = ("-r", "-R", "--recursive", "--dereference-recursive")
    return name not in GREPS or arguments.has(*recursive)


def _reaches_hidden(name: str, arguments: ParsedArguments) -> bool:
    if name in GREPS:
        return True
    if name == "git grep":
        return arguments.has("--no-index", "--untracked")
    unrestricted = len(arguments.values("-u", "--unrestricted"))
    return unrestricted > 1 or arguments.has("--hidden", "-.")


def _is_narrowed(arguments: ParsedArguments) -> bool:
    """Whether the search is limited to file types that hold no secrets."""
    globs = arguments.values("--include", "-g", "--glob", "--iglob")
    kinds = [each.rpartition(".")[2].strip("{}") for each in globs if not each.startswith("!")]
    kinds += arguments.values("-t", "--type")
    return (
        bool(kinds)
        and not arguments.has("--type-add")
        and _PUBLIC_TYPES.issuperset(kind for each in kinds for kind in each.split(","))
    )


def _patterns(arguments: ParsedArguments) -> list[str]:
    """The search patterns; an empty one matches everything, or stands for an unknown one."""
    if arguments.has("-f", "--file", "-v", "--invert-match", "--passthru") or _shows_much_context(
        arguments
    ):
        return [""]
    return arguments.values("-e", "--regexp") or list(arguments.operands[:1])


def _shows_much_context(arguments: ParsedArguments) -> bool:
    """Whether so many lines around a match are shown that the pattern hardly matters."""
    around = ("-A", "-B", "-C", "--after-context", "--before-context", "--context")
    return any(
        len(value) > 2 or int(value) > 50 for value in arguments.values(*around) if value.isdigit()
    )


def looks_for_secrets(pattern: str) -> bool:
    return bool(_SECRET_WORDS.search(pattern)) or _is_broad(pattern)


def _is_broad(pattern: str) -> bool:
    """Whether one of its alternatives contains no word."""
    return any(not re.search(r"\w{3}", branch) for branch in _branches(pattern))


def _matches_nearly_all(pattern: str) -> bool:
    """Whether nearly every line matches one of its alternatives."""
    return any(len(re.findall(r"\S", branch)) < 2 for branch in _branches(pattern))


def _branches(pattern: str) -> list[str]:
    """The alternatives of a pattern, reduced to the text that each match must contain."""
    return [
        _WILDCARDS.sub(" ", re.sub(r"\\[^\w\s]", "%", each)) for each in re.split(r"\\?\|", pattern)
    ]
