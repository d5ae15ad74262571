"""The demo's plan: what the scripted planner writes, and what the scripted agents do with it."""

PLAN_GOAL = "Teach the calculator to subtract and to divide"

_PLAN = """\
# Teach the calculator to subtract and to divide

One script for each operation, like add.sh.
Assumption: division drops the remainder, because the shell has no fractions.

## Calculate

- Write subtract.sh
  - [ ] 5 minus 3 is 2
  - check: test "$(sh subtract.sh 5 3)" = 2
- Write divide.sh
  - [ ] 7 divided by 3 is 2
  - check: test "$(sh divide.sh 7 3)" = 2

## Describe

- Ask a mathematician what 1 divided by 0 is
  - [ ] USAGE.md has the answer
- Show both in USAGE.md
  - [ ] there is an example of each
  - check: grep -q subtract USAGE.md && grep -q divide USAGE.md && sh run-tests.sh
"""

PLAN_FILES = {
    "planner.toml": f"""\
# Writes a plan. A real agent would look at the repository, and could ask questions.
[[turn]]
steps = [
    {{ sleep = 0.3 }},
    {{ say = '''
<plan>
{_PLAN}</plan>''' }},
    {{ use = {{ input = 2400, output = 310 }} }},
]
""",
    "backup.toml": """\
# Takes over while the account of the agent `demo` is at its limit.
repeat = true
[[turn]]
steps = [
    { sleep = 1.2 },
    { write = "divide.sh", text = "echo $(($1 / $2))" },
    { say = "It divides." },
    { use = { input = 1500, output = 70 } },
]
""",
}

PLAN_TURNS = """\

# The steps of the plan.
[[turn]]
when = "Step 1.1: Write subtract.sh"
steps = [
    { sleep = 0.2 },
    { write = "subtract.sh", text = "echo $(($1 + $2))" },
    { say = "It subtracts." },
    { use = { input = 1500, output = 60 } },
]

[[turn]]
when = "Step 1.1: Write subtract.sh"
steps = [
    { sleep = 0.2 },
    { write = "subtract.sh", text = "echo $(($1 - $2))" },
    { say = "The check is right: I had added." },
    { use = { input = 1800, output = 60 } },
]

[[turn]]
when = "Step 1.2: Write divide.sh"
steps = [{ rate_limit = 1 }]

[[turn]]
when = "Step 2.1: Ask a mathematician"
steps = [
    { sleep = 0.2 },
    { signal = "BLOCKED: there is no mathematician in this repository" },
    { use = { input = 1400, output = 30 } },
]

[[turn]]
when = "Step 2.2: Show both in USAGE.md"
steps = [
    { sleep = 0.2 },
    { run = "echo '`sh subtract.sh 5 3` gives 2, `sh divide.sh 7 3` gives 2.' >>USAGE.md" },
    { say = "Both are shown." },
    { use = { input = 1600, output = 60 } },
]
"""
