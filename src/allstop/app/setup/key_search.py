"""Searches for the keys of agents from inside their boxes: `allstop doctor`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from msgspec import Struct
from msgspec.structs import replace

from allstop.adapters.gateway import escape_program
from allstop.adapters.processes.sandbox_probe import make_launcher
from allstop.app.agents import registry
from allstop.app.agents.box import own_box
from allstop.app.agents.keys import NOT_READ_YET, key_for, refresh_key
from allstop.app.agents.model_access import BOXLESS, outside_login, real_key, uses_gateway
from allstop.app.secrets import copied_secrets
from allstop.app.setup.doctor import Finding
from allstop.core.errors import AllstopError
from allstop.core.events import Killed
from allstop.core.ids import AgentName, RunId
from allstop.core.prompt import prompt
from allstop.engine.tool_adviser import NullWatch
from allstop.ports import Child, Isolation, Launch, Launcher, LaunchError, MemoryExceeded, Turn

if TYPE_CHECKING:
    from allstop.app.project import Project

SEARCH_S = 60.0


class SearchedBox(Struct, frozen=True, kw_only=True):
    agent: str
    has_key: bool  # the key was found in the box
    is_metered: bool  # the agent uses the gateway, so there must be none
    in_copied: bool = False  # a file that [workspace] copy copies has it


class SearchLauncher:
    """Runs a search in the box of each launch, in place of the program, which then fails."""

    def __init__(self, launcher: Launcher, key: bytes) -> None:
        self._launcher = launcher
        self._key = key
        self.searched = 0  # bytes
        self.has_key = False

    @property
    def isolation(self) -> Isolation:
        return self._launcher.isolation

    def launch(self, launch: Launch) -> AbstractAsyncContextManager[Child]:
        return _Search(self, launch)

    async def search(self, launch: Launch) -> None:
        self._look("\0".join(launch.argv).encode(errors="replace"))
        argv = (sys.executable, "-I", "-S", "-c", _program(), "search")
        async with self._launcher.launch(replace(launch, argv=argv)) as child:
            last = b""
            while chunk := await child.receive():
                self._look(last + chunk.data)
                last = chunk.data[-len(self._key) :]
                self.searched += len(chunk.data)

    def _look(self, data: bytes) -> None:
        self.has_key = self.has_key or self._key in data

    async def freeze(self, label: str) -> None:
        await self._launcher.freeze(label)

    async def thaw(self, label: str) -> None:
        await self._launcher.thaw(label)

    def kill(self, label: str) -> None:
        self._launcher.kill(label)

    async def memory_exceeded(self) -> MemoryExceeded:
        return await self._launcher.memory_exceeded()

    def out_of_memory(self, label: str) -> str:
        return self._launcher.out_of_memory(label)

    def killed(self, label: str = "") -> tuple[Killed, ...]:
        return self._launcher.killed(label)


def _program() -> str:
    return Path(escape_program.__file__).read_text(encoding="utf-8")


class _Search(AbstractAsyncContextManager[Child]):
    def __init__(self, launcher: SearchLauncher, launch: Launch) -> None:
        self._launcher, self._launch = launcher, launch

    async def __aenter__(self) -> Child:
        await self._launcher.search(self._launch)
        raise LaunchError("the box was searched for keys, and its program was not run")

    async def __aexit__(self, *_: object) -> None:
        pass


async def search_boxes(project: Project) -> list[SearchedBox]:
    """Search the box of each agent that has a key. Agents that can't be used are left out."""
    project.make_folder()
    launcher = await make_launcher(project.settings.sandbox.mode.value, project.live)
    if not launcher.isolation.boxed:
        return []
    copied = set(copied_secrets(project.root, lambda: project.settings)) if project.root else set()
    found: list[SearchedBox] = []
    for name, settings in project.settings.agents.items():
        if settings.driver in BOXLESS:
            continue
        try:
            key = await _key(project, name)
            if key:
                searched = await _search(project, launcher, AgentName(name), key)
                found.append(replace(searched, in_copied=key in copied))
        except AllstopError:
            continue  # another row says why it can't be used
    return found


async def _key(project: Project, name: str) -> str:
    settings = registry.settings_of_account(project, name, None)
    key = await refresh_key(project, name, settings)
    if (login := outside_login(project, name, settings)) is not None:
        return login.access
    if uses_gateway(project, name, settings):
        key = real_key(project, name, settings)
    return "" if key == NOT_READ_YET else key or key_for(project, name, settings)


async def _search(project: Project, launcher: Launcher, name: AgentName, key: str) -> SearchedBox:
    """Raises AllstopError if the agent can't be used."""
    searching = SearchLauncher(launcher, key.encode())
    settings = registry.settings_of_account(project, name, None)
    agent = registry.make_agent(project, searching, name)
    with tempfile.TemporaryDirectory(prefix="allstop-try-") as folder:
        work = Path(folder) / "work"
        work.mkdir(mode=0o700)
        home = own_box(project, project.folder / "homes" / name)
        turn = Turn(
            run=RunId(f"search-{name}"),
            prompt=prompt("search"),
            place=replace(home, workspace=str(work), at=str(work)),  # hides nothing else
        )
        with anyio.move_on_after(SEARCH_S):
            await agent.take_turn(turn, NullWatch())
        await agent.close()
    if not searching.searched:
        raise AllstopError(f"the box of {name} could not be searched", code="box_not_searched")
    return SearchedBox(
        agent=name,
        has_key=searching.has_key,
        is_metered=uses_gateway(project, name, settings),
    )


def key_findings(boxes: list[SearchedBox]) -> Iterator[Finding]:
    if clean := [box.agent for box in boxes if not box.has_key and not box.in_copied]:
        where = "in environments, /proc, command lines and files"
        found = f"{', '.join(clean)}: searched the box for the key: it is not {where}"
        yield Finding(name="keys", ok=True, found=found)
    for box in boxes:
        if box.has_key:
            hint = '[sandbox] network = "model-only" keeps it outside'
            yield Finding(
                name="keys",
                ok=False,
                found=f"{box.agent}: its key can be read in its box",
                hint="please report this" if box.is_metered else hint,
                needed=box.is_metered,
            )
        elif box.in_copied:
            found = f"{box.agent}: a file of [workspace] copy takes its key into every workspace"
            hint = "leave that file out of copy, or keep the key elsewhere"
            yield Finding(name="keys", ok=False, found=found, hint=hint, needed=False)
