"""A process that runs hostile programs until it is killed: controller.py FOLDER TOKEN [MODE]."""

import sys
from pathlib import Path

import anyio

from adapters.processes.launch_fixture import ZOO_KINDS, BoxFolders, hostile, until_ready
from allstop.adapters.processes.sandbox_probe import make_launcher


async def run_one(launcher, box_folders, token, name, *, task_status):
    async with launcher.launch(hostile(box_folders, ZOO_KINDS, token, label=name)) as child:
        await until_ready(child)
        task_status.started(child.pid)
        while await child.receive():
            pass


async def main():
    folder, token = Path(sys.argv[1]), sys.argv[2]
    mode = sys.argv[3] if len(sys.argv) > 3 else "on"
    launcher = await make_launcher(mode, folder / "live")
    async with anyio.create_task_group() as group:
        for name in ("a", "b"):
            box_folders = BoxFolders.make(folder / name)
            print(await group.start(run_one, launcher, box_folders, token, name), flush=True)
        print("ready", flush=True)


anyio.run(main)
