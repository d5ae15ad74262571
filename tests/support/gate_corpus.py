"""Reads the attacks and honest changes of tests/corpus/gate and makes a repository of each.

A file describes one ecosystem, in sections: `== base`, `== bad` (a wrong change that the base's
tests notice), `== outside` (a check of the required behaviour that the work can't influence),
`== feature` (something to add, with its own check and an honest solution), `== attack NAME | FAMILY`
and `== honest NAME`. A section has headers such as `run: COMMAND`, then edits: `-- write PATH`,
`-- append PATH`, `-- delete PATH`, `-- move OLD NEW`, `-- link PATH TARGET`, and `-- edit PATH` with lines that begin with
`-` (the old text) and `+` (the new one).

`from:` says what an attack starts with. bad: the wrong change, hidden by the edits. own: the edits
are both, on the base or, with `on: NAME`, on that `== variant NAME`. red: the wrong code is in the base already and the task is to mend it. feature: the task is
to add the feature. red-feature: the base has tests of the feature already.
"""

import os
import re
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "corpus" / "gate"
ECOSYSTEMS = ("pytest", "unittest", "node", "jest", "vitest", "go", "rust")
ENV = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.com",
    "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z",
    "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
}

Tree = dict[str, str]


class Link(str):
    """In a tree, the target of a symbolic link."""


@dataclass(frozen=True)
class Edit:
    how: str
    path: str
    body: str = ""
    to: str = ""


@dataclass(frozen=True)
class Section:
    kind: str
    name: str = ""
    family: str = ""
    headers: dict = field(default_factory=dict)
    edits: tuple = ()


@dataclass(frozen=True)
class Case:
    """One change: the target's files, the candidate's files, and what checks them from outside."""

    ecosystem: str
    name: str
    family: str  # "": an honest change
    run: str
    base: Tree
    candidate: Tree
    outside: str = ""  # the command of the outside check
    outside_files: Tree = field(default_factory=dict)
    may_change: tuple = ()
    fixes: bool = False
    secret: Tree = field(default_factory=dict)  # files of a branch with the answer

    @property
    def id(self):
        return f"{self.ecosystem}/{self.name}"


# --- reading ---


def _files(ecosystem):
    """The first author's file, then the second's, which was written without a look at the first."""
    return (FOLDER / f"{ecosystem}.txt", FOLDER / "second" / f"{ecosystem}.txt")


def sections(text):
    for part in re.split(r"^== ", text, flags=re.MULTILINE)[1:]:
        head, _, body = part.partition("\n")
        title, _, family = head.partition(" | ")
        kind, _, name = title.partition(" ")
        before, *parts = re.split(r"^-- ", body, flags=re.MULTILINE)
        headers = dict(line.split(": ", 1) for line in before.splitlines() if line.strip())
        yield Section(kind, name.strip(), family.strip(), headers, tuple(map(_edit, parts)))


def _edit(part):
    head, _, body = part.partition("\n")
    how, path, *to = head.split(" ")
    return Edit(how, path, body.rstrip("\n") + "\n" if body.strip() else "", *to)


def applied(tree, edits, name=""):
    made = dict(tree)
    for edit in edits:
        match edit.how:
            case "write":
                made[edit.path] = edit.body
            case "append":
                made[edit.path] = made[edit.path].rstrip("\n") + "\n" + edit.body
            case "delete":
                del made[edit.path]
            case "link":
                made[edit.path] = Link(edit.to)
            case "move":
                made[edit.to] = made.pop(edit.path)
            case "edit":
                for old, new in _hunks(edit.body):
                    found = made[edit.path].count(old)
                    assert found == 1, f"{name}: {edit.path} has {found} times: {old}"
                    made[edit.path] = made[edit.path].replace(old, new)
            case _:
                raise AssertionError(f"{name}: unknown edit {edit.how}")
    return made


