"""P13: plans that an agent writes, and finished steps ticked by export."""

import json

import pytest

PLAN = """\
# Count to two

The numbers go into files of their own.
Assumption: one number a file, because the repository is empty.

## Begin

- Write one
  - [ ] one.txt has the number
  - check: grep -q 1 one.txt

## End

- Write two
  - [ ] two.txt has the number
"""
QUESTIONS = "<questions>\n1. Which folder?\n2. Which names?\n3. How many\n   digits?\n</questions>"
SETTINGS = """
[agents.planner]
driver = "scripted"
script = "planner.toml"

[[verification.commands]]
name = "Tests"
run = "true"

[retry]
base_ms = 10
step_delay_ms = 10
"""


def turn(text, when="", more=""):
    said = json.dumps(text)
    return f"[[turn]]\nwhen = {json.dumps(when)}\nsteps = [{more}{{ say = {said} }}]\n"


def plan_turn(text=PLAN, **options):
    return turn(f"Here it is.\n<plan>\n{text}</plan>", **options)


@pytest.fixture
def planner(person):
    def make(*turns, settings=SETTINGS):
        person.write("allstop.toml", settings)
        person.write("planner.toml", "".join(["repeat = true\n", *turns]))
        person.commit()
        person.allstop("trust", "--yes")
        return person

    return make


def test_p13_without_a_person_the_plan_states_assumptions_and_nothing_runs(planner):
    person = planner(
        plan_turn(when="Nobody can answer questions", more='{ write = "stray.txt", text = "x" }, ')
    )

    said = person.allstop("plan", "new", "Count to two")
    checked = person.json("plan", "check", "PLAN.md")

    assert "the plan is written: 2 phases, 2 steps" in said
    assert "Assumption: one number a file, because the repository is empty." in said
    assert "PLAN.md is written. Edit it, then: allstop plan run PLAN.md" in said
    assert (person.repository / "PLAN.md").read_text() == PLAN
    assert checked["problems"] == []
    assert person.git("status", "--porcelain") == "?? PLAN.md"
    assert person.git("for-each-ref", "refs/allstop") == ""
    assert not (person.repository / ".allstop/workspaces/draft1").exists()
    assert person.allstop("plan", "list") == "No plan was started here: allstop plan run FILE\n"
    assert "come out the same" in person.allstop("replay", "draft1")


def test_p13_a_person_answers_the_questions_at_the_terminal(planner):
    person = planner(
        turn(QUESTIONS, when="ask a person first"),
        plan_turn(when="Which folder?\n  Answer: here"),
    )

    said, code = person.at_terminal(
        "plan", "new", "Count", "--out", "count.md",
        keys=[
            ("question 1 of 3: Which folder?", "here\n"),
            ("question 2 of 3: Which names?", "\n"),
            ("question 3 of 3: How many digits?", "two\n"),
        ],
    )  # fmt: skip

    assert code == 0, said
    assert "type your answer; Enter alone leaves it to the agent" in said
    assert (person.repository / "count.md").read_text() == PLAN
    log = person.allstop("log", "draft1")
    assert [each in log for each in ("user: here", "user: skip", "user: two")] == [True] * 3


def test_p13_questions_wait_for_a_person_elsewhere(planner):
    person = planner(turn(QUESTIONS, when="ask a person first"), plan_turn(when="Answer: b"))
    shown, code = person.at_terminal("plan", "new", "Count", keys=[("question 1 of 3", "\x03")])
    assert code == 130, shown
    waits = person.allstop("resume", "draft1", code=3)

    (run,) = person.json("status")["runs"]
    person.allstop("answer", "draft1", "a", "b", "c")
    done = person.allstop("resume", "draft1")
    exported = person.allstop("plan", "export", "draft1", "PLAN.md")

    assert 'Which folder? Continue: allstop answer draft1 "…", then allstop resume draft1' in waits
    assert (run["reason"], run["needs_you"]) == ("question 1 of 3: Which folder?", True)
    assert "the plan is written" in done
    assert (exported, (person.repository / "PLAN.md").read_text()) == (
        "PLAN.md is written.\n",
        PLAN,
    )


