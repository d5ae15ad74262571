"""Shell scripts that run git inside the box, where an agent's files can't reach the host."""

from collections.abc import Sequence

DAMAGED = 66
"""Exit code: there is no usable repository."""

MISSING = 67
"""Exit code: the commit to merge can't be read; the host must send it in a pack."""

_ALLSTOP = "-c user.name=Allstop -c user.email=agent@allstop.invalid"

_START = f"""
set -eu
git() {{
  command git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c gc.auto=0 \\
    -c maintenance.auto=false -c commit.gpgSign=false -c rerere.enabled=false \\
    -c advice.detachedHead=false -c core.quotePath=false {_ALLSTOP} "$@"
}}
"""

MAKE = (
    _START
    + """
commit=$1 look=$2; shift 2
lay=$HOME/lay module=0
if [ -f "$lay/pack" ]; then git index-pack --stdin --fix-thin <"$lay/pack" >/dev/null; fi
git read-tree --reset -u "$commit"
if [ "$look" = 1 ] && [ -n "$(git ls-files -- ':(attr:filter=lfs)' | head -c 1)" ]; then
  echo lfs
fi
while [ $# -gt 0 ]; do
  cp -R -- "$lay/modules/$module" "./$1/.git"
  (cd "./$1" && git read-tree --reset -u "$2") || { rm -rf "./$1/.git"; echo "submodule $1"; }
  module=$((module + 1)); shift 2
done
if [ -d "$lay/copy" ]; then cp -Rn "$lay/copy/." . || true; fi
"""
)
"""Checks out a commit. The host has prepared the tree's git folder, and in the home those of its
submodules. Prints submodules that can't be checked out, and `lfs` if Git LFS stores files of it.

Arguments: the commit; 1 to look for Git LFS; then for each submodule its path and its commit.
"""

_TREE = """
ulimit -d 2097152 2>/dev/null || true
[ -d .git ] || exit 66
export GIT_DIR="$PWD/.git" GIT_WORK_TREE="$PWD"

add_all() {
  list=.git/allstop-inner before=
  until git add -A --ignore-errors -- . "$@"; do
    [ $? -eq 1 ] || return 1
    inner "$@" >"$list"
    found=$(cksum <"$list")
    if [ ! -s "$list" ] || [ "$found" = "$before" ]; then break; fi
    before=$found
    git update-index -z --index-info <"$list"
  done
  rm -f "$list"
}

inner() {
  git ls-files -z --others --exclude-standard -- . "$@" | xargs -0 -r sh -c '
    for found do
      case "$found" in */) printf "100644 %s 0\\t%s.allstop\\000" "$0" "$found" ;; esac
    done' "$(git hash-object --stdin </dev/null)"
}

commit_leftovers() {
  add_all "$@"
  if [ -f .git/MERGE_HEAD ] || ! git diff-index --cached --quiet HEAD -- 2>/dev/null; then
    git commit -q --no-verify -m "$message"
  fi
}
"""
"""Git may use 2 GB of memory: a hostile tree can stand for any number of paths.

Git doesn't enter a nested repository without a commit unless the index has a file in it. So
`inner` adds an entry for a file that doesn't exist, which git drops while it adds the others.
"""

_SOUND = """
is_sound() {
  git rev-parse -q --verify 'HEAD^{tree}' >/dev/null &&
  git rev-list --quiet --objects HEAD "^$base" &&
  { git diff-index --cached --quiet HEAD -- || [ $? -eq 1 ]; }
}

repair() {
  printf '%s' "$config" >.git/config
  mkdir -p .git/objects/info .git/objects/pack .git/refs/heads
  if [ -n "$alternates" ]; then printf '%s' "$alternates" >.git/objects/info/alternates; fi
  git rev-parse -q --verify HEAD >/dev/null || printf 'ref: refs/heads/%s\\n' "$branch" >.git/HEAD
  git diff-index --cached --quiet HEAD -- || [ $? -eq 1 ] || { rm -f .git/index; git reset -q; }
}

is_dirty() { [ -n "$(git status --porcelain | head -c 1)" ]; }
"""

