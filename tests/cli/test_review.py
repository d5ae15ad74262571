"""People step in: review, retry, limits, skipping, and words for a running agent."""

import json

import pytest

from support.person import alive, wait_for

WORKS = """
cat >>prompts.txt
echo more >>b.txt
echo '<promise>COMPLETE</promise>'
"""


@pytest.fixture
def mark(tmp_path):
    return str(50_000_000 + abs(hash(str(tmp_path))) % 9_999_999)


@pytest.fixture
def reviewed(person):
    """One task that waits for review."""
    person.agent(WORKS, settings="")
    person.allstop("run", "add a line", code=3)
    return person


def workspace(person, task="T1"):
    return person.repository / ".allstop" / "workspaces" / task / "tree"


def test_s4_redo_sends_the_work_back_with_a_comment(reviewed):
    """S4, B21: the agent goes on in its workspace and reads the comment."""
    person = reviewed

    person.allstop("redo", "T1", "-m", "Please add two lines")
    assert person.tasks() == {"T1": "pending"}
    person.allstop("run", code=3)

    assert person.tasks() == {"T1": "review"}
    assert "Please add two lines" in (workspace(person) / "prompts.txt").read_text()
    assert (workspace(person) / "b.txt").read_text() == "more\nmore\n"
    person.allstop("approve", "T1")
    assert person.git("show", "main:b.txt") == "more\nmore"
    assert person.merged() == ["T1"]


def test_s4_reject_cancels_the_task_and_keeps_the_work(reviewed):
    """S4: nothing is merged, nothing is lost."""
    person = reviewed

    person.allstop("reject", "T1")

    assert person.tasks() == {"T1": "cancelled"}
    assert person.merged() == []
    assert person.git("show", "refs/allstop/tip/T1:b.txt") == "more"
    assert "T1 is cancelled: it can't be reviewed" in person.refuses("approve", "T1")


def test_b21_several_are_approved_at_once_and_nothing_else_is_started(person):
    """B21: `approve` merges here and now, and only that."""
    person.agent("touch file-$(date +%N); echo '<promise>COMPLETE</promise>'", settings="")
    person.allstop("run", "do one", "do two", code=3)
    person.allstop("add", "three")

    person.allstop("approve", "T1", "T2")

    assert person.merged() == ["T1", "T2"]
    assert person.tasks() == {"T1": "done", "T2": "done", "T3": "pending"}


def test_b16_work_with_findings_is_approved_only_with_a_confirmation(person):
    """B16, S8: the findings are shown where a person decides."""
    person.write("tests/test_a.py", "def test_a(): pass\n")
    person.commit()
    person.agent("rm tests/test_a.py; echo x >x; echo '<promise>COMPLETE</promise>'", settings="")

    said = person.allstop("run", "tidy up", code=3)

    line = "deleted test: tests/test_a.py; protected (deleted): tests/test_a.py"
    assert f"! T1 {line}" in said
    assert line in person.allstop("status")
    assert f"T1 has findings: {line}" in person.refuses("approve", "T1")
    assert person.merged() == []
    person.allstop("approve", "--yes", "T1")
    assert person.merged() == ["T1"]


def test_b21_one_that_cannot_be_approved_refuses_them_all(reviewed):
    reviewed.allstop("add", "two")

    said = reviewed.refuses("approve", "T1", "T2")

    assert "T2 is pending: it can't be reviewed" in said
    assert reviewed.tasks() == {"T1": "review", "T2": "pending"}
    assert reviewed.merged() == []


@pytest.mark.parametrize(
    ("settings", "tag", "status"),
    [
        ('mode = "auto"', "x", "done"),
        ('mode = "per-task"', "x", "review"),
        ('mode = "skip"\nrules = { risky = "per-task" }', "risky", "review"),
        ('mode = "skip"\nrules = { risky = "per-task" }', "x", "done"),
        ('mode = "batch"\nrules = { safe = "skip" }', "safe", "review"),
    ],
)
def test_b21_the_strictest_review_that_holds_wins(person, settings, tag, status):
    person.agent(WORKS, settings=f"[review]\n{settings}\n")
    person.allstop("add", "one", "--tag", tag)

    person.allstop("run", code=0 if status == "done" else 3)

    assert person.tasks() == {"T1": status}


