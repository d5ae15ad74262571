"""Files of a workspace that a person is asked about before they are changed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from itertools import pairwise

from allstop.policy.command_line import unfit
from allstop.policy.paths import Steps
from allstop.policy.secret_files import is_secret


def _said(reasons: Mapping[str, str]) -> dict[str, str]:
    return {name: why for why, names in reasons.items() for name in names.split()}


_FOLDERS = _said(
    {
        "is git's own": ".git git~1 git~2",
        "is the history's own": ".hg .svn .jj .bzr",
        "is Allstop's own": ".allstop",
        "decides what CI runs": ".github/workflows .github/actions .gitea .forgejo .circleci"
        " .buildkite .woodpecker .semaphore .teamcity .tekton .gitlab bamboo-specs .ci",
        "holds hooks": ".husky .githooks .git-hooks .lefthook",
        "steers agents": ".claude .codex .cursor .gemini .windsurf .continue .roo .clinerules"
        " .opencode .agents .aider .amazonq .kiro .junie",
        "runs programs in an editor": ".vscode .idea .zed .fleet .nvim",
        "decides what a container runs": ".devcontainer",
        "holds programs that are run": ".venv venv node_modules site-packages .tox .nox .direnv"
        " .yarn .pnp .mvn .bundle",
        "decides how programs are built": ".cargo",
    }
)
_FILES = _said(
    {
        "holds the settings of Allstop": "allstop.toml",
        "is the brake": "stop",
        "decides what CI runs": ".gitlab-ci.yml .travis.yml azure-pipelines.yml jenkinsfile"
        " bitbucket-pipelines.yml .drone.yml appveyor.yml .appveyor.yml .cirrus.yml .woodpecker.yml"
        " cloudbuild.yaml cloudbuild.yml buildspec.yml wercker.yml dependabot.yml renovate.json"
        " .renovaterc .renovaterc.json netlify.toml vercel.json .gitlab-ci.yaml .travis.yaml",
        "decides who reviews": "codeowners",
        "holds hooks": ".pre-commit-config.yaml .pre-commit-hooks.yaml lefthook.yml .lefthook.yml"
        " lefthook.yaml lefthook-local.yml .overcommit.yml .lintstagedrc .lintstagedrc.json",
        "can run filters": ".gitattributes",
        "brings other repositories in": ".gitmodules",
        "can run programs": ".gitconfig .hgrc .gdbinit .lldbinit .vimrc .nvimrc .exrc .emacs"
        " .dir-locals.el .tmux.conf .screenrc .wgetrc .curlrc .tool-versions mise.toml .mise.toml"
        " .yarnrc .pnpmfile.cjs .pnpmfile.js rust-toolchain rust-toolchain.toml .bazelrc .ripgreprc"
        " sitecustomize.py usercustomize.py gradlew mvnw gradle-wrapper.jar gradle-wrapper.properties",
        "steers agents": "agents.md agents.override.md claude.md claude.local.md gemini.md"
        " .cursorrules .windsurfrules .clinerules .roomodes copilot-instructions.md .aider.conf.yml"
        " opencode.json opencode.jsonc",
        "runs programs for agents": ".mcp.json mcp.json",
        "is run by shells": ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile"
        " .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc .login .envrc config.fish"
        " .xinitrc .xprofile .xsession",
        "is read by shells": ".inputrc",
    }
)
_STEERING = re.compile(r"[\s'\"`\\]|^[-~]")
"""What a shell or a program given a list of names can take for something else."""


def guarded(steps: Steps) -> str:
    """Why a person is asked before this is changed; nothing where nobody is."""
    if not steps:
        return "is the workspace itself"
    if any(_STEERING.search(step) or unfit(step) for step in steps):
        return "has a name that commands can take for something else"
    return guarded_by_place(steps)


def guarded_by_place(steps: Steps) -> str:
    """The same for a file that has been changed: what others will take it for."""
    low = tuple(_folded(step) for step in steps)
    if why := _of_folders(low):
        return why
    if is_secret(low):
        return "may hold secrets"
    return _FILES.get(low[-1], "can run programs" if low[-1].endswith(".pth") else "")


def _folded(step: str) -> str:
    """As file systems that forgive see it: case, width, what follows a colon, dots at the end."""
    return unicodedata.normalize("NFKC", step).casefold().partition(":")[0].rstrip(". ")


def _of_folders(low: Steps) -> str:
    pairs = (f"{one}/{two}" for one, two in pairwise(low))
    return next((_FOLDERS[each] for each in (*low, *pairs) if each in _FOLDERS), "")
