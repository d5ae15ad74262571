"""Git commands allowed unasked: none that writes, fetches or runs a configured program."""

from collections.abc import Mapping

from allstop.policy.grep import looks_for_secrets, search_risk
from allstop.policy.options import ArgumentSpec, ParsedArguments, mismatch, parse_arguments
from allstop.policy.paths import PathScope

_DIFF = (
    " -p -u --patch -s --no-patch -U=num --unified=num --raw --patch-with-raw --minimal --patience"
    " --histogram --diff-algorithm=text --stat[=text] --numstat --shortstat --dirstat[=text]"
    " --summary --name-only --name-status --color[=text] --no-color --color-words[=text]"
    " --word-diff[=text] --word-diff-regex=text --no-renames --check --full-index --binary --abbrev[=num]"
    " -M[=num] --find-renames[=num] -C[=num] --find-copies[=num] -D --diff-filter=text -S=text -G=text"
    " --pickaxe-all --pickaxe-regex -R --relative -a --text -w -b --ignore-space-at-eol"
    " --ignore-space-change --ignore-all-space --ignore-blank-lines --inter-hunk-context=num"
    " -W --function-context --exit-code --quiet --no-ext-diff --no-textconv --submodule[=text]"
    " --src-prefix=text --dst-prefix=text --no-prefix -z --compact-summary --ignore-submodules[=text]"
    " --no-color-moved --color-moved[=text] --ignore-cr-at-eol --merge-base -c --cc -m -t -r"
)
_WALK = (
    " -NUM -n=num --max-count=num --not --skip=num --since=text --after=text --until=text --before=text"
    " --author=text --committer=text --grep=text --all-match --invert-grep -i"
    " --regexp-ignore-case -E --extended-regexp -F --fixed-strings -P --perl-regexp --merges"
    " --no-merges --first-parent --all --branches[=text] --tags[=text] --remotes[=text]"
    " --glob=text --exclude=text --reflog --cherry-pick --left-right --left-only --right-only"
    " --cherry-mark --cherry --boundary --simplify-by-decoration --full-history --dense"
    " --sparse --ancestry-path --date-order --author-date-order --topo-order --reverse"
    " --no-walk --follow --walk-reflogs -g --min-parents=num --max-parents=num"
)
_PRETTY = (
    " --oneline --pretty[=format] --format=format --abbrev-commit --no-abbrev-commit --graph"
    " --decorate[=text] --no-decorate --decorate-refs=text --date=text --relative-date --parents"
    " --children --show-pulls --source --notes[=text] --no-notes --encoding=text --clear-decorations"
    " --expand-tabs[=num] --no-expand-tabs --log-size --no-mailmap --mailmap --use-mailmap"
)
_REFS = (
    " --sort=text --format=format --contains[=rev] --no-contains[=rev] --merged[=rev]"
    " --no-merged[=rev] --points-at[=rev] --color[=text] --column[=text] --no-column --ignore-case"
)
_FILTERS = ("--contains", "--no-contains", "--merged", "--no-merged", "--points-at")
_LOG = ArgumentSpec(f"{_DIFF}{_WALK}{_PRETTY} -L=lines", operands="rev*")

