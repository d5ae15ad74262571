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


KIRO = "# Implementation Plan\n\n- [ ] 1. Build\n  - [ ]* 1.1 Write it\n\n## Notes\n\n- none\n"


def test_p15_a_plan_of_another_tool_is_converted_and_checked(person):
    person.write("tasks.md", KIRO)

    checked = person.try_allstop("plan", "check", "tasks.md", "--format", "kiro")
    done = person.try_allstop("plan", "import", "tasks.md")
    again = person.try_allstop("plan", "import", "tasks.md")

    assert "tasks.md:4: 1.1 is optional there" in checked.stderr
    assert "tasks.md:6: the section 'Notes' is left out" in done.stderr
    assert "PLAN.md is written. Look at it, then: allstop plan run PLAN.md" in done.stdout
    assert person.json("plan", "check", "PLAN.md")["problems"] == []
    assert (again.returncode, "PLAN.md exists already" in again.stderr) == (2, True)


def test_p15_a_plan_that_cannot_be_converted_writes_nothing(person):
    person.write("tasks.md", "- [ ] 1. one\n- [ ] 1. two\n")

    done = person.try_allstop("plan", "import", "tasks.md", "--out", "other.md")

    assert done.returncode == 2
    assert "tasks.md:2: the id '1' is used on line 1 already" in done.stderr
    assert not (person.repository / "other.md").exists()