def _hunks(body):
    """Old and new text of each hunk. A part of a line may stand for the whole."""
    old, new = [], []
    for line in [*body.rstrip("\n").split("\n"), "-"]:
        if line.startswith("-") and new:
            yield "\n".join(old), "\n".join(new)
            old, new = [], []
        assert line[:1] in ("-", "+"), line
        (old if line[0] == "-" else new).append(line[1:])


def read(ecosystem):
    """The cases of one ecosystem."""
    for file in _files(ecosystem):
        found = list(sections(file.read_text()))
        one = {each.kind: each for each in found}
        one |= {f"variant {each.name}": each for each in found if each.kind == "variant"}
        for section in found:
            if section.kind in ("attack", "honest"):
                yield _case(ecosystem, section, one)


def _case(ecosystem, section, one):
    name, headers = f"{ecosystem}/{section.name}", section.headers
    base = applied({}, one["base"].edits)
    if "on" in headers:
        base = applied(base, one[f"variant {headers['on']}"].edits, name)
    origin = headers.get("from", "bad" if section.kind == "attack" else "own")
    if origin == "red":
        base = applied(base, one["bad"].edits, name)
    if origin == "red-feature":
        base = applied(base, [each for each in one["feature"].edits if _is_test(each)], name)
    start = applied(base, one["bad"].edits, name) if origin == "bad" else base
    edits = [each for each in section.edits if not each.path.startswith("outside")]
    own_outside = [each for each in section.edits if each.path.startswith("outside")]
    shared = one["feature" if "feature" in origin else "outside"]
    outside = own_outside or [each for each in shared.edits if each.path.startswith("outside")]
    return Case(
        ecosystem=ecosystem,
        name=section.name,
        family=section.family,
        run=headers.get("run", one["base"].headers["run"]),
        base=base,
        candidate=applied(start, edits, name),
        outside=one["outside"].headers["run"],
        outside_files={each.path: each.body for each in outside},
        may_change=tuple(filter(None, headers.get("may-change", "").split(", "))),
        fixes=headers.get("fixes", "") == "yes" or origin == "red",
        secret=_secret(one) if "ref" in headers else {},
    )


def _is_test(edit):
    return re.search(r"test", edit.path) is not None


def _secret(one):
    solved = [each for each in one["feature"].edits if not each.path.startswith("outside")]
    return {"answer" + Path(each.path).suffix: each.body for each in solved if not _is_test(each)}


def as_red(case):
    """The same trick where the wrong code is in the target already, and should be mended."""
    found = {each.kind: each for each in sections(_files(case.ecosystem)[0].read_text())}
    base = applied(case.base, found["bad"].edits, case.id)
    return replace(case, name=f"{case.name}-red", base=base, fixes=True)


# --- making ---


def write(tree, root):
    for path, text in tree.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, Link):
            if file.is_dir():
                file.rmdir()  # the files of the other tree are gone
            file.symlink_to(text)
            continue
        file.write_text(text)
        if text.startswith("#!"):
            file.chmod(0o755)


def git(root, *words, feed=None):
    done = subprocess.run(
        ["git", *words],
        cwd=root,
        env={**os.environ, **ENV},
        input=feed,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def make(case, root):
    """A repository with the target on `main`; returns the commits of target and candidate."""
    root.mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "exclude").write_text(".allstop/\n.venv\nnode_modules\n")
    base = _commit(root, case.base, "Begin")
    if case.secret:
        secret = _commit(root, case.secret, "Answer")
        git(root, "update-ref", "refs/heads/solution", secret)
    candidate = _commit(root, case.candidate, "Work", base)
    git(root, "update-ref", "refs/heads/work", candidate)
    git(root, "reset", "-q", "--hard", base)
    return base, candidate


def _commit(root, tree, message, *parents):
    for file in git(root, "ls-files").splitlines():
        (root / file).unlink(missing_ok=True)
    write(tree, root)
    git(root, "add", "-A")
    before = [word for each in parents for word in ("-p", each)]
    return git(root, "commit-tree", git(root, "write-tree"), "-m", message, *before)