SUBCOMMANDS: Mapping[str, ArgumentSpec] = {
    "status": ArgumentSpec(
        "-s --short -b --branch --porcelain[=text] --long -v --verbose -z -u[=text]"
        " --untracked-files[=text] --ignored[=text] --ahead-behind --no-ahead-behind --no-renames"
        " --column[=text] --no-column --show-stash --ignore-submodules[=text] --find-renames[=num]"
    ),
    "log": _LOG,
    "whatchanged": _LOG,
    "show": _LOG,
    "diff": ArgumentSpec(
        f"{_DIFF} --cached --staged --no-index -1 -2 -3 --ours --theirs --base", operands="rev*"
    ),
    "diff-tree": ArgumentSpec(
        f"{_DIFF}{_PRETTY} --no-commit-id --root --always --stdin", operands="rev*"
    ),
    "diff-index": ArgumentSpec(f"{_DIFF} --cached", operands="rev*"),
    "diff-files": ArgumentSpec(_DIFF, operands="rev*"),
    "range-diff": ArgumentSpec("--no-color --color[=text] -s --no-patch --stat", operands="rev*"),
    "branch": ArgumentSpec(
        "-a --all -r --remotes -v -l --list --show-current --verbose --abbrev[=num]"
        f" --no-abbrev -i{_REFS}",
        operands="text*",
        operands_need=("--list", *_FILTERS),
    ),
    "tag": ArgumentSpec(
        f"-l --list -n[=num] -i{_REFS}", operands="text*", operands_need=("-l", "--list", *_FILTERS)
    ),
    "rev-parse": ArgumentSpec(
        "--show-toplevel --show-prefix --show-cdup --git-dir --git-common-dir --abbrev-ref[=text]"
        " --short[=num] --verify -q --quiet --symbolic --symbolic-full-name --is-inside-work-tree"
        " --is-inside-git-dir --is-bare-repository --is-shallow-repository --absolute-git-dir --all"
        " --branches[=text] --tags[=text] --remotes[=text] --show-superproject-working-tree --revs-only"
        " --no-revs --flags --no-flags --show-object-format",
        operands="rev*",
    ),
    "ls-files": ArgumentSpec(
        "-c --cached -d --deleted -m --modified -o --others -i --ignored -s --stage -u"
        " --unmerged -k --killed -t -v -f -z --exclude-standard -x=text --exclude=text --full-name"
        " --error-unmatch --eol --deduplicate --abbrev[=num] --directory --no-empty-directory"
    ),
    "ls-tree": ArgumentSpec(
        "-d -r -t -l --long -z --name-only --name-status --full-name --full-tree"
        " --abbrev[=num] --object-only",
        operands="rev*",
    ),
    "cat-file": ArgumentSpec("-t -s -e -p", operands="rev rev", least=1),
    "blame": ArgumentSpec(
        "-L=text -l -t -s -e --show-email -w -M[=num] -C[=num] -f --show-name -n --show-number"
        " -p --porcelain --line-porcelain --date=text --root --since=text --abbrev=num -c"
        " --color-lines --color-by-age --first-parent",
        operands="rev*",
    ),
    "annotate": ArgumentSpec("-L=text -l -t -w", operands="rev*"),
    "grep": ArgumentSpec(
        "-n --line-number -i --ignore-case -w --word-regexp -v --invert-match -l"
        " --files-with-matches --name-only -L --files-without-match -c --count -h -H --full-name"
        " -E --extended-regexp -G --basic-regexp -F --fixed-strings -P --perl-regexp -A=num -B=num"
        " -C=num --after-context=num --before-context=num --context=num -NUM -W --function-context"
        " -p --show-function -e=text --and --or --not --all-match -q --quiet -a --text -I"
        " --max-depth=num --cached --untracked --no-index --exclude-standard --heading --break"
        " --color[=text] --no-color -o --only-matching --column --max-count=num -m=num -z --null -r"
        " --recurse-submodules --threads=num",
        operands="text rev*",
        least=1,
        instead=("-e",),
    ),
    "describe": ArgumentSpec(
        "--all --tags --contains --abbrev=num --candidates=num --exact-match --long"
        " --match=text --exclude=text --always --first-parent --dirty[=text] --broken[=text]",
        operands="rev*",
    ),
    "shortlog": ArgumentSpec(
        "-s --summary -e --email -n --numbered -w[=text] --group=text"
        f"{_WALK.replace(' -n=num', '')}",
        operands="rev*",
    ),
    "rev-list": ArgumentSpec(
        f"{_WALK}{_PRETTY} --count --objects --header --timestamp --use-bitmap-index"
        " --disk-usage[=text]",
        operands="rev*",
    ),
    "merge-base": ArgumentSpec("-a --all --octopus --is-ancestor --fork-point", operands="rev*"),
    "name-rev": ArgumentSpec("--tags --refs=text --name-only --always", operands="rev*"),
    "show-ref": ArgumentSpec(
        "--head --heads --branches --tags -d --dereference -s --hash[=num] --verify -q"
        " --quiet --abbrev[=num]",
        operands="text*",
    ),
    "for-each-ref": ArgumentSpec(f"--count=num --shell{_REFS}", operands="text*"),
    "symbolic-ref": ArgumentSpec("-q --quiet --short", operands="name", least=1),
    "check-ignore": ArgumentSpec("-v --verbose -q --quiet -n --non-matching --no-index"),
    "check-attr": ArgumentSpec("-a --all --cached", operands="text path*"),
    "count-objects": ArgumentSpec("-v --verbose -H --human-readable", operands=""),
    "apply": ArgumentSpec(
        "--check --stat --numstat --summary -p=num -v --verbose",
        needs=("--check", "--stat", "--numstat", "--summary"),
    ),
    "hash-object": ArgumentSpec("-t=text"),
    "show-branch": ArgumentSpec(
        "-a --all -r --remotes --current --topo-order --date-order --list --merge-base"
        " --independent --no-name --sha1-name --topics --color[=text] --no-color",
        operands="rev*",
    ),
    "cherry": ArgumentSpec("-v --abbrev[=num]", operands="rev*"),
    "version": ArgumentSpec("--build-options", operands=""),
    "remote": ArgumentSpec("-v --verbose", operands=""),
    "remote get-url": ArgumentSpec("--push --all", operands="name", least=1),
    "stash list": _LOG,
    "stash show": ArgumentSpec(f"{_DIFF} --include-untracked", operands="rev"),
    "worktree list": ArgumentSpec("-v --porcelain -z", operands=""),
    "reflog": ArgumentSpec(f"{_DIFF}{_WALK}{_PRETTY}", operands=""),
    "reflog show": _LOG,
    "notes list": ArgumentSpec(operands="rev"),
    "notes show": ArgumentSpec(operands="rev"),
    "config": ArgumentSpec(
        "--get --get-all --show-origin --show-scope --name-only"
        " --global --local --system -z --null --type=text --bool --int --includes",
        operands="key",
    ),
}

