"""The entry point of the command `allstop`."""

from __future__ import annotations

import gc
import os
import sys
import time

TYPE_CHECKING = False  # importing `typing` would double the time of `--version`
if TYPE_CHECKING:
    from collections.abc import Sequence

    from allstop.app.supervisor import RunKinds


def remove_current_folder() -> None:
    """Remove the current folder from the module search path of `python -m allstop`.

    Agents write to that repository; a file with a module's name would be imported.
    """
    if __package__ and not sys.flags.safe_path:
        del sys.path[0]


def main(args: Sequence[str] | None = None, kinds: RunKinds | None = None) -> None:
    """Run `allstop` with `args`; `kinds` adds to or replaces the kinds of runs it knows."""
    is_process = args is None
    if is_process:
        gc.set_threshold(20_000, 20, 20)  # else a tenth of the start is garbage collection
    args = sys.argv[1:] if args is None else args
    if args == ["--version"]:  # loading the command line would take four times as long
        from allstop.version import describe_version

        print(f"allstop, version {describe_version()}")  # noqa: T201
        return
    try:
        if kinds is None and args in (["stop"], ["stop", "--json"]):
            _stop(as_json="--json" in args, is_process=is_process)
        is_plain = args in ([], ["status"]) and "_ALLSTOP_COMPLETE" not in os.environ
        if kinds is not None or not is_plain or not _printed_status():
            _run(args, kinds)
    except KeyboardInterrupt:  # also while modules are still being loaded
        sys.exit(130)
    finally:
        gc.freeze()  # saves a garbage collection of all loaded modules at exit


def _stop(*, as_json: bool, is_process: bool) -> None:
    """Try to stop everything and exit; after a failure the command line repeats it.

    The STOP file comes before the imports: beside busy agents they can take seconds, and the
    processes that drive the agents end them as soon as they see the file.
    """
    began = time.clock_gettime(time.CLOCK_REALTIME)
    try:
        _create_stop_file()
        from allstop.quick_stop import quick_stop

        code = quick_stop(began, as_json=as_json, is_process=is_process)
    except Exception:  # noqa: BLE001 - the command line reports it
        return
    sys.exit(code)


def _create_stop_file() -> None:
    """Create the file of this repository, if it has a store: `allstop.app.project` finds others."""
    folder = os.getcwd()  # noqa: PTH109 - importing `pathlib` takes too long
    while not os.path.exists(f"{folder}/.git"):  # noqa: PTH110
        parent = os.path.dirname(folder)  # noqa: PTH120
        if parent == folder:
            return
        folder = parent
    if os.path.isdir(f"{folder}/.allstop/live"):  # noqa: PTH112
        draft = f"{folder}/.allstop/.STOP-{os.getpid()}"
        try:
            with open(draft, "w") as file:  # noqa: PTH123
                file.write("allstop stop\n")
            os.replace(draft, f"{folder}/.allstop/STOP")  # noqa: PTH105
        except OSError:
            pass  # such as a full disk: `quick_stop` tries again, and kills the agents anyway


def _printed_status() -> bool:
    """Try to print the status; after a failure the command line repeats it and reports the error."""
    from allstop.glance import glance

    try:
        glance()
    except Exception:  # noqa: BLE001 - the command line reports it
        return False
    return True


def _run(args: Sequence[str], kinds: RunKinds | None) -> None:
    from allstop.cli import main as run

    run(args, kinds)


if __name__ == "__main__":
    remove_current_folder()
    main()