def test_b21_auto_asks_where_the_agent_had_to_ask(person):
    """B21: PENDING, BLOCKED, findings or more than three iterations want a look."""
    person.agent(
        """
        case $(cat) in *"The answer: yes"*) echo x >x; echo '<promise>COMPLETE</promise>' ;;
        *) echo '<promise>PENDING: really?</promise>' ;; esac
        """,
        settings='[review]\nmode = "auto"\n',
    )
    person.allstop("run", "do it", code=3)
    person.allstop("answer", "T1", "yes")

    person.allstop("run", code=3)

    assert person.tasks() == {"T1": "review"}


def test_b19_retry_after_a_failure_goes_on_in_the_kept_workspace(person):
    """B19: with a word for the agent; a retry costs 15 points."""
    person.agent("echo half >half.txt; exit 1")
    person.allstop("run", "do it", code=1)
    assert "allstop retry T1" in person.allstop("status")

    person.allstop("retry", "T1", "-m", "use the other port")
    assert person.json("next")["next"][0]["score"]["retries"] == -15
    person.agent("cat >prompt.txt; test -f half.txt && echo '<promise>COMPLETE</promise>'")
    person.allstop("run")

    assert person.merged() == ["T1"]
    assert "use the other port" in (person.repository / "prompt.txt").read_text()
    assert (person.repository / "half.txt").exists()
    assert [each["outcome"] for each in person.task("T1")["attempts"]] == ["failed", "done"]


def test_b19_edit_then_retry_and_raise_the_limit(person):
    """B19: limits hold from the next attempt on."""
    person.agent("cat >>prompts.txt; echo nothing", settings="[loop]\nmax_iterations = 1\n")
    person.allstop("run", "do it", code=4)

    person.allstop("edit", "T1", "--title", "do it well", "--body", "slowly")
    person.allstop("limit", "T1", "--iterations", "2", "--minutes", "5")
    person.allstop("retry", "T1")
    person.allstop("run", code=4)

    task = person.task("T1")
    assert (task["iterations"], task["minutes"], task["status"]) == (2, 5.0, "timeout")
    assert [each["tally"]["turns"] for each in task["attempts"]] == [1, 2]
    assert "do it well" in (workspace(person) / "prompts.txt").read_text()
    assert "no limit is given" in person.refuses("limit", "T1")
    assert "3 iterations and 7.5 minutes" in person.allstop("limit", "T1", "--times", "1.5")
    assert (person.task("T1")["iterations"], person.task("T1")["minutes"]) == (3, 7.5)
    assert "can't be combined" in person.refuses("limit", "T1", "--times", "2", "--minutes", "5")
    person.allstop("limit", "T1", "--minutes", "525600")
    person.allstop("limit", "T1", "--times", "2")
    assert (person.task("T1")["iterations"], person.task("T1")["minutes"]) == (6, 525_600)


def test_b19_skip_lets_those_that_need_it_start(person):
    """B2, B19: ready means every need done or skipped."""
    person.agent(
        "case $(cat) in *bad*) exit 1 ;; esac; echo x >x; echo '<promise>COMPLETE</promise>'"
    )
    person.allstop("add", "a bad one")
    person.allstop("add", "one that needs it", "--needs", "T1")
    person.allstop("run", code=1)
    assert person.tasks() == {"T1": "failed", "T2": "pending"}

    person.allstop("skip", "T1")
    person.allstop("run")

    assert person.tasks() == {"T1": "skipped", "T2": "done"}


def test_b19_what_is_not_stalled_cannot_be_retried(person):
    person.agent(WORKS)
    person.allstop("add", "one")

    assert "T1 is pending: it can't be retried" in person.refuses("retry", "T1")
    person.allstop("run")
    for command in (("retry", "T1"), ("skip", "T1"), ("rm", "T1"), ("edit", "T1", "--title", "x")):
        assert "T1 is done: it can't be" in person.refuses(*command)


def test_b19_what_was_skipped_says_how_it_is_put_back(person):
    person.agent(WORKS)
    person.allstop("add", "one")
    person.allstop("skip", "T1")

    for command in ("retry", "assign", "skip"):
        assert "`allstop rollback T1` makes it pending again" in person.refuses(command, "T1")
    person.allstop("rollback", "T1")

    assert person.tasks() == {"T1": "pending"}


