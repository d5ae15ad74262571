"""The gate and the setup as the target branch has them by now: what landed may have changed them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from anyio import to_thread

from allstop.adapters.git.repository.safe_names import branch_ref
from allstop.adapters.git.workspace.clone import CloneSetup
from allstop.app.branch_settings import Branches
from allstop.core.errors import AllstopError
from allstop.core.gate import Check, Gate
from allstop.settings.loader import FILE_NAME
from allstop.settings.problems import SettingsError

if TYPE_CHECKING:
    from allstop.adapters.git.repository.repository import Repository
    from allstop.app.project import Project
    from allstop.settings.loader import Loaded
    from allstop.settings.model import Settings


def gate(settings: Settings) -> Gate:
    """Raises AllstopError where a gate is demanded and none is named."""
    verification = settings.verification
    if verification.required and not verification.commands:
        raise AllstopError(
            "no verification commands are configured, and [verification] required = true",
            "add [[verification.commands]] to allstop.toml, or set required = false",
        )
    return Gate(
        checks=checks(settings),
        keep_going=verification.keep_going,
        protected=verification.protected,
        protection=verification.protection,
    )


def checks(settings: Settings) -> tuple[Check, ...]:
    verification = settings.verification
    return tuple(
        Check(
            name=check.name or check.run,
            run=check.run,
            timeout_s=float(check.timeout or verification.default_timeout),
            required=check.required,
        )
        for check in verification.commands
    )


def clone_setup(settings: Settings) -> CloneSetup:
    workspace = settings.workspace
    return CloneSetup(
        copy=workspace.copy,
        setup=workspace.setup or "",
        setup_timeout_s=float(workspace.setup_timeout),
    )


class _Seen(NamedTuple):
    blob: str | None  # the branch's own
    here: bytes | None  # the checkout's, where it has none
    others: Loaded  # what else has a say


class _Read(NamedTuple):
    """A branch's file, as it was when it could last be used."""

    seen: _Seen | None = None  # what was looked at last
    gate: Gate | None = None
    clone_setup: CloneSetup | None = None


class TargetFile:
    """Where a branch's file can't be used, the last of it that could be read counts, and it is said."""

    def __init__(
        self, project: Project, repository: Repository, note: Callable[[str], None]
    ) -> None:
        self._project = project
        self._repository = repository
        self._note = note
        self._branches = Branches(project.repository, project.environment.variables)
        self._read: dict[str, _Read] = {}  # by the branch

    async def gate(self, target: str) -> Gate | None:
        return (await self._known(target)).gate

    async def clone_setup(self, target: str) -> CloneSetup | None:
        return (await self._known(target)).clone_setup

    async def _known(self, target: str) -> _Read:
        try:
            await self._look(target)
        except (AllstopError, SettingsError) as error:
            self._note(f"{FILE_NAME} on {target} can't be used, the last gate stays: {error}")
        return self._read.get(target, _Read())

    async def _look(self, target: str) -> None:
        """Read it only where it is another one: this is asked for every clone and every check."""
        ref = branch_ref(target)
        (found,) = await self._repository.look_up(f"{ref}:{FILE_NAME}") if ref else (None,)
        blob = found.name if found and found.kind == "blob" else None
        seen = _Seen(blob, self._checkout() if blob is None else None, self._project.loaded)
        before = self._read.get(target, _Read())
        if seen == before.seen:
            return
        committed = await to_thread.run_sync(self._branches.blob, blob, target) if blob else None
        self._read[target] = before._replace(seen=seen)
        settings = self._project.with_file(committed).settings
        self._read[target] = _Read(seen, gate(settings), clone_setup(settings))

    def _checkout(self) -> bytes | None:
        try:
            return (self._project.repository / FILE_NAME).read_bytes()
        except OSError:
            return None
