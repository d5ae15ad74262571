"""The store of a project: in its folder, or on a PostgreSQL server."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from allstop.adapters.journals.heartbeat import LeaseTimes
    from allstop.adapters.journals.postgres import PostgresJournal
    from allstop.adapters.journals.postgres_reader import PostgresRecords
    from allstop.core.events import Event
    from allstop.ports import Clock, Holder
    from allstop.settings.loader import Loaded
    from allstop.settings.sources.environment import Environment

REPOSITORY_FILE = "repository"
"""Keeps the repository's name, because finding it takes git a while."""


class StoreOwner(Protocol):
    """The part of a project that its store needs."""

    environment: Environment
    root: Path | None
    worker: str

    @property
    def clock(self) -> Clock: ...
    @property
    def folder(self) -> Path: ...
    @property
    def checkout(self) -> Loaded: ...
    def make_folder(self) -> None: ...


def open_postgres(
    project: StoreOwner, url: str, clean: Callable[[Event], Event] | None
) -> PostgresJournal:
    from allstop.adapters.journals.postgres import PostgresJournal

    return PostgresJournal(
        url,
        project.folder,
        project.clock,
        own=own_process(project),
        repository=repository_name(project),
        clean=clean,
        times=lease_times(project),
        is_gone=is_gone,
        facts=own_facts(project),
    )


def own_facts(project: StoreOwner) -> Callable[[], Mapping[str, object]]:
    """What this process tells the store with each heartbeat: its version, and its machine's load."""
    from allstop import __version__
    from allstop.adapters.processes.load import LoadMeter

    meter = LoadMeter(project.folder)
    return lambda: {"version": __version__, "load": meter.read()}


def open_records(project: StoreOwner, url: str) -> PostgresRecords:
    from allstop.adapters.journals.postgres_reader import PostgresRecords

    return PostgresRecords(url, project.folder, repository_name(project), is_gone)


def is_gone(holder: Holder) -> bool:
    """Whether it is a process of this machine that has ended."""
    from allstop.adapters.processes.identity import Identity, current_world, is_alive

    identity = Identity(pid=holder.pid, started=holder.started, world=holder.world)
    return holder.world == current_world() and not is_alive(identity)


def lease_times(project: StoreOwner) -> LeaseTimes:
    """Agents end well before another process may start the same work again."""
    from allstop.adapters.journals.heartbeat import LeaseTimes

    lease_s = project.checkout.settings.store.lease_s
    return LeaseTimes(beat_s=lease_s / 6, fence_s=lease_s * 2 / 3, lease_s=lease_s)


def own_process(project: StoreOwner) -> Holder:
    from allstop.adapters.processes.identity import own_identity
    from allstop.ports import Holder

    identity = own_identity()
    return Holder(
        pid=identity.pid,
        host=socket.gethostname(),
        world=identity.world,
        started=identity.started,
        worker=project.worker,
        command=" ".join(["allstop", *sys.argv[1:]])[:200],
        since=project.clock.now(),
    )


def repository_name(project: StoreOwner) -> str:
    """The first commit of the repository, which all its clones have; "" if there is none."""
    if project.root is None:
        return ""
    file = project.folder / REPOSITORY_FILE
    with suppress(OSError, UnicodeDecodeError):
        return file.read_text(encoding="utf-8").strip()
    found = _first_commit(project.root, project.environment.variables)
    if found:
        project.make_folder()
        file.write_text(f"{found}\n", encoding="utf-8")
    return found


def _first_commit(root: Path, variables: Mapping[str, str]) -> str:
    kept = {name: value for name, value in variables.items() if not name.startswith("GIT_")}

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", *words],
            cwd=root,
            env={"PATH": os.defpath, **kept, "LC_ALL": "C"},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.strip() if done.returncode == 0 else ""

    if git("rev-parse", "--is-shallow-repository") != "false":
        return ""  # its first commit isn't that of other clones
    return git("rev-list", "--max-parents=0", "--reverse", "HEAD").partition("\n")[0]
