"""Which paths are inside the workspace, and which of those are not like others."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from allstop.policy.secret_files import is_secret

Steps = tuple[str, ...]

HARMLESS = frozenset({"/dev/null", "/dev/stdin"})
MOST_FOLDERS = 8


def no_links(path: str) -> bool:
    return False


class Where(Struct, frozen=True, gc=False, kw_only=True):
    """A workspace, and the folders in it in which a command might find itself."""

    root: str
    folders: tuple[Steps, ...] = ((),)
    scratch: str = ""  # another folder in which it may do as it likes
    leads_out: Callable[[str], bool] = no_links  # by links that are on the way
    is_fed: bool = False  # it reads what the command before it writes

    def leads(self, path: str) -> tuple[Steps, ...] | None:
        """Where a path ends, from each of the folders; None if that can be outside."""
        ends = [self._end(path, folder) for folder in self.folders]
        found = tuple(dict.fromkeys(end for end in ends if end is not None))
        return found if None not in ends else None

    def _end(self, path: str, folder: Steps) -> Steps | None:
        end = resolve(path, self.root, folder)
        if end is not None and self.leads_out(self._whole(path, folder)):
            return None
        is_other = end is None and self.scratch and path.startswith("/")
        return resolve(path, self.scratch) if is_other else end

    def _whole(self, path: str, folder: Steps) -> str:
        return path if path.startswith("/") else "/".join((self.root, *folder, path))


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


def readable(path: str, where: Where) -> str:
    """Why a command may not read this without being asked about; nothing if it may."""
    if path in HARMLESS or path == "-":
        return ""
    ends = where.leads(path)
    if ends is None:
        return f"{path} is outside the workspace"
    return f"{path} may hold secrets" if any(is_secret(end) for end in ends) else ""