def test_p13_a_plan_that_cannot_be_used_goes_back_to_the_agent(planner):
    wrong = PLAN.replace("  - [ ] two.txt has the number\n", "")
    person = planner(
        turn("I have a plan."),
        plan_turn(wrong, when="the message has no plan; expected the plan between"),
        plan_turn(when="line 14: the step 2.1 has no acceptance criterion"),
    )

    said = person.allstop("plan", "new", "Count")

    assert "PLAN.md is written" in said
    assert (person.repository / "PLAN.md").read_text() == PLAN


def test_p13_after_three_corrections_the_text_is_kept_with_what_is_wrong(planner):
    person = planner(plan_turn("# A\n\n- early\n"))

    done = person.try_allstop("plan", "new", "Count")

    assert done.returncode == 1
    assert "the agent's plan can't be used: line 1: no step has a check" in done.stdout
    assert "PLAN.md:3: the step 1.1 has no acceptance criterion" in done.stderr
    assert "Correct the file, then: allstop plan check PLAN.md" in done.stderr
    assert (person.repository / "PLAN.md").read_text() == "# A\n\n- early\n"
    assert person.allstop("log", "draft1").count("planner takes a turn") == 4


def test_p13_a_question_that_nobody_answers_becomes_an_assumption(planner):
    unstated = PLAN.replace("Assumption: one number a file, because the repository is empty.\n", "")
    person = planner(
        turn("<questions>\n- Where?\n</questions>"),
        plan_turn(unstated, when="Nobody answers these questions of yours"),
        plan_turn(when="the plan states 0 of 1 assumptions"),
    )

    assert "PLAN.md is written" in person.allstop("plan", "new", "Count", "--no-questions")


def test_p13_a_file_is_never_overwritten(planner):
    person = planner(plan_turn())
    person.write("PLAN.md", "mine\n")

    done = person.try_allstop("plan", "new", "Count")

    assert (done.returncode, "PLAN.md exists already" in done.stderr) == (2, True)
    assert (person.repository / "PLAN.md").read_text() == "mine\n"
    assert person.json("status")["runs"] == []


def test_p13_a_file_that_cannot_be_written_is_refused_before_the_agent_works(planner):
    person = planner(plan_turn())

    done = person.try_allstop("plan", "new", "Count", "--out", "missing/PLAN.md")

    assert (done.returncode, "there is no folder missing" in done.stderr) == (2, True)
    assert person.json("status")["runs"] == []


def test_p9_with_auto_execute_off_writing_a_plan_waits_for_approval(planner):
    person = planner(plan_turn(), settings=f"{SETTINGS}\n[loop]\nauto_execute = false\n")

    person.allstop("plan", "new", "Count", code=3)
    said = person.allstop("approve", "start1")

    assert "it starts draft1" in said
    assert person.allstop("plan", "export", "draft1") == PLAN


def test_p13_only_export_ticks_finished_steps_in_the_file(planner):
    person = planner(
        '[[turn]]\nwhen = "Step 1.1"\nsteps = [{ write = "one.txt", text = "1" }]\n',
        '[[turn]]\nwhen = "Step 2.1"\nsteps = [{ fail = "crashed", message = "no" }]\n',
    )
    person.write("PLAN.md", PLAN)
    person.allstop("plan", "run", "PLAN.md", "--mode", "manual", code=3)
    assert (person.repository / "PLAN.md").read_text() == PLAN

    said = person.allstop("plan", "export", "plan1", "PLAN.md")
    person.allstop("plan", "skip", "plan1")
    again = person.json("plan", "export", "plan1", "PLAN.md")

    assert said == "PLAN.md: 1 step ticked, of 1 finished.\n"
    assert again == {"file": "PLAN.md", "ticked": 0}
    assert (person.repository / "PLAN.md").read_text() == PLAN.replace(
        "- Write one", "- [x] Write one"
    )
    assert "- [x] Write one\n" in person.allstop("plan", "export", "plan1")
    assert "- Write two\n" in person.allstop("plan", "export", "plan1")
    assert person.refuses("plan", "export", "helm")
    person.write("plan.json", "{}")
    assert "not Markdown" in person.refuses("plan", "export", "plan1", "plan.json")
    (person.repository / "odd.md").write_bytes(b"# A\n\n- \xff\n")
    assert "can't be read as text" in person.refuses("plan", "export", "plan1", "odd.md")
