"""What somebody meets who uses it for the first time, and does it wrong."""

WORKS = """
cat >/dev/null
date >>b.txt
echo '<promise>COMPLETE</promise>'
"""
NO_SUCH_PROGRAM = """
[[verification.commands]]
name = "Tests"
run = "no-such-test-runner -q"
"""


def test_b9_a_check_that_cannot_be_run_costs_two_turns_and_says_why(person):
    person.agent(WORKS, settings=NO_SUCH_PROGRAM)

    said = person.allstop("run", "add a line", code=1)

    assert said.count("takes a turn") == 2
    assert "no-such-test-runner: not found (the target fails too)" in said
    assert "T1 blocked: Tests can't be run, on the target branch neither:" in said
    assert person.tasks() == {"T1": "blocked"}
