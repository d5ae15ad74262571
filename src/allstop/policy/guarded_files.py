"""Files of a workspace that an agent may change only with permission, and why."""

import re
import unicodedata
from collections.abc import Mapping
from itertools import pairwise

from allstop.policy.command_line import unsafe_text_reason
from allstop.policy.paths import Steps
from allstop.policy.secret_files import is_secret


def _by_name(reasons: Mapping[str, str]) -> dict[str, str]:
    return {name: why for why, names in reasons.items() for name in names.split()}


_FOLDERS = _by_name(
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
_FILES = _by_name(
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
_MISLEADING = re.compile(r"[\s'\"`\\]|^[-~]")
"""Characters that make a shell or a program misread a file name."""


def guard_reason(steps: Steps) -> str:
    """Why changing a path needs permission; "" if it doesn't."""
    if not steps:
        return "is the workspace itself"
    if any(_MISLEADING.search(step) or unsafe_text_reason(step) for step in steps):
        return "has a name that commands can misread"
    return guard_reason_by_path(steps)


def guard_reason_by_path(steps: Steps) -> str:
    """Like `guard_reason`, for a file that has been changed already: only by its path."""
    low = tuple(_folded(step) for step in steps)
    if why := _folder_reason(low):
        return why
    if is_secret(low):
        return "may hold secrets"
    return _FILES.get(low[-1], "can run programs" if low[-1].endswith(".pth") else "")


def _folded(step: str) -> str:
    """As lenient file systems see it: without case, width, streams after a colon, trailing dots."""
    return unicodedata.normalize("NFKC", step).casefold().partition(":")[0].rstrip(". ")


def _folder_reason(low: Steps) -> str:
    pairs = (f"{one}/{two}" for one, two in pairwise(low))
    return next((_FOLDERS[each] for each in (*low, *pairs) if each in _FOLDERS), "")