RESUME = (
    _START
    + """
base=$1 onto=$2 stash=$3 message=$4 config=$5 alternates=$6 branch=$7 pack=$8; shift 8
bringing=.git/allstop-bringing
find .git -name '*.lock' -delete 2>/dev/null || exit 66
"""
    + _TREE
    + _SOUND
    + """
if ! is_sound 2>/dev/null; then
  { repair && is_sound; } 2>/dev/null || exit 66
  printf 'repaired\\0'
fi
if [ "$pack" = 1 ]; then git index-pack --stdin --fix-thin >/dev/null; fi
if [ -f "$bringing" ] && [ ! -f .git/MERGE_HEAD ] &&
  [ "$(cat "$bringing")" = "$(git rev-parse HEAD)" ]; then
  git reset -q --hard && git clean -fdq
fi
if { [ "$stash" = 1 ] && is_dirty; } || { [ "$stash" = 2 ] && [ -f .git/MERGE_HEAD ]; }; then
  add_all "$@" || true
  if git stash push -q -u -m "$message"; then printf 'stashed\\0'; else printf 'kept\\0'; fi
fi
if [ -n "$onto" ]; then
  git rev-list --quiet --objects "$onto" "^$base" 2>/dev/null || exit 67
  if [ ! -f .git/MERGE_HEAD ] && ! git merge-base --is-ancestor "$onto" HEAD; then
    commit_leftovers "$@"
    git rev-parse HEAD >"$bringing"
    git -c merge.conflictStyle=merge merge -q --no-edit --no-verify "$onto" >&2 ||
      [ -f .git/MERGE_HEAD ]
  fi
fi
rm -f "$bringing"
printf 'conflicts\\0'
git diff --name-only --diff-filter=U -z
"""
)
"""Reopens a workspace. Lock files are deleted: no other program runs in it at that time.

A merge that was killed before git wrote `MERGE_HEAD` is undone. Everything was committed before
it, so no work is lost.

With `stash` 1 all uncommitted changes are stashed; with 2 only a merge in progress.

Prints words and, after `conflicts`, file names, each followed by a NUL. Arguments after the eighth
are pathspecs of files that don't count as work.
"""

_UNRESOLVED = """
is_unresolved() {
  [ -f .git/MERGE_HEAD ] || return 1
  if git status --porcelain | grep -qE '^(DU|UD|AU|UA|DD) '; then return 0; fi
  [ -n "$(git diff --name-only --diff-filter=U -z | xargs -0 -r sh -c '
    for file do
      [ -s "./$file" ] || continue
      if grep -qE "^(<<<<<<<|>>>>>>>) " "./$file" || ! grep -qI "" "./$file"; then echo x; fi
    done' sh)" ]
}
"""

