"""The demo's sample repository: a small calculator with tests, tasks and scripted agents."""

import os
import subprocess
from pathlib import Path

from allstop.app.setup.demo_plan import PLAN_FILES, PLAN_TURNS
from allstop.core.tasks import NewTask

ADD = "Write add.sh, which adds two numbers"
MULTIPLY = "Write multiply.sh, which multiplies two numbers"
LICENCE = "Name the licence at the end of README.md"
AUTHORS = "Name the authors at the end of README.md"
CALC = "Write calc.sh, which adds or multiplies as it is told"
USAGE = "Show in USAGE.md how calc.sh is used"

GOAL = "Write a slogan for the calculator."

TASKS = (
    NewTask(
        id="T1",
        title=ADD,
        body="Acceptance criteria:\n- `sh add.sh 2 3` prints 5",
        operation="calculator",
        tags=("quick-win",),
    ),
    NewTask(
        id="T2",
        title=MULTIPLY,
        body="Acceptance criteria:\n- `sh multiply.sh 2 3` prints 6",
        operation="calculator",
    ),
    NewTask(
        id="T3",
        title=LICENCE,
        body="Acceptance criteria:\n- the last part of README.md names the licence",
        operation="papers",
    ),
    NewTask(
        id="T4",
        title=AUTHORS,
        body="Acceptance criteria:\n- the last part of README.md names the authors",
        operation="papers",
    ),
    NewTask(
        id="T5",
        title=CALC,
        body="Acceptance criteria:\n- `sh calc.sh add 2 3` prints 5\n- an unknown word is refused",
        operation="calculator",
        needs=("T1", "T2"),
    ),
    NewTask(
        id="T6",
        title=USAGE,
        body="Acceptance criteria:\n- USAGE.md shows a call and its result",
        operation="papers",
        needs=("T5",),
    ),
)

