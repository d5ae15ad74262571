"""Repository files: reads the files that detection needs."""

from collections.abc import Callable
from pathlib import Path

from msgspec import DecodeError, json

from allstop.settings.key_path import Document

LARGEST_BYTES = 1_000_000


class RepositoryFiles:
    """Files that can't be read or parsed count as absent."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def has(self, name: str) -> bool:
        return self._is_file(self.root / name)

    def has_any(self, pattern: str) -> bool:
        return any(self._is_file(path) for path in self.root.glob(pattern))

    def names(self, is_wanted: Callable[[str], bool]) -> list[str]:
        """The wanted files of the root folder."""
        try:
            names = sorted(path.name for path in self.root.iterdir())
        except OSError:
            return []
        return [name for name in names if is_wanted(name) and self.has(name)]

    def folders(self, *names: str) -> tuple[str, ...]:
        """The names that are folders, without symbolic links."""
        paths = ((name, self.root / name) for name in names)
        return tuple(name for name, path in paths if path.is_dir() and not path.is_symlink())

    def text(self, name: str) -> str:
        path = self.root / name
        try:
            if not path.is_file() or path.stat().st_size > LARGEST_BYTES:
                return ""
            return path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def toml(self, name: str) -> Document:
        import tomllib

        try:
            return tomllib.loads(self.text(name))
        except (ValueError, RecursionError):
            return {}

    def json(self, name: str) -> Document:
        try:
            return json.decode(self.text(name) or "{}", type=dict[str, object])
        except (DecodeError, RecursionError):
            return {}

    def _is_file(self, path: Path) -> bool:
        try:
            return path.is_file()
        except OSError:
            return False