def test_b5_assign_gives_a_task_to_an_agent(person):
    person.agent("exit 1")
    person.program("other", "#!/bin/sh\necho x >x; echo '<promise>COMPLETE</promise>'\n")
    settings = (person.repository / "allstop.toml").read_text()
    other = '[agents.other]\ndriver = "command"\ncommand = ["other"]\n'
    person.write("allstop.toml", settings + other + '[loop]\nagent = "mine"\nmode = "semi"\n')
    person.allstop("add", "one")

    assert "there is no agent 'ghost'" in person.refuses("assign", "T1", "ghost")
    person.allstop("assign", "T1", "other")
    said = person.allstop("run")

    assert "other takes a turn" in said
    assert person.merged() == ["T1"]


def test_b20_a_word_for_a_running_agent_reaches_its_next_turn(person):
    """B20: `tell`; it does not cut the turn off."""
    person.agent(
        """
        prompt=$(cat)
        case $prompt in *"use blue"*) echo blue >colour; echo '<promise>COMPLETE</promise>'; exit ;; esac
        while [ ! -f go ]; do sleep 0.05; done
        """
    )
    process = person.start("run", "paint it")
    wait_for(lambda: "mine takes a turn" in person.allstop("status"), "the first turn")

    person.allstop("tell", "T1", "use blue")
    (workspace(person) / "go").touch()

    assert process.wait(60) == 0
    assert (person.repository / "colour").read_text() == "blue\n"


def test_k3_only_the_whole_word_stops(person, mark):
    """K3: "do not stop all tests" is said to the agent; "Allstop" ends it."""
    person.agent(f"cat >/dev/null; sleep {mark}")
    process = person.start("run", "paint it")
    wait_for(lambda: alive(f"sleep {mark}"), "the agent")

    assert "next turn" in person.allstop("tell", "T1", "do not stop all tests")
    assert "next turn" in person.allstop("tell", "T1", "fix the asphalt texture; no allstop needed")
    assert alive(f"sleep {mark}")
    person.allstop("tell", "T1", "Allstop!")

    assert process.wait(60) in (3, 130)
    assert alive(f"sleep {mark}") == []


def test_b19_abort_ends_an_attempt_and_holds_the_task(person, mark):
    """B8: ended by a person: pending, but only a person starts it again."""
    person.agent(f"echo half >half.txt; sleep {mark}")
    process = person.start("run", "do it")
    wait_for(lambda: alive(f"sleep {mark}"), "the agent")

    person.allstop("abort", "T1")

    assert process.wait(60) == 3
    assert alive(f"sleep {mark}") == []
    task = person.task("T1")
    assert (task["status"], task["held"]) == ("pending", True)
    assert (workspace(person) / "half.txt").exists()
    said = person.allstop("run", code=3)
    assert "starts" not in said


def test_b8_what_an_aborted_attempt_left_is_stashed_and_not_merged(person, mark):
    """B8: ended by a person: changes stashed, and the next attempt is told of them."""
    person.agent(f"echo half >half.txt; sleep {mark}")
    process = person.start("run", "do it")
    wait_for(lambda: alive(f"sleep {mark}"), "the agent")
    person.allstop("abort", "T1")
    assert process.wait(60) == 3

    person.agent("cat >prompt.txt; git stash list >stashes.txt; echo '<promise>COMPLETE</promise>'")
    said = person.allstop("run", "T1")

    assert "uncommitted changes are in its git stash" in said
    assert person.merged() == ["T1"]
    assert not (person.repository / "half.txt").exists()
    assert "stash" in (person.repository / "stashes.txt").read_text()
    assert "in `git stash`" in (person.repository / "prompt.txt").read_text()


def test_a_task_that_asks_is_not_answered_by_other_words(person):
    person.agent("echo '<promise>PENDING: which?</promise>'")
    person.allstop("run", "do it", code=3)

    assert "its agent asks" in person.refuses("skip", "T1")
    person.allstop("abort", "T1")
    person.allstop("run", code=3)
    person.allstop("skip", "T1")
    assert person.tasks() == {"T1": "skipped"}