_FILES = {
    "README.md": "# Calculator\n\nA sample for `allstop demo`, in shell.\n",
    "run-tests.sh": """\
# Runs every test; a test passes if the script it tests does not exist yet.
for test in tests/*.sh; do
    sh "$test" || { echo "FAILED: $test"; exit 1; }
done
echo "all tests pass"
""",
    "tests/add.sh": """\
[ -f add.sh ] || exit 0
[ "$(sh add.sh 2 3)" = 5 ] || { echo "2 + 3 gave '$(sh add.sh 2 3)'"; exit 1; }
""",
    "tests/multiply.sh": """\
[ -f multiply.sh ] || exit 0
[ "$(sh multiply.sh 2 3)" = 6 ] || { echo "2 * 3 gave '$(sh multiply.sh 2 3)'"; exit 1; }
""",
    "tests/calc.sh": """\
[ -f calc.sh ] || exit 0
[ "$(sh calc.sh add 2 3)" = 5 ] && [ "$(sh calc.sh multiply 2 3)" = 6 ]
""",
    "allstop.toml": """\
[project]
target = "main"

[loop]
max_parallel = 3
agent = "demo"
fallback = "backup"   # while the account of demo is at its limit

[retry]
base_ms = 200                # the demo is short
step_delay_ms = 50
max_rate_limit_retries = 0   # the fallback takes over at once

[agents.demo]
driver = "scripted"
script = "demo.toml"

[agents.backup]
driver = "scripted"
script = "backup.toml"

[agents.planner]
driver = "scripted"
script = "planner.toml"

[agents.writer]
driver = "scripted"
script = "writer.toml"

[agents.editor]
driver = "scripted"
script = "editor.toml"

[verification]
protected = ["tests/**"]

[[verification.commands]]
name = "Tests"
run = "sh run-tests.sh"
timeout = 60

[review]
mode = "skip"   # the demo runs without a person

[notify]
desktop = false
urls = []
""",
    "writer.toml": """\
# One of two agents that talk in a room: each reply is an envelope.
[[turn]]
steps = [
    { sleep = 0.3 },
    { say = '{"message": "It adds, it multiplies, and it keeps no secrets from you.", \
"handoff": {"to": "editor", "task": "Make it shorter."}}' },
    { use = { input = 300, output = 40 } },
]

[[turn]]
steps = [
    { sleep = 0.3 },
    { say = '{"message": "Yes. That is the slogan.", "final": true}' },
    { use = { input = 420, output = 25 } },
]
""",
    "editor.toml": """\
[[turn]]
steps = [
    { sleep = 0.3 },
    { say = '{"message": "It adds. It multiplies. That is all.", \
"handoff": {"to": "writer", "task": "Say whether you agree."}}' },
    { use = { input = 360, output = 40 } },
]
""",
    **PLAN_FILES,
    "demo.toml": f"""\
# What the scripted agent does. A real agent would decide for itself.
repeat = true

# T3 and T4 both append to README.md, so the second merge has a conflict.
[[turn]]
when = "resolve the conflicts"
steps = [
    {{ say = "Both lines are wanted: I keep both." }},
    {{ sleep = 0.3 }},
    {{ run = "sed -i '/^<<<<<<</d; /^=======/d; /^>>>>>>>/d' README.md" }},
    {{ run = "git commit -qam 'Keep both lines'" }},
    {{ use = {{ input = 2100, output = 90 }} }},
    {{ signal = "COMPLETE" }},
]

[[turn]]
when = "{ADD}"
steps = [
    {{ sleep = 0.4 }},
    {{ write = "add.sh", text = "echo $(($1 + $2))" }},
    {{ run = "git add add.sh && git commit -qm 'Add two numbers'" }},
    {{ say = "It adds.\\nCriterion 1: tests/add.sh" }},
    {{ use = {{ input = 1500, output = 80 }} }},
    {{ signal = "COMPLETE" }},
]

[[turn]]
when = "{MULTIPLY}"
steps = [
    {{ sleep = 0.6 }},
    {{ write = "multiply.sh", text = "echo $(($1 + $2))" }},
    {{ say = "It multiplies." }},
    {{ use = {{ input = 1500, output = 80 }} }},
    {{ signal = "COMPLETE" }},
]

[[turn]]
when = "{MULTIPLY}"
steps = [
    {{ say = "The test is right: I had added.\\nCriterion 1: tests/multiply.sh" }},
    {{ sleep = 0.4 }},
    {{ write = "multiply.sh", text = "echo $(($1 * $2))" }},
    {{ run = "sh run-tests.sh" }},
    {{ use = {{ input = 1900, output = 70 }} }},
    {{ signal = "COMPLETE" }},
]

[[turn]]
when = "{LICENCE}"
steps = [
    {{ sleep = 0.3 }},
    {{ run = "echo 'Licence: Apache-2.0' >>README.md" }},
    {{ say = "The licence is named.\\nCriterion 1: README.md" }},
    {{ use = {{ input = 1400, output = 40 }} }},
    {{ signal = "COMPLETE" }},
]

[[turn]]
when = "{AUTHORS}"
steps = [
    {{ sleep = 0.9 }},
    {{ run = "echo 'Authors: a script' >>README.md" }},
    {{ say = "The authors are named.\\nCriterion 1: README.md" }},
    {{ use = {{ input = 1400, output = 40 }} }},
    {{ signal = "COMPLETE" }},
]

[[turn]]
when = "{CALC}"
steps = [
    {{ sleep = 0.3 }},
    {{ say = "All done, calc.sh is complete." }},
    {{ use = {{ input = 1700, output = 60 }} }},
    {{ signal = "COMPLETE" }},
]

[[turn]]
when = "{CALC}"
steps = [
    {{ say = "Nothing was there indeed. Now it is.\\nCriterion 1: tests/calc.sh" }},
    {{ sleep = 0.4 }},
    {{ write = "calc.sh", text = 'operation=$1; shift; sh "$operation.sh" "$@"' }},
    {{ use = {{ input = 2000, output = 90 }} }},
    {{ signal = "COMPLETE" }},
]

[[turn]]
when = "{USAGE}"
steps = [
    {{ sleep = 0.3 }},
    {{ write = "USAGE.md", text = "`sh calc.sh add 2 3` gives 5.\\n" }},
    {{ say = "Usage is shown.\\nCriterion 1: USAGE.md" }},
    {{ use = {{ input = 1600, output = 60 }} }},
    {{ signal = "COMPLETE" }},
]
{PLAN_TURNS}""",
}


def make_sample(folder: Path) -> None:
    """A git repository with one commit on main."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tests").mkdir()
    for name, text in _FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    _git(folder, "init", "-q", "-b", "main")
    _git(folder, "add", "-A")
    who = ("-c", "user.name=Allstop demo", "-c", "user.email=demo@allstop.invalid")
    _git(folder, *who, "commit", "-q", "--no-verify", "-m", "A calculator that can't calculate yet")


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
