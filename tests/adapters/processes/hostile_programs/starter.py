"""A process that starts hostile programs one after the other: starter.py FOLDER TOKEN."""

import sys
from pathlib import Path

import anyio

from adapters.processes.launch_fixture import BoxFolders, hostile
from allstop.adapters.processes.sandbox_probe import make_launcher


async def main():
    folder, token = Path(sys.argv[1]), sys.argv[2]
    launcher = await make_launcher("on", folder / "live")
    box_folders = BoxFolders.make(folder / "place")
    print("ready", flush=True)
    while True:
        async with launcher.launch(hostile(box_folders, ("plain",), token)):
            pass


anyio.run(main)