def test_u2_tasks_are_put_in_order(person):
    person.agent("true")
    for title in ("one", "two", "three"):
        person.allstop("add", title)

    said = person.allstop("pin", "T3", "T1")

    assert "T3, T1: come next, in this order." in said
    assert [choice["task"]["id"] for choice in person.json("next")["next"]] == ["T3", "T1", "T2"]
    assert "there is no task 'T9'" in person.refuses("pin", "T1", "T9")
    assert "--off takes one task" in person.refuses("pin", "--off", "T1", "T3")


def test_people_are_answered_in_json_too(reviewed):
    said = json.loads(reviewed.allstop("redo", "T1", "-m", "again", "--json"))

    assert said["task"] == "T1"
    assert said["driven"] is False
    assert reviewed.json("pin", "T1")["command"]["task"] == "T1"
    assert reviewed.json("mode", "semi") == {"mode": "semi", "driven": False}


def test_b21_approve_is_taken_by_the_process_that_drives_the_board(person, mark):
    """B21: it merges there while the others go on."""
    person.agent(
        f"case $(cat) in *Long*) sleep {mark} ;; esac; echo x >x; echo '<promise>COMPLETE</promise>'",
        settings="",
    )
    person.commit()
    process = person.start("run", "Long one", "short one")
    wait_for(lambda: person.tasks().get("T2") == "review", "the short one")

    assert "the process that drives the board merges" in person.allstop("approve", "T2")

    wait_for(lambda: person.merged() == ["T2"], "the merge")
    assert process.poll() is None
    assert alive(f"sleep {mark}")


def test_b8_run_with_the_id_of_interrupted_work_goes_on_with_it(person, mark):
    """B8: whatever stopped it, naming it is enough."""
    person.agent(
        f"test -f again || {{ touch again; sleep {mark}; }}; echo '<promise>PENDING: so?</promise>'"
    )
    process = person.start("run", "do it")
    wait_for(lambda: alive(f"sleep {mark}"), "the agent")
    process.kill()
    process.wait()

    person.allstop("run", "T1", code=3)
    person.allstop("answer", "T1", "so")
    person.agent("echo x >x; echo '<promise>COMPLETE</promise>'")
    person.allstop("run", "T1")

    assert person.merged() == ["T1"]
    assert len(person.task("T1")["attempts"]) == 1


def test_b13_resume_of_one_task_starts_no_other(person, mark):
    person.agent(f"sleep {mark}")
    process = person.start("run", "do it")
    wait_for(lambda: alive(f"sleep {mark}"), "the agent")
    person.allstop("stop", "T1")
    assert process.wait(60) == 3
    person.allstop("add", "another")
    person.agent("echo x >x; echo '<promise>COMPLETE</promise>'")

    person.allstop("resume", "T1")

    assert person.tasks() == {"T1": "done", "T2": "pending"}


def test_k6_work_at_its_limit_waits_and_goes_on_when_it_is_raised(person):
    """K6: exit code 4; what was done is kept; the same attempt goes on."""
    person.agent("echo x >>x; echo nothing", settings="[budget]\nturns = 2\n")
    said = person.allstop("run", "do it", code=4)
    assert "limit reached: turns: 2 of 2" in said
    assert person.tasks() == {"T1": "waiting"}
    assert "takes a turn" not in person.allstop("run", code=4)

    person.agent(
        "echo x >>x; echo '<promise>COMPLETE</promise>'",
        settings='[budget]\nturns = 4\n[review]\nmode = "skip"\n',
    )
    person.allstop("run")

    assert person.git("show", "main:x") == "x\nx\nx"
    assert len(person.task("T1")["attempts"]) == 1


def test_k5_a_budget_is_for_all_that_a_call_does(person):
    """K5: --budget; the next call has its own."""
    turn = "[[turn]]\nsteps = [{ use = { input = 9, cost_microusd = 600000 } }, { say = 'x' }]\n"
    last = "[[turn]]\nsteps = [{ write = 'x', text = 'x' }, { signal = 'COMPLETE' }]\n"
    person.script(turn + turn + last)

    said = person.allstop("run", "do it", "--budget", "1", code=4)

    assert "limit reached: " in said
    assert person.tasks() == {"T1": "waiting"}
    person.allstop("run", "--budget", "1")
    assert person.merged() == ["T1"]
    assert person.task("T1")["cost_usd"] == 1.2
