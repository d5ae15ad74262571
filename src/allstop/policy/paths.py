"""Resolves paths of a command: inside the workspace or not, and readable without asking or not."""

from collections.abc import Callable

from msgspec import Struct

from allstop.policy.secret_files import is_secret

Steps = tuple[str, ...]

HARMLESS_DEVICES = frozenset({"/dev/null", "/dev/stdin"})
MAX_FOLDERS = 8


def never_escapes(path: str) -> bool:
    return False


class PathScope(Struct, frozen=True, gc=False, kw_only=True):
    """A workspace, and the folders in it that may be a command's working directory."""

    root: str
    folders: tuple[Steps, ...] = ((),)
    scratch: str = ""  # another folder that the command may use freely
    escapes: Callable[[str], bool] = never_escapes  # whether links in a path lead outside
    reads_stdin: bool = False  # its input is the output of the command before it

    def resolve(self, path: str) -> tuple[Steps, ...] | None:
        """The targets of a path from each of the folders; None if one may be outside."""
        ends = [self._end(path, folder) for folder in self.folders]
        found = tuple(dict.fromkeys(end for end in ends if end is not None))
        return found if None not in ends else None

    def _end(self, path: str, folder: Steps) -> Steps | None:
        end = resolve(path, self.root, folder)
        if end is not None and self.escapes(self._whole(path, folder)):
            return None
        is_other = end is None and self.scratch and path.startswith("/")
        return resolve(path, self.scratch) if is_other else end

    def _whole(self, path: str, folder: Steps) -> str:
        return path if path.startswith("/") else "/".join((self.root, *folder, path))


def resolve(path: str, root: str, folder: Steps = ()) -> Steps | None:
    """The components of a path below the root; None if it leaves the root at any point."""
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


def unreadable_reason(path: str, where: PathScope) -> str:
    """Why reading a path needs permission; "" if it doesn't."""
    if path in HARMLESS_DEVICES or path == "-":
        return ""
    ends = where.resolve(path)
    if ends is None:
        return f"{path} is outside the workspace"
    return f"{path} may hold secrets" if any(is_secret(end) for end in ends) else ""
