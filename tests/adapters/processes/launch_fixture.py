"""Folders for a box, programs to launch in it, and a search for live processes."""

import sys
import uuid
from pathlib import Path
from typing import NamedTuple

import anyio

from allstop.ports import Box, Launch

HERE = Path(__file__).parent
ZOO = HERE / "hostile_programs"
TESTS = HERE.parents[1]
ZOO_KINDS = ("plain", "ignorer", "session", "daemonized", "scrubbed", "chain", "guards")
SOON_S = 30.0


class BoxFolders(NamedTuple):
    folder: Path

    @classmethod
    def make(cls, folder):
        for name in ("home", "workspace"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        return cls(folder)

    @property
    def workspace(self):
        return self.folder / "workspace"

    @property
    def home(self):
        return self.folder / "home"

    @property
    def at(self):
        """Where the workspace appears: the repository it was made from."""
        return self.folder / "repository"

    def box(self, **changes):
        own = {"home": str(self.home), "workspace": str(self.workspace), "at": str(self.at)}
        return Box(**own | changes)

    def launch(self, *argv, label="run", env=None, trusted=False, **box):
        return Launch(argv=argv, box=self.box(**box), label=label, env=env or {}, trusted=trusted)

    def python(self, script, *args, **options):
        """One of the zoo's programs, or a text, run by the Python that runs this."""
        named = ("-c", script) if "\n" in script or " " in script else (str(ZOO / script),)
        read = (str(ZOO), *options.pop("read", ()))
        return self.launch(sys.executable, "-S", *named, *args, read=read, **options)


def hostile(box_folders, kinds, token, **options):
    return box_folders.python("hostile.py", ",".join(kinds), token, **options)


def new_token():
    return f"zoo-{uuid.uuid4().hex}"


async def output_of(child):
    """All it says, and how it ends."""
    said = {"out": b"", "err": b""}
    while chunk := await child.receive():
        said[chunk.stream] += chunk.data
    return said["out"], said["err"], (await child.wait()).code


async def run(launcher, launch, stdin=b""):
    async with launcher.launch(launch) as child:
        await child.send(stdin)
        await child.close_input()
        return await output_of(child)


async def until_ready(child):
    said = b""
    while not said.endswith(b"ready\n"):
        chunk = await child.receive()
        assert chunk is not None, said
        said += chunk.data


async def until(condition):
    with anyio.fail_after(SOON_S):
        while not condition():
            await anyio.sleep(0.005)


def alive(token):
    """The processes that have it in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if token.encode() in line:
                found.append((int(entry.name), line))
    return found


def beats(box_folders):
    return {file.name: file.stat().st_size for file in sorted(box_folders.workspace.glob("beat-*"))}
