"""P1: `allstop plan check` prints what it understood and what is wrong."""

import json


def test_p1_plan_check_prints_the_plan(person):
    person.write("PLAN.md", "# Tidy\n\n## First\n\n- Sort it\n  - [ ] sorted\n  - check: make\n")

    assert person.allstop("plan", "check", "PLAN.md").splitlines() == [
        "Tidy",
        "First",
        "  1.1  Sort it",
        "      [ ] sorted",
        "      check: make",
        "1 phase, 1 step.",
    ]


def test_p1_plan_check_names_every_problem_with_file_and_line(person):
    person.write("PLAN.md", "- early\n# Empty\n")

    done = person.try_allstop("plan", "check", "PLAN.md")
    shown = json.loads(person.allstop("plan", "check", "PLAN.md", "--json", code=2))

    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "PLAN.md:1: the step stands before the first heading; expected a heading above it",
        "PLAN.md:2: the phase 'Empty' has no steps; expected at least one step below it",
    ]
    assert [each["line"] for each in shown["problems"]] == [1, 2]
    assert shown["plan"]["phases"][0]["steps"][0]["text"] == "early"
