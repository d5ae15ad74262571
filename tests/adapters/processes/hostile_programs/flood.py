"""Counts what a program says and prints the number and our own peak of memory in kB."""

import resource
import sys
from pathlib import Path

import anyio

from adapters.processes.launch_fixture import BoxFolders
from allstop.adapters.processes.sandbox_probe import make_launcher


async def main():
    folder, size = Path(sys.argv[1]), sys.argv[2]
    box_folders = BoxFolders.make(folder / "place")
    launcher = await make_launcher("on", folder / "live")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    count = 0
    async with launcher.launch(box_folders.launch("head", "-c", size, "/dev/zero")) as child:
        while chunk := await child.receive():
            count += len(chunk.data)
    print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)


anyio.run(main)
