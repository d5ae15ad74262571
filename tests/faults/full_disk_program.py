"""The whole program on a disk that becomes full while it works. Prints what happened as JSON.

`crowded.py FOLDER SCENE` mounts a disk there; it is run in a mount namespace of its own.
"""

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from support.person import MERGE_AT_ONCE, alive, at_home, wait_for

SIZE = "256m"  # more than is kept free
MARK = f"60{os.getpid()}"
WORK = f"""
[[turn]]
steps = [{{ write = "one.txt", text = "one" }}, {{ say = "half of it" }}]
[[turn]]
steps = [
    {{ run = "[ -e two.txt ] || {{ echo 2 >two.txt; git add -A; git commit -qm 2; sleep {MARK}; }}" }},
    {{ write = "two.txt", text = "two" }},
    {{ signal = "COMPLETE" }},
]
"""


class Disk:
    def __init__(self, folder):
        mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)]
        subprocess.run(mount, check=True)
        self._filler = folder / "filler"

    def fill(self):
        with self._filler.open("ab", buffering=0) as file:
            for size in (1024**2, 4096, 1):
                with suppress(OSError):
                    while True:
                        file.write(b"x" * size)

    def make_room(self):
        self._filler.unlink()


def told(done):
    return {"code": done.returncode, "said": done.stdout + done.stderr}


def ended(process):
    said = process.communicate(timeout=60)[0]
    return {"code": process.returncode, "said": said}


def waits_and_goes_on(person, disk):
    """Nobody stops it: its end is recorded as soon as there is room for that."""
    working = at_work(person)
    disk.fill()
    wait_for(lambda: not asleep(), "the turn's end", 60)
    happened = {"status": told(person.try_allstop("status"))}
    disk.make_room()
    return happened | {"run": ended(working)} | finished(person)


def stopped_by_somebody_else(person, disk):
    """It was killed; nobody has the store open, and there is no room to open it."""
    working = at_work(person)
    working.kill()
    ended(working)
    disk.fill()
    happened = {"stop": told(person.try_allstop("stop"))}
    happened |= {"after": told(person.try_allstop("status"))}
    disk.make_room()
    person.allstop("resume")
    return happened | finished(person)


def stopped(person, disk):
    """While it works."""
    working = at_work(person)
    disk.fill()
    happened = {"stop": told(person.try_allstop("stop")), "alive": asleep()}
    happened |= {"run": ended(working), "after": told(person.try_allstop("status"))}
    disk.make_room()
    person.allstop("resume")
    return happened | finished(person)


def asleep():
    return [line for line in alive(f"sleep {MARK}") if line.startswith("sleep")]


def at_work(person):
    working = person.start("run")
    wait_for(lambda: asleep(), "the agent at work", 60)
    return working


def finished(person):
    """Once there is room."""
    return {
        "again": told(person.try_allstop("run")),
        "helm": [record["event"] for record in records(person, "helm")],
        "tasks": person.tasks(),
        "merged": person.merged(),
        "files": person.git("ls-tree", "--name-only", "main").split(),
        "fsck": subprocess.run(
            ["git", "fsck", "--strict"], cwd=person.repository, check=False, capture_output=True
        ).returncode,
    }


def records(person, run):
    return [json.loads(line) for line in person.allstop("log", run, "--json").split("\n") if line]


SCENES = {
    "waits": waits_and_goes_on,
    "stopped": stopped,
    "stopped by somebody else": stopped_by_somebody_else,
}


def main():
    place, scene = Path(sys.argv[1]), sys.argv[2]
    disk = Disk(place)
    person = at_home(place)
    person.script(WORK, MERGE_AT_ONCE)
    person.commit()
    person.allstop("trust", "--yes")
    person.allstop("add", "something")
    try:
        print(json.dumps(SCENES[scene](person, disk)))
    finally:
        person.close()


if __name__ == "__main__":
    main()
