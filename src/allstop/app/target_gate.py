"""The gate and clone setup by the target branch's allstop.toml, which a merge may change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from anyio import to_thread

from allstop.adapters.git.repository.safe_names import branch_ref
from allstop.adapters.git.workspace.clone import CloneSetup
from allstop.app import held_out
from allstop.app.agents.box import work_box
from allstop.app.gateway.lock_files import LockFiles, hosts_of
from allstop.app.settings_in_git import Branches
from allstop.core.errors import AllstopError
from allstop.core.gate import Check, Gate
from allstop.settings import networks
from allstop.settings.loader import FILE_NAME
from allstop.settings.problems import SettingsError

if TYPE_CHECKING:
    from allstop.adapters.git.repository.repository import Repository
    from allstop.app.project import Project
    from allstop.settings.loader import Loaded
    from allstop.settings.model import Settings


def gate(settings: Settings, held_out: str = "") -> Gate:
    """`held_out` is the digest of the person's held-out checks.

    Raises AllstopError if checks are required and none is configured.
    """
    verification = settings.verification
    if verification.required and not verification.commands:
        raise AllstopError(
            "no verification commands are configured, and [verification] required = true",
            "add [[verification.commands]] to allstop.toml, or set required = false",
            code="no_checks",
        )
    return Gate(
        checks=checks(settings),
        keep_going=verification.keep_going,
        protected=verification.protected,
        integrity=verification.strictness,
        held_out=held_out,
        mutation=verification.mutation,
        quarantine=verification.quarantine,
    )


def checks(settings: Settings) -> tuple[Check, ...]:
    verification = settings.verification
    return tuple(
        Check(
            name=check.name or check.run,
            run=check.run,
            timeout_s=float(check.timeout or verification.default_timeout),
            required=check.required,
            paths=check.paths,
            each_turn=check.each_turn,
            report=check.report or "",
        )
        for check in verification.commands
    )


def check_variables(project: Project) -> Mapping[str, str]:
    """The variables that only checks get."""
    variables = project.environment.variables
    names = project.settings.verification.env
    return {name: variables[name] for name in names if name in variables}


def clone_setup(
    project: Project, settings: Settings, registries: tuple[str, ...] = ()
) -> CloneSetup:
    """`registries`: the package registries that checks and the setup command may reach."""
    workspace, verification = settings.workspace, settings.verification
    return CloneSetup(
        copy=workspace.copy,
        setup=workspace.setup or "",
        setup_timeout_s=float(workspace.setup_timeout),
        setup_box=work_box(project, networks.of_setup(settings), (*registries, *workspace.hosts)),
        check_box=work_box(
            project, networks.of_checks(settings), (*registries, *verification.hosts)
        ),
    )


class _Source(NamedTuple):
    """What the gate was computed from."""

    blob: str | None  # of the branch's file
    checkout: bytes | None  # the checkout's file, if the branch has none
    loaded: Loaded  # all other settings
    registries: tuple[str, ...]  # that the branch's lock files name


class _Cached(NamedTuple):
    """The gate and clone setup by the last valid file of a branch."""

    source: _Source | None = None  # last read, valid or not
    gate: Gate | None = None
    clone_setup: CloneSetup | None = None


class TargetFile:
    """Reads each branch's allstop.toml. If it is invalid, the last valid one stays in force."""

    def __init__(
        self, project: Project, repository: Repository, note: Callable[[str], None]
    ) -> None:
        self._project = project
        self._repository = repository
        self._note = note
        self._branches = Branches(project.git_root, project.environment.variables)
        self._lock_files = LockFiles(repository)
        self._cache: dict[str, _Cached] = {}  # by branch

    async def gate(self, target: str) -> Gate | None:
        return (await self._current(target)).gate

    async def clone_setup(self, target: str) -> CloneSetup | None:
        self._project.reload_secrets()  # the files that the clone gets may have changed
        return (await self._current(target)).clone_setup

    async def problem(self, commit: str) -> str:
        """Why the commit's allstop.toml can't be used; "" if it can, or there is none."""
        (found,) = await self._repository.look_up(f"{commit}:{FILE_NAME}")
        if found is None:
            return ""
        if found.kind != "blob":
            return f"{FILE_NAME} isn't a file"
        try:
            content = await to_thread.run_sync(self._branches.blob, found.name, commit)
            gate(self._project.with_file(content).settings)
        except (AllstopError, SettingsError) as error:
            return str(error)
        return ""

    async def _current(self, target: str) -> _Cached:
        try:
            await self._refresh(target)
        except (AllstopError, SettingsError) as error:
            self._note(f"{FILE_NAME} on {target} is invalid; the last gate stays: {error}")
        return self._cache.get(target, _Cached())

    async def _refresh(self, target: str) -> None:
        """Reads the file only if it changed: this runs for every clone and every check."""
        ref = branch_ref(target)
        asked = (f"{ref}:{FILE_NAME}", f"{ref}^{{tree}}")
        found, tree = await self._repository.look_up(*asked) if ref else (None, None)
        blob = found.name if found and found.kind == "blob" else None
        files = await self._lock_files.of(tree.name) if tree else ()
        source = _Source(
            blob,
            self._checkout() if blob is None else None,
            self._project.loaded,
            hosts_of(files),
        )
        before = self._cache.get(target, _Cached())
        if source == before.source:
            return
        committed = await to_thread.run_sync(self._branches.blob, blob, target) if blob else None
        self._cache[target] = before._replace(source=source)
        settings = self._project.with_file(committed).settings
        self._cache[target] = _Cached(
            source,
            gate(settings, held_out.digest(self._project)),
            clone_setup(self._project, settings, source.registries),
        )

    def _checkout(self) -> bytes | None:
        try:
            return (self._project.repository / FILE_NAME).read_bytes()
        except OSError:
            return None
