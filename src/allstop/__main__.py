"""The command `allstop`."""

from __future__ import annotations

import gc
import os
import sys

from allstop import __version__

TYPE_CHECKING = False  # `typing` takes as long to load as all else that `--version` needs
if TYPE_CHECKING:
    from collections.abc import Sequence

    from allstop.app.supervisor import RunKinds


def forget_the_folder() -> None:
    """`python -m allstop` looks for every module in the folder it is run in first.

    That is a repository, in which agents' work arrives: what is called like a module would run.
    """
    if __package__ and not sys.flags.safe_path:
        del sys.path[0]


def main(args: Sequence[str] | None = None, kinds: RunKinds | None = None) -> None:
    """Run `allstop` with `args`; `kinds` adds to or replaces the kinds of runs it knows."""
    args = sys.argv[1:] if args is None else args
    if args == ["--version"]:  # to load what reads other words takes four times as long
        print(f"allstop, version {__version__}")  # noqa: T201
        return
    try:
        is_plain = args in ([], ["status"]) and "_ALLSTOP_COMPLETE" not in os.environ
        if kinds is not None or not is_plain or not _glanced():
            _run(args, kinds)
    except KeyboardInterrupt:  # also while modules are still being loaded
        sys.exit(130)
    finally:
        gc.freeze()  # otherwise Python looks through all that was loaded once more before it ends


def _glanced() -> bool:
    """Whether the status has been said. If not, the command line tries, and says what is wrong."""
    from allstop.glance import glance

    try:
        glance()
    except Exception:  # noqa: BLE001 - it is met again
        return False
    return True


def _run(args: Sequence[str], kinds: RunKinds | None) -> None:
    from allstop.cli import main as run

    run(args, kinds)


if __name__ == "__main__":
    forget_the_folder()
    main()