KEEP = (
    _START
    + """
base=$1 tip=$2 message=$3 mode=$4 most_kb=$5; shift 5
"""
    + _TREE
    + _UNRESOLVED
    + """
size() {
  for spec do shift; set -- "$@" "--exclude=./${spec#:(exclude,top,literal)}"; done
  du -sk "$@" . 2>/dev/null | cut -f1
}

clean_head() {
  [ ! -f .git/MERGE_HEAD ] || return 0
  said=$(git --no-optional-locks status --porcelain=v2 --branch --untracked-files=normal \\
    --ignore-submodules=none -- . "$@" 2>/dev/null) || return 0
  case "$said" in *"
"[!#]*) return 0 ;; esac
  said=${said#"# branch.oid "}
  said=${said%%[!0-9a-f]*}
  echo "$said"
}

snapshot() {
  add_all "$@" >&2
  tree=$(git write-tree) last=$(git rev-parse --verify 'HEAD^{commit}')
  if [ "$tree" = "$(git rev-parse 'HEAD^{tree}')" ]; then echo "$last"
  elif [ -n "$tip" ] && [ "$(git rev-parse -q --verify "$tip^{tree}")" = "$tree" ] &&
    [ "$(git rev-parse -q --verify "$tip^")" = "$last" ]; then echo "$tip"
  else git commit-tree "$tree" -p "$last" -m "$message"; fi
}

for lock in .git/index.lock .git/HEAD.lock; do [ ! -f "$lock" ] || rm -f "$lock"; done
if [ "$most_kb" -gt 0 ]; then
  size_kb=$(size "$@")
  if [ "$size_kb" -gt "$most_kb" ]; then printf 'size %s\\n\\n' "$size_kb"; exit 0; fi
fi
head=$(clean_head "$@")
if [ -z "$head" ]; then
  if [ "$mode" = commit ] || [ -f .git/MERGE_HEAD ]; then
    is_unresolved || commit_leftovers "$@"
  else
    head=$(snapshot "$@")
  fi
  git diff-files --ignore-submodules=untracked -- . "$@" |
    sed -n 's/^:160000 160000 [0-9a-f]* [0-9a-f]* M.//p' | head -n 20 | sed 's/^/changed /'
  [ -n "$head" ] || head=$(git rev-parse --verify 'HEAD^{commit}')
fi
printf 'head %s\\n\\n' "$head"
if [ "$head" != "$tip" ]; then
  { echo "$head"; echo "^$base"
    if [ -n "$tip" ] && git cat-file -e "$tip^{commit}" 2>/dev/null; then echo "^$tip"; fi
  } | git pack-objects -q --revs --thin --delta-base-offset --stdout
fi
"""
)
"""Commits the agent's changes, except for a merge with open conflicts, and prints a pack.

In the mode `snapshot` the changes are only staged; the commit that holds them is on no branch.

Usually there are none, and one `git status` tells both that and the commit.

Prints `changed` with each submodule that has uncommitted changes; `head` with the commit; an empty
line; and a pack of the objects that the host lacks.
"""

INSPECT = (
    _START
    + _TREE
    + """
git rev-parse --verify 'HEAD^{commit}'
changes=$({ git status --porcelain || echo failed; } | head -c 1)
if [ -n "$changes" ]; then echo dirty; else echo clean; fi
git for-each-ref refs/stash | wc -l
git rev-list --no-walk --exclude=refs/stash --all
"""
)
"""Prints the last commit, `clean` or `dirty`, the number of stashes, and the tip of every ref."""

GATHER = (
    _START
    + """
base=$1 message=$2; shift 2
"""
    + _TREE
    + """
as_it_is() {
  export GIT_INDEX_FILE="$PWD/.git/allstop-index"
  cp .git/index "$GIT_INDEX_FILE" 2>/dev/null || git read-tree HEAD
  add_all "$@" >&2
  tree=$(git write-tree)
  rm -f "$GIT_INDEX_FILE"
  if [ "$tree" = "$(git rev-parse 'HEAD^{tree}')" ]; then git rev-parse HEAD; else
    git commit-tree "$tree" -p HEAD -m "$message"
  fi
}

now=$(as_it_is "$@")
all=$(git rev-list --no-walk --all) stashes=$(git stash list --format=%H)
printf '%s\\n' "$now" $all $stashes ''
printf '%s\\n' "$now" $all $stashes "^$base" |
  git pack-objects -q --revs --thin --delta-base-offset --stdout
"""
)
"""Packs every ref, every stash, and the tree in its current state, without changing anything.

Prints a commit of the tree, the tips of all refs, all stashes, an empty line, and a pack of them.
Arguments after the second are pathspecs of files that don't count as work.
"""


def exclude_paths(paths: Sequence[str]) -> list[str]:
    """Return pathspecs that leave these out, whatever the agent wrote into ignore files."""
    return [f":(exclude,top,literal){path}" for path in paths]
