"""The sandbox as a bash command line, with files in place of descriptors."""

from __future__ import annotations

import shlex
from pathlib import Path

from allstop.adapters.agents.turn_socket import SocketAccess
from allstop.adapters.processes.child_inputs import (
    ArgumentsInput,
    FileInput,
    InfoPipe,
    TextInput,
    Word,
)
from allstop.adapters.processes.sandbox.bubblewrap import command, make_template
from allstop.adapters.processes.sandbox.host_tools import this_host
from allstop.adapters.processes.sandbox.launch_plan import plan_launch
from allstop.adapters.processes.sandbox_probe import make_launcher
from allstop.app import runtime
from allstop.ports import Launch
from common import project_in


async def boxed_command(folder: Path, workspace: str, script: str) -> str:
    """A bash command line that runs a script in a workspace's sandbox, as an agent runs."""
    project, host = project_in(folder), this_host()
    launcher = await make_launcher("on", folder / "live")
    place = (await runtime.open_workspaces(project, launcher)).box_of(workspace)
    turn_tools = folder / "desk"
    turn_tools.mkdir()
    launch = SocketAccess(folder=str(turn_tools)).add_to(
        Launch(argv=("sh", "-c", script), box=place, label="floor", env=place.env)
    )
    words = command(plan_launch(launch, host), place, make_template(host, "bench"))
    feeds = folder / "feeds"
    feeds.mkdir()
    (feeds / "go").write_text("\nDo it.\n")
    pen = Spelling(feeds)
    line = shlex.join(pen.spelled(words))
    return f"{line} <{feeds / 'go'} {' '.join(pen.redirections)}"


class Spelling:
    """Writes a sandbox command with numbered file redirections."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.redirections: list[str] = []

    def spelled(self, words: tuple[Word, ...]) -> list[str]:
        return [word if isinstance(word, str) else self._number(word) for word in words]

    def _number(self, feed: FileInput | TextInput | ArgumentsInput | InfoPipe) -> str:
        match feed:
            case InfoPipe():
                return self._redirected("<>/dev/null")
            case FileInput(path):
                return self._redirected(f"<{path}")
            case TextInput(data):
                return self._from_file(data)
            case ArgumentsInput(words):
                return self._from_file("\0".join((*self.spelled(words), "")).encode())

    def _from_file(self, data: bytes) -> str:
        file = self._folder / str(len(self.redirections))
        file.write_bytes(data)
        return self._redirected(f"<{file}")

    def _redirected(self, how: str) -> str:
        number = str(20 + len(self.redirections))
        self.redirections.append(f"{number}{how}")
        return number
