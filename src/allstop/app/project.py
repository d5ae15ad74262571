"""A project: the repository, its .allstop folder, settings and journal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from allstop.adapters.clock import SystemClock
from allstop.core.errors import AllstopError

if TYPE_CHECKING:
    from typing import TypeAlias

    from allstop.adapters.git.repository.repository import Repository
    from allstop.adapters.journals.postgres import PostgresJournal
    from allstop.adapters.journals.postgres_reader import PostgresRecords
    from allstop.adapters.journals.sqlite import SqliteJournal
    from allstop.adapters.journals.sqlite_reader import SqliteRecords
    from allstop.app.secrets import ReadKey
    from allstop.core.events import Event
    from allstop.core.secrets import Secrets
    from allstop.settings.loader import Loaded
    from allstop.settings.model import Settings
    from allstop.settings.sources.environment import Environment
    from allstop.views.kind import Kind

    ProjectJournal: TypeAlias = SqliteJournal | PostgresJournal
    ProjectRecords: TypeAlias = SqliteRecords | PostgresRecords

FOLDER = ".allstop"
SQLITE = "sqlite"


class NoRepositoryError(AllstopError):
    """There is no git repository here."""

    default_code = "no_repository"


class Project:
    """Loads each part on first use: commands that only read need few of them."""

    def __init__(
        self,
        start: Path,
        environment: Environment,
        flags: Mapping[str, object] | None = None,
        kinds: Mapping[str, Kind] | None = None,
        *,
        repairs: bool = False,
    ) -> None:
        """With `repairs`, an invalid allstop.toml is replaced by its last valid version."""
        self.environment = environment
        self.clock = SystemClock()
        self.root = find_root(start)
        self.settings_folder = self.root or start.absolute()  # its allstop.toml applies
        self._flags = flags or {}
        self._kinds = kinds
        self._repairs = repairs
        self.repair_note = ""
        self.worker = ""  # the name under which this process works in a fleet
        self._copied: dict[str, None] = {}  # secrets in copied files; workspaces may hold old ones
        self.read_keys: dict[tuple[str, ...], ReadKey] = {}  # by the command that printed them

    @cached_property
    def kinds(self) -> Mapping[str, Kind]:
        """The kinds of runs that this program knows."""
        if self._kinds is not None:
            return self._kinds
        from allstop.kinds import KINDS

        return KINDS

    @property
    def folder(self) -> Path:
        """Holds the journal, the workspaces and the logs."""
        if self.root is not None:
            return self.root / FOLDER
        return self.environment.trust_file.parent / "rooms"

    def make_folder(self) -> None:
        """Make the folder, readable by its owner only and ignored by git."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        ignore = self.folder / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")

    @property
    def repository(self) -> Path:
        if self.root is None:
            raise NoRepositoryError(
                "this is no git repository", "change to one, or create one with `git init`"
            )
        return self.root

    @property
    def live(self) -> Path:
        return self.folder / "live"

    @cached_property
    def loaded(self) -> Loaded:
        """The settings in force: by the target branch's allstop.toml, once it has one."""
        from allstop.app.settings_in_git import Branches
        from allstop.settings.loader import load
        from allstop.settings.problems import SettingsError
        from allstop.settings.target_branch import load_for_work, load_last_valid

        if self.root is None:
            return load(self.environment, repository=self.settings_folder, flags=self._flags)
        branches = Branches(self.git_root, self.environment.variables, self.repository)
        try:
            return load_for_work(
                self.environment, repository=self.root, branches=branches, flags=self._flags
            )
        except SettingsError as broken:
            if not self._repairs:
                raise
            loaded = load_last_valid(
                broken,
                self.environment,
                repository=self.root,
                earlier=branches.earlier(),
                flags=self._flags,
            )
            self.repair_note = loaded.notes[-1]
            return loaded

    @cached_property
    def checkout(self) -> Loaded:
        """The settings by the checkout's allstop.toml, which take effect once committed."""
        from allstop.settings.loader import load

        return load(self.environment, repository=self.settings_folder, flags=self._flags)

    def with_file(self, content: bytes | None) -> Loaded:
        """The settings as if the checkout's allstop.toml had this content; None reads the file."""
        from allstop.settings.loader import load

        return load(
            self.environment,
            repository=self.settings_folder,
            committed=content,
            flags=self._flags,
        )

    def forget_settings(self) -> None:
        """The next use reads them again."""
        for name in ("loaded", "checkout", "secrets"):
            self.__dict__.pop(name, None)

    def reload_settings(self) -> str:
        """Read them again. If they are invalid, the last ones stay; returns the error or ""."""
        from allstop.settings.problems import SettingsError

        before = self.__dict__.pop("loaded", None)
        for name in ("checkout", "secrets"):
            self.__dict__.pop(name, None)
        try:
            self.loaded  # noqa: B018 - reads the files
        except (SettingsError, AllstopError) as error:
            if before is None:
                raise
            self.__dict__["loaded"] = before
            return str(error)
        return ""

    @property
    def settings(self) -> Settings:
        return self.loaded.settings

    @property
    def has_store(self) -> bool:
        """Whether there is a journal to read; on a server there always is."""
        return (self.folder / "journal.db").exists() or self.store_url != SQLITE

    @cached_property
    def store_url(self) -> str:
        """The address of the journal's database, or `sqlite`. It may contain a password.

        The settings are loaded only if a file can name an address, because that takes long. A
        repository's address needs trust, and only the checkout's counts.
        """
        if given := self.environment.variables.get("ALLSTOP_STORE_URL", "").strip():
            return given
        files = (self.environment.user_file, self.settings_folder / "allstop.toml")
        return self.checkout.settings.store.url if any(map(_may_name_server, files)) else SQLITE

    @cached_property
    def shared_remote(self) -> str:
        """The git remote that the machines of a fleet share; "" without a fleet."""
        if self.root is None or self.store_url == SQLITE:
            return ""
        return self.checkout.settings.fleet.remote or ""

    @property
    def mirror(self) -> Path:
        """Of the shared remote."""
        return self.folder / "mirror"

    @property
    def git_root(self) -> Path:
        """Where git finds the branches and commits of the work: in a fleet, the mirror."""
        if self.shared_remote and (self.mirror / ".git" / "HEAD").exists():
            return self.mirror
        return self.repository

    def open_repository(self) -> Repository:
        from allstop.adapters.git.repository.repository import Repository

        return Repository(self.repository, self.git_root)

    @cached_property
    def journal(self) -> ProjectJournal:
        if self.store_url != SQLITE:
            from allstop.app.store import open_postgres

            return open_postgres(self, self.store_url, clean=self.as_recorded)
        from allstop.adapters.journals.sqlite import SqliteJournal

        with self._opening():
            self.make_folder()
            return SqliteJournal(self.folder, self.clock, clean=self.as_recorded)

    @property
    def records(self) -> ProjectRecords:
        """The journal for readers: it loads faster than one that can write."""
        return self.journal if "journal" in self.__dict__ else self._records

    @cached_property
    def _records(self) -> ProjectRecords:
        if self.store_url != SQLITE:
            from allstop.app.store import open_records

            return open_records(self, self.store_url)
        from allstop.adapters.journals.sqlite_reader import SqliteRecords

        with self._opening():
            return SqliteRecords(self.folder, self.clock)

    @property
    def moved_file(self) -> Path:
        return self.folder / "moved"

    @property
    def moved_to(self) -> str:
        """The database to which the journal in this folder was copied; "" if it wasn't."""
        try:
            return self.moved_file.read_text(encoding="utf-8").strip()
        except OSError:
            return ""

    @contextmanager
    def _opening(self) -> Iterator[None]:
        from allstop.ports import StoreBrokenError

        if (address := self.moved_to) != "":
            raise StoreBrokenError(
                f"the journal of this folder was copied to {address}",
                "set ALLSTOP_STORE_URL, or [store] url in your own settings, to that address; to go"
                f" on with the older copy here instead, delete {self.moved_file}",
                code="store_moved",
            )
        try:
            yield
        except OSError as error:
            raise StoreBrokenError(
                f"the store can't be opened: {error.filename or self.folder}: {error.strerror}",
                "it needs a writable folder on a disk with free space",
            ) from error

    @cached_property
    def secrets(self) -> Secrets:
        """The secrets that are never recorded or shown."""
        from allstop.app.secrets import copied_secrets, known_secrets

        if self.root is not None:
            self._copied.update(dict.fromkeys(copied_secrets(self.root, lambda: self.settings)))
        self._copied.update((read.key, None) for read in self.read_keys.values())
        token = self.folder / "token"
        return known_secrets(self.environment, lambda: self.settings, token, self._copied)

    def reload_secrets(self) -> None:
        """Read them again at the next use; values of copied files that are known stay known."""
        self.__dict__.pop("secrets", None)

    def as_recorded(self, event: Event) -> Event:
        """The event without known secrets; a person's commands also lose unmistakable keys."""
        from allstop.core.events import Commanded

        if isinstance(event, Commanded):
            return self.secrets.redact_certain_in(event)
        return self.secrets.redact_known_in(event)

    @property
    def is_trusted(self) -> bool:
        """Whether the person has accepted the sensitive settings of allstop.toml."""
        from allstop.settings.repository_trust.accepted import is_trusted

        trust_file, sensitive = self.environment.trust_file, self.loaded.sensitive
        return is_trusted(trust_file, self.settings_folder, sensitive)

    def close(self) -> None:
        for name in ("journal", "_records"):
            if name in self.__dict__:
                self.__dict__[name].close()


def _may_name_server(file: Path) -> bool:
    try:
        return b"postgres" in file.read_bytes()
    except OSError:
        return False


def find_root(start: Path) -> Path | None:
    """The nearest folder upwards that holds a git repository."""
    for folder in (start, *start.parents):
        if (folder / ".git").exists():
            return folder
    return None