_GLOBAL_FLAGS = ("--no-pager", "-P", "--literal-pathspecs", "--no-optional-locks")
_GROUPS = frozenset(name.split()[0] for name in SUBCOMMANDS if " " in name)


def git(words: tuple[str, ...], where: PathScope) -> tuple[str, str]:
    """The command's name on the list, and why it needs permission; "" if it doesn't."""
    while size := _global_options(words, where):
        words = words[size:]
    if words == ("--version",):
        return "git --version", ""
    name = " ".join(words[:2]) if words[:1] and words[0] in _GROUPS else " ".join(words[:1])
    rest = words[2:] if name in SUBCOMMANDS and " " in name else words[1:]
    if name not in SUBCOMMANDS:
        name = " ".join(words[:1])
    if name not in SUBCOMMANDS:
        return f"git {name}".rstrip(), "it is not on the list"
    spec = SUBCOMMANDS[name]
    return f"git {name}", mismatch(spec, rest, where) or _secret_risk(
        name, parse_arguments(spec, rest, where), where
    )


def _secret_risk(name: str, arguments: ParsedArguments, where: PathScope) -> str:
    """Why it may show secrets, like other searches, beyond the files that are tracked."""
    if name == "grep":
        return search_risk("git grep", arguments, where)
    if arguments.has("--no-index") and any("." not in each[1:] for each in arguments.operands):
        return "a folder may hold secrets; name the files"
    wanted = arguments.values("-S", "-G") if arguments.has("-p", "-u", "--patch") else []
    return "it would show secrets in the history" if any(map(looks_for_secrets, wanted)) else ""


def _global_options(words: tuple[str, ...], where: PathScope) -> int:
    """How many leading words are harmless global options."""
    if words[:1] and words[0] in _GLOBAL_FLAGS:
        return 1
    is_here = len(words) > 1 and words[0] == "-C" and where.resolve(words[1]) == ((),)
    return 2 if is_here else 0
