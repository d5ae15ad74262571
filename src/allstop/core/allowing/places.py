"""Which paths are inside the workspace, and which of those are not like others."""

from __future__ import annotations

from fnmatch import fnmatchcase

from msgspec import Struct

Steps = tuple[str, ...]

HARMLESS = frozenset(
    {
        "/dev/null",
        "/dev/stdin",
        "/etc/os-release",
        "/proc/cpuinfo",
        "/proc/meminfo",
        "/proc/version",
    }
)
MOST_FOLDERS = 32


class Where(Struct, frozen=True, gc=False, kw_only=True):
    """A workspace, and the folders in it in which a command might find itself."""

    root: str
    folders: tuple[Steps, ...] = ((),)

    def leads(self, path: str) -> tuple[Steps, ...] | None:
        """Where a path ends, from each of the folders; None if that can be outside."""
        ends = [resolve(path, self.root, folder) for folder in self.folders]
        found = tuple(dict.fromkeys(end for end in ends if end is not None))
        return found if None not in ends else None


def resolve(path: str, root: str, folder: Steps = ()) -> Steps | None:
    """The steps from the root, component by component; None where it leaves the root on its way."""
    if path.startswith("~") or "\0" in path:
        return None
    steps = [step for step in path.split("/") if step not in ("", ".")]
    if path.startswith("/"):
        home = [step for step in root.split("/") if step]
        if steps[: len(home)] != home or path.startswith("//"):
            return None
        steps, folder = steps[len(home) :], ()
    walked = list(folder)
    for step in steps:
        if step != "..":
            walked.append(step)
        elif walked:
            walked.pop()
        else:
            return None
    return tuple(walked)


_SECRETS = (
    ".env",
    ".env.*",
    ".envrc",
    ".netrc",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".ssh",
    ".aws",
    ".gnupg",
    ".kube",
    ".docker",
    "id_rsa*",
    "id_ed25519*",
    "id_ecdsa*",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.kdbx",
    "credentials.json",
    "secrets.json",
    "secrets.toml",
    "secrets.yaml",
    "secrets.yml",
    ".*_history",
)
_NO_SECRETS = (".env.example", ".env.sample", ".env.template", ".env.dist", "*.pub")


_OF_GIT = frozenset({"config", "config.worktree", "credentials"})
"""Addresses in them can hold passwords."""


def is_secret(steps: Steps) -> bool:
    if ".git" in steps and steps[-1] in _OF_GIT:
        return True
    return any(
        any(fnmatchcase(step.lower(), each) for each in _SECRETS)
        and not any(fnmatchcase(step.lower(), each) for each in _NO_SECRETS)
        for step in steps
    )


def readable(path: str, where: Where) -> str:
    """Why a command may not read this without being asked about; nothing if it may."""
    if path in HARMLESS or path == "-":
        return ""
    ends = where.leads(path)
    if ends is None:
        return f"{path} is outside the workspace"
    return f"{path} may hold secrets" if any(is_secret(end) for end in ends) else ""


_GUARDED_FOLDERS = {
    (".git",): "is git's own",
    (".hg",): "is the history's own",
    (".allstop",): "is Allstop's own",
    (".github", "workflows"): "decides what CI runs",
    (".github", "actions"): "decides what CI runs",
    (".circleci",): "decides what CI runs",
    (".buildkite",): "decides what CI runs",
    (".husky",): "holds hooks",
    (".githooks",): "holds hooks",
    (".claude",): "steers agents",
    (".codex",): "steers agents",
    (".cursor",): "steers agents",
    (".vscode",): "runs programs in an editor",
    (".idea",): "runs programs in an editor",
    (".devcontainer",): "decides what a container runs",
}
_GUARDED_FILES = {
    "allstop.toml": "holds the settings of Allstop",
    "stop": "is the brake",
    ".gitlab-ci.yml": "decides what CI runs",
    ".travis.yml": "decides what CI runs",
    "azure-pipelines.yml": "decides what CI runs",
    "bitbucket-pipelines.yml": "decides what CI runs",
    "jenkinsfile": "decides what CI runs",
    ".drone.yml": "decides what CI runs",
    "appveyor.yml": "decides what CI runs",
    "codeowners": "decides who reviews",
    ".pre-commit-config.yaml": "holds hooks",
    "lefthook.yml": "holds hooks",
    ".gitattributes": "can run filters",
    ".gitmodules": "brings other repositories in",
    ".gitconfig": "can run programs",
    ".mcp.json": "runs programs for agents",
    ".bashrc": "is run by shells",
    ".bash_profile": "is run by shells",
    ".bash_login": "is run by shells",
    ".bash_logout": "is run by shells",
    ".bash_aliases": "is run by shells",
    ".profile": "is run by shells",
    ".zshrc": "is run by shells",
    ".zshenv": "is run by shells",
    ".zprofile": "is run by shells",
    ".zlogin": "is run by shells",
    ".kshrc": "is run by shells",
    ".cshrc": "is run by shells",
    ".tcshrc": "is run by shells",
    ".inputrc": "is read by shells",
    ".envrc": "is run by shells",
    "config.fish": "is run by shells",
}


def guarded(steps: Steps) -> str:
    """Why a person is asked before this is changed; nothing where nobody is."""
    low = tuple(step.lower().rstrip(". ") for step in steps)
    if not low:
        return "is the workspace itself"
    for folder, why in _GUARDED_FOLDERS.items():
        if any(low[at : at + len(folder)] == folder for at in range(len(low))):
            return why
    if is_secret(steps):
        return "may hold secrets"
    return _GUARDED_FILES.get(low[-1], "")
