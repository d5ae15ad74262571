"""The sample repository of the demo: small, real, and with a test that has something to say."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

GOAL = "Make greet.sh greet people by name, and the world where no name is given."

_FILES = {
    "README.md": "# Greeter\n\nA sample for `allstop demo`: `sh greet.sh` says hello.\n",
    "greet.sh": "# Says hello.\necho hello\n",
    "test.sh": """\
# Fails unless greet.sh does what it should.
expect() {
    if [ "$1" = "$2" ]; then echo "ok: $2"; else echo "expected '$2', got '$1'"; exit 1; fi
}
expect "$(sh greet.sh)" "Hello, world!"
expect "$(sh greet.sh Ada)" "Hello, Ada!"
""",
    "allstop.toml": """\
[project]
target = "main"

[agents.demo]
driver = "scripted"
script = "demo.toml"

[[verification.commands]]
name = "Greeting test"
run = "sh test.sh"
timeout = 60
""",
    "demo.toml": """\
# What the scripted agent does, turn by turn. A real agent would decide for itself.
[[turn]]
steps = [
    { say = "I look at greet.sh and write the greeting." },
    { sleep = 0.3 },
    { write = "greet.sh", text = '''
# Says hello to somebody.
echo "Hello, $1!"
''' },
    { use = { input = 1800, output = 240 } },
    { say = "It greets by name now." },
    { signal = "COMPLETE" },
]

[[turn]]
steps = [
    { say = "The check is right: without a name nobody is greeted. I give the name a default." },
    { sleep = 0.3 },
    { write = "greet.sh", text = '''
# Says hello to somebody, or to the world.
echo "Hello, ${1:-world}!"
''' },
    { run = "sh test.sh" },
    { run = "git commit -qam 'Greet the world where no name is given'" },
    { use = { input = 2400, output = 180 } },
    { signal = "COMPLETE" },
]
""",
}


def make_sample(folder: Path) -> None:
    """A git repository with one commit on main."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in _FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    _git(folder, "init", "-q", "-b", "main")
    _git(folder, "add", "-A")
    who = ("-c", "user.name=Allstop demo", "-c", "user.email=demo@allstop.invalid")
    _git(folder, *who, "commit", "-q", "--no-verify", "-m", "A greeter that greets nobody")


def git_output(folder: Path, *arguments: str) -> str:
    return _git(folder, *arguments).stdout.strip()


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    return subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
