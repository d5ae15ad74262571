"""Held-out checks: the person's own, which agents never see."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from allstop.core.errors import AllstopError
from allstop.ports import HeldOutCheck

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.settings.model import HeldOut as Setting

FOLDER = "held-out"
"""In the project's folder: what the checks printed."""

_PYTEST = (
    "PYTHONPATH=.:src${PYTHONPATH:+:$PYTHONPATH} pytest -q -p no:cacheprovider -c /dev/null"
    ' --rootdir "$HELD_OUT" --confcutdir "$HELD_OUT" "$HELD_OUT"'
)
"""Nothing of the work configures it."""


def digest(project: Project) -> str:
    """What tells whether other checks are held out than before; "" if there are none."""
    if not (found := _settings(project)):
        return ""
    from hashlib import blake2b

    import msgspec

    return blake2b(msgspec.json.encode(found), digest_size=8).hexdigest()


class HeldOutChecks:
    def __init__(self, project: Project) -> None:
        self._project = project

    def checks(self) -> Sequence[HeldOutCheck]:
        default_s = float(self._project.settings.verification.default_timeout)
        return [_check(self._project, each, default_s) for each in _settings(self._project)]

    def keep(self, run: str, printed: str) -> None:
        folder = self._project.folder / FOLDER
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = "".join(char if char.isalnum() or char in "-_" else "_" for char in run)
        (folder / f"{name}.log").write_text(self._project.secrets.redact_all(printed))


def _settings(project: Project) -> Sequence[Setting]:
    """Those that are for this repository."""
    every = project.settings.verification.held_out
    home, here = project.environment.home, project.settings_folder.resolve()
    return [
        each
        for each in every
        if each.repository is None or _expanded(each.repository, home).resolve() == here
    ]


def _check(project: Project, setting: Setting, default_s: float) -> HeldOutCheck:
    home = project.environment.home
    run, folder = setting.run or "", setting.folder or ""
    if run and not folder and run.startswith(("/", "~/")) and _expanded(run, home).is_dir():
        run, folder = "", run
    timeout_s = float(setting.timeout or default_s)
    if not folder:
        return HeldOutCheck(run=run, timeout_s=timeout_s)
    place = _expanded(folder, home).resolve()
    if not place.is_dir():
        hint = "correct verification.held_out in your own settings file"
        raise AllstopError(f"{folder} is no folder", hint, code="held_out_missing")
    _refuse_visible(project, place)
    return HeldOutCheck(run=run or _command_of(place), folder=str(place), timeout_s=timeout_s)


def _command_of(folder: Path) -> str:
    """How to run a folder without a command of its own."""
    if os.access(folder / "check", os.X_OK):
        return '"$HELD_OUT/check"'
    if any(True for form in ("test_*.py", "*_test.py") for _ in folder.rglob(form)):
        return _PYTEST
    forms = ("*.test.js", "*.test.mjs", "*.test.cjs")
    if names := sorted(
        str(each.relative_to(folder)) for form in forms for each in folder.rglob(form)
    ):
        files = " ".join(f'"$HELD_OUT"/{shlex.quote(name)}' for name in names)
        return f"node --test {files}"
    message = f"{folder} has neither a program named check nor tests of pytest or node"
    raise AllstopError(message, "add one, or name a command", code="held_out_missing")


def _refuse_visible(project: Project, place: Path) -> None:
    """Agents see the repository, and what `sandbox.read` names."""
    home = project.environment.home
    seen = [project.settings_folder, *(_expanded(p, home) for p in project.settings.sandbox.read)]
    for each in seen:
        visible = each.resolve()
        if place.is_relative_to(visible) or visible.is_relative_to(place):
            message = f"{place} can't be held out, because agents can read {visible}"
            hint = "move the held-out checks to a folder that no agent can read"
            raise AllstopError(message, hint, code="held_out_visible")


def _expanded(path: str, home: Path) -> Path:
    return home / path[2:] if path.startswith("~/") else Path(path)
