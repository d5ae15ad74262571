"""F2, F7: Full Auto from the command line, with a scripted agent and a real repository."""

import json
import signal
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from allstop.auto.state import EDITION
from support.person import alive, wait_for

SETTINGS = """
[agents.coder]
driver = "scripted"
script = "coder.toml"

[[verification.commands]]
name = "Tests"
run = "test -f parser.txt"

[approvals]
boxed = "ask"

[auto]
cooldown_s = 0
"""
CODER = """
[[turn]]
steps = [{ say = "I have a plan." }, { write = "lexer.txt", text = "x" }]
[[turn]]
steps = [{ ask = "rm -rf build" }, { say = "Done." }, { signal = "COMPLETE" }]
[[turn]]
steps = [{ say = "Looked at it." }, { signal = "COMPLETE" }]
[[turn]]
steps = [{ write = "parser.txt", text = "y" }, { say = "Right." }, { signal = "COMPLETE" }]
[[turn]]
steps = [{ say = "Looked again." }, { signal = "COMPLETE" }]
"""
DONE_AT_ONCE = """
[[turn]]
steps = [{ write = "parser.txt", text = "y" }, { say = "Right." }, { signal = "COMPLETE" }]
[[turn]]
steps = [{ say = "Looked at it." }, { signal = "COMPLETE" }]
"""
STUCK = """
repeat = true
[[turn]]
steps = [{ say = "I will begin soon." }]
"""


@pytest.fixture
def coder(person):
    def make(script=CODER, settings=SETTINGS):
        (person.repository / "allstop.toml").write_text(settings)
        (person.repository / "coder.toml").write_text(script)
        person.git("add", "-A")
        person.git("commit", "-qm", "settings")
        person.allstop("trust", "--yes")
        return person

    return make


def test_f2_a_thread_is_kept_going_until_its_work_is_merged(coder):
    """F2, F4, F9: continue, review, a gate that says no, one merge at the end."""
    person = coder()

    said = person.allstop("auto", "Write a parser")

    assert "turn 1: continue, it has not said that it is done" in said
    assert "denied: nobody to ask: rm -rf build" in said
    assert "turn 2: review" in said
    assert "✗ Tests failed with exit code 1" in said
    assert "ended: done (merged)" in said
    assert (person.repository / "parser.txt").exists()
    assert person.git("log", "-1", "--format=%s") == "Merge auto1: Write a parser"


def test_f7_every_decision_has_a_receipt_and_can_be_replayed(coder, tmp_path):
    """F7, F12, Q20: JSONL with inputs and output; the record alone gives the same decisions."""
    person = coder()
    person.allstop("auto", "Write a parser")

    receipts = [
        json.loads(line)
        for line in person.allstop("receipts", "auto1", "--json").split("\n")
        if line
    ]
    assert [each["decision"]["action"] for each in receipts] == [
        "continue", "review", "stop", "continue", "review", "stop"
    ]  # fmt: skip
    assert receipts[0]["summary"]["status"] == "completed"
    assert receipts[0]["edition"] == EDITION
    log = [json.loads(line) for line in person.allstop("log", "auto1", "--json").splitlines()]
    made = [event["decided"]["decision"] for event in log if "decided" in event]
    assert made == [each["decision"] for each in receipts]
    assert "decisions come out the same" in person.allstop("replay", "auto1")
    policy = tmp_path / "policy.toml"
    policy.write_text('[auto]\nreview = "never"\n')
    said = person.allstop("replay", "all", "--policy", str(policy))
    assert "turn 2: review became stop" in said
    assert "it would have been done after turn 4: 1 turn and" in said  # not at 2: the gate refused
    assert "1 run: 1 stopped earlier, 0 of them wrongly" in said
    policy.write_text("[auto]\nmin_confidence = 0.95\n")
    said = person.allstop("replay", "all", "--policy", str(policy))
    assert "it would have stopped after turn 1: 4 turns and" in said
    assert "WRONGLY: the run reached its goal" in said


def test_k13_a_thread_at_a_limit_that_names_no_time_waits_for_a_person_in_the_end(coder):
    """K13, P5: it says why, and `allstop resume` tries again."""
    limited = "[[turn]]\nsteps = [{ fail = 'usage_limited', message = 'no more' }]\n"
    person = coder(limited, SETTINGS + "[retry]\nmax_rate_limit_hours = 0\n")

    said = person.allstop("auto", "Write a parser", code=3)

    assert "coder is still usage limited: no more" in said
    assert "`allstop resume auto1`" in person.allstop("status")
    person.write("coder.toml", CODER)
    person.git("commit", "-qam", "the provider is back")
    assert "ended: done (merged)" in person.allstop("resume", "auto1")


def test_f7_what_a_policy_does_not_say_stays_as_the_run_had_it(coder, tmp_path):
    """F7: a run that was allowed five turns without progress is not judged by three."""
    person = coder(STUCK, SETTINGS + "no_progress_turns = 5\n")
    person.allstop("auto", "Write a parser", code=3)
    policy = tmp_path / "policy.toml"
    policy.write_text('[auto]\nreview = "never"\npolicy = "model"\ndecision_agent = "coder"\n')

    done = person.try_allstop("replay", "auto1", "--policy", str(policy))

    assert "auto1: 5 turns" in done.stdout
    assert "it would not have stopped earlier" in done.stdout
    assert "note: a replay asks no model: the rules decide" in done.stderr


def test_f7_a_policy_that_is_none_is_refused(coder, tmp_path):
    person = coder()
    person.allstop("auto", "Write a parser")
    policy = tmp_path / "policy.toml"
    policy.write_text("[auto]\nrewiev = 1\n")

    done = person.try_allstop("replay", "all", "--policy", str(policy))

    assert done.returncode == 2
    assert f"{policy}:2: auto.rewiev" in done.stderr
    assert "did you mean" in done.stderr


@pytest.mark.parametrize(
    ("said", "words"),
    [("", "expected [auto]"), ("revieww = 1\n", "auto.revieww"), ("a =\n", ":1: ")],
)
def test_f7_a_policy_that_says_nothing_is_refused_too(coder, tmp_path, said, words):
    """F7: nobody takes what was not understood for what changes nothing."""
    person = coder()
    person.allstop("auto", "Write a parser")
    policy = tmp_path / "policy.toml"
    policy.write_text(said)

    done = person.try_allstop("replay", "all", "--policy", str(policy))

    assert done.returncode == 2
    assert words in done.stderr


def test_f4_no_progress_pauses_and_a_person_goes_on(coder):
    """F4: exit code 3, the reason, and how to go on; `tell` and `resume` do."""
    person = coder(STUCK)

    said = person.allstop("auto", "Write a parser", code=3)

    assert "soft stop: no progress" in said
    assert "Continue: allstop resume auto1" in said
    assert "no progress" in person.allstop("status")
    assert "Next: `allstop log auto1`, then `allstop resume auto1`." in person.allstop("status")
    person.allstop("tell", "auto1", "Begin now.")
    assert "no process drives it; to continue: allstop resume auto1" in person.allstop("status")
    person.allstop("resume", "auto1", code=3)
    log = person.allstop("log", "auto1")
    assert "user: Begin now." in log
    assert log.count("coder takes a turn") > 3


BUDGET = (
    SETTINGS
    + """
[budget]
turns = 2
"""
)


def test_k6_a_thread_at_its_limit_says_so_and_goes_on_with_more(coder):
    """K6: exit code 4, the limit, and what helps; a raised limit resumes."""
    person = coder(STUCK, BUDGET)

    said = person.allstop("auto", "Write a parser", code=4)
    assert "auto1: limit reached: turns: 2 of 2. Continue: allstop limit auto1 --times 2" in said
    assert "still be at its limit: turns: 2 of 2" in person.refuses(
        "limit", "auto1", "--turns", "2"
    )
    assert "no limit is" in person.refuses("limit", "auto1")
    receipts = person.allstop("receipts", "auto1")
    assert "next:  a person: budget: turns: 2 of 2" in receipts
    assert "overridden by hard stop: budget: turns: 2 of 2" in receipts
    assert "auto1: at most 3 turns." in person.allstop("limit", "auto1", "--turns", "3")
    assert "turns: 3 of 3" in person.allstop("resume", "auto1", code=4)
    assert person.allstop("log", "auto1").count("coder takes a turn") == 3


def test_k6_a_thread_at_its_limit_goes_on_under_raised_settings(coder):
    person = coder(STUCK, BUDGET)
    person.allstop("auto", "Write a parser", code=4)

    settings = person.repository / "allstop.toml"
    settings.write_text(BUDGET.replace("turns = 2", "turns = 9"))
    person.git("commit", "-qam", "allow more")
    person.allstop("trust", "--yes")

    assert "no progress" in person.allstop("resume", "auto1", code=3)


def test_b20_a_word_for_an_agent_at_work_reaches_it_at_once(coder):
    """B20: in the middle of its turn, where the driver can; the log says so."""
    script = '[[turn]]\nsteps = [{ hear = true }, { signal = "COMPLETE" }]\n'
    person = coder(script)
    process = person.start("auto", "Write a parser")
    wait_for(lambda: "coder takes a turn" in person.allstop("status"), "the first turn")

    person.allstop("tell", "auto1", "Use dateutil.")

    assert process.wait(60) == 0
    log = person.allstop("log", "auto1")
    assert log.count("coder takes a turn") == 1
    assert log.index("user: Use dateutil.") < log.index("the agent received the message")


def test_f5_approvals_ask_waits_for_a_person_also_without_a_terminal(coder):
    """F5: an answer can come from the page or another terminal."""
    person = coder()
    process = person.start("auto", "Write a parser", "--approvals", "ask")
    wait_for(lambda: "asks" in json.dumps(person.json("status")["runs"]), "the request")

    person.allstop("allow", "auto1")

    said = process.communicate(timeout=60)[0]
    assert process.returncode == 0, said
    assert "to allow it: allstop allow auto1" in said
    assert "nobody to ask" not in said


def test_q19_ctrl_c_pauses_full_auto_although_another_process_has_the_store(coder):
    """Q19, K3: it is said once the store takes it, and the turn goes on until then."""
    person = coder('[[turn]]\nsteps = [{ hear = true }, { signal = "COMPLETE" }]\n')
    process = person.start("auto", "Write a parser")
    wait_for(lambda: "coder takes a turn" in person.allstop("status"), "the first turn")
    other = sqlite3.connect(person.repository / ".allstop" / "journal.db", isolation_level=None)
    other.execute("begin immediate")

    process.send_signal(signal.SIGINT)
    lines = iter(process.stdout.readline, "")
    assert any("another process keeps the journal locked" in line for line in lines)
    other.execute("rollback")
    other.close()
    wait_for(lambda: person.runs() == {"auto1": "pausing"}, "the pause")
    person.allstop("tell", "auto1", "Use dateutil.")

    process.communicate(timeout=60)
    assert process.returncode == 130
    assert person.runs() == {"auto1": "paused"}


def test_k3_sigterm_pauses_full_auto_at_once_and_it_can_be_resumed(coder):
    person = coder(
        '[[turn]]\nsteps = [{ run = "sleep 70000656" }]\n[[turn]]\nsteps = [{ signal = "COMPLETE" }]\n'
    )
    process = person.start("auto", "Write a parser")
    wait_for(lambda: alive("sleep 70000656"), "the first turn")

    process.send_signal(signal.SIGTERM)

    said = process.communicate(timeout=60)[0]
    assert process.returncode == 130, said
    assert "Continue: allstop resume auto1" in said
    assert alive("sleep 70000656") == []
    assert person.runs() == {"auto1": "paused"}
    assert "ALLSTOP" not in person.allstop("status")


def test_k3_ctrl_c_twice_stops_full_auto_although_another_process_has_the_store(coder):
    """K3, Q19: its agent ends at once, by what needs no store: so everything is stopped."""
    person = coder('[[turn]]\nsteps = [{ run = "sleep 70000654" }]\n')
    process = person.start("auto", "Write a parser")
    wait_for(lambda: alive("sleep 70000654"), "the first turn")
    other = sqlite3.connect(person.repository / ".allstop" / "journal.db", isolation_level=None)
    other.execute("begin immediate")

    process.send_signal(signal.SIGINT)
    lines = iter(process.stdout.readline, "")
    assert any("pausing after this turn" in line for line in lines)
    process.send_signal(signal.SIGINT)
    wait_for(lambda: alive("sleep 70000654") == [], "the agent's end")
    other.execute("rollback")
    other.close()

    said = process.communicate(timeout=60)[0]
    assert process.returncode == 130, said
    assert "ALLSTOP of everything: the store takes nothing now" in said
    assert "■ ALLSTOP since" in person.allstop("status")
    assert "Continue: allstop resume, then allstop resume auto1" in said
    assert person.allstop("log", "auto1").count("takes a turn") == 1


@pytest.mark.parametrize("typed", ["\x03", "Allstop\n"])
def test_k3_at_a_terminal_full_auto_ends_when_it_is_stopped(coder, typed):
    person = coder('[[turn]]\nsteps = [{ run = "sleep 70000655" }]\n')
    again = [("Ctrl-C again", typed)] if typed == "\x03" else []

    said, code = person.at_terminal(
        "auto", "Write a parser", keys=[("takes a turn", typed), *again]
    )

    assert code == 130, said
    assert alive("sleep 70000655") == []


def test_f5_a_person_at_the_terminal_answers(coder):
    """F5: what the agent asks is shown, and the answer reaches it."""
    person = coder(
        """
[[turn]]
steps = [{ ask = "make install" }, { write = "parser.txt", text = "y" }, { signal = "COMPLETE" }]
[[turn]]
steps = [{ signal = "COMPLETE" }]
"""
    )

    said, code = person.at_terminal("auto", "Write a parser", keys=[("allow it?", "y\n")])

    assert "reason: make: allowed unasked only with --version" in said
    assert code == 0, said
    assert "allows ask-0" in said
    assert "make install: allowed" in person.allstop("log", "auto1")


def test_f5_a_person_at_the_terminal_answers_a_question(coder):
    """F5: by the number of an option."""
    person = coder(
        """
[[turn]]
steps = [
    { question = "Which one?", options = ["Left", "Right"] },
    { write = "parser.txt", text = "y" },
    { signal = "COMPLETE" },
]
[[turn]]
steps = [{ signal = "COMPLETE" }]
"""
    )

    said, code = person.at_terminal("auto", "Write a parser", keys=[("2 Right", "2\n")])

    assert code == 0, said
    assert "user: answers ask-0: Right" in said


def test_f5_questions_go_to_the_named_model_although_rules_decide(coder):
    """F5: who decides after a turn has nothing to do with it."""
    judge = '[agents.judge]\ndriver = "scripted"\nscript = "coder.toml"\n'
    person = coder(STUCK, judge + SETTINGS + 'decision_agent = "judge"\n')

    person.allstop("auto", "Write a parser", code=3)

    opened = json.loads(person.allstop("log", "auto1", "--json").splitlines()[0])
    assert opened["spec"]["adviser"] == "judge"
    assert "decision_agent" not in opened["spec"]


def test_an_empty_prompt_and_an_unknown_agent_are_refused(coder):
    person = coder()

    assert "the prompt is empty" in person.try_allstop("auto", "  ").stderr
    assert (
        "there is no agent 'nobody'" in person.try_allstop("auto", "x", "--agent", "nobody").stderr
    )
    done = person.try_allstop("auto", "x", "--policy", "model")
    assert done.returncode == 2
    assert "decision_agent" in done.stderr


STEERS = """
[[turn]]
steps = [{ write = "AGENTS.md", text = "Obey." }, { say = "Done." }, { signal = "COMPLETE" }]
"""


def test_f3_work_that_steers_agents_waits_for_a_look(coder):
    """F3: the reason and how to go on, in the terminal, the log and the receipts."""
    settings = SETTINGS.replace("test -f parser.txt", "true") + 'review = "never"\n'
    person = coder(STEERS, settings)
    why = "unsafe: the work changes AGENTS.md, which steers agents"

    said = person.allstop("auto", "Write a parser", code=3)

    assert f"auto1: {why}. Continue: allstop diff auto1, then allstop resume auto1" in said
    assert f"turn 1: pause (was stop), it says that it is done, overridden by {why}" in said
    assert why in person.allstop("status")
    person.allstop("resume", "auto1")
    log = person.allstop("log", "auto1")
    assert log.count("coder takes a turn") == 1
    assert "turn 1: stop, it says that it is done · confidence 1 · by rules, after a look by" in log
    assert f"overridden by {why}" in person.allstop("receipts", "auto1")
    assert (person.repository / "AGENTS.md").read_text() == "Obey."
    assert "decisions come out the same" in person.allstop("replay", "auto1")


def test_f3_who_has_set_so_is_not_called_to_look(coder):
    settings = SETTINGS.replace("test -f parser.txt", "true") + 'review = "never"\n'
    person = coder(STEERS, settings + 'guarded_files = "continue"\n')

    person.allstop("auto", "Write a parser")

    assert (person.repository / "AGENTS.md").exists()


LOOKS = """
[[turn]]
steps = [{ write = "CLAUDE.md", text = "x" }]
[[turn]]
steps = [{ signal = "PENDING: left or right?" }]
[[turn]]
steps = [{ write = "parser.txt", text = "y" }, { signal = "COMPLETE" }]
"""


def test_f4_whoever_sits_there_goes_on_after_a_pause(coder):
    """F4, F10: it says how; Enter lets it go on, words are told to the agent."""
    person = coder(LOOKS, SETTINGS + 'review = "never"\n')

    said, code = person.at_terminal(
        "auto",
        "Write a parser",
        keys=[("press Enter", "\n"), ("it asks: left or right?\r\n", "Left.\n")],
    )

    assert code == 0, said
    assert "auto1: unsafe: the work changes CLAUDE.md, which steers agents" in said
    assert "see `allstop diff auto1` elsewhere; press Enter to continue, or type" in said
    assert "user: resume" in said
    assert "user: Left." in said


def test_k3_ctrl_c_leaves_a_thread_that_waits_at_the_terminal(coder):
    """K3: nobody is kept there by what only a person could go on with."""
    person = coder(STUCK)

    said, code = person.at_terminal("auto", "Write it", keys=[("Ctrl-C leaves", "\x03")])

    assert code == 130, said
    assert "auto1: paused. Continue: allstop resume auto1" in said
    assert person.runs() == {"auto1": "paused"}


def test_f10_resume_tells_only_what_is_new(coder):
    person = coder(STUCK)
    person.allstop("auto", "Write a parser", code=3)

    said = person.allstop("resume", "auto1", code=3)

    assert said.startswith("auto1: Write a parser. Earlier events: allstop log auto1\n")
    assert "turn 3" not in said
    assert "turn 6: pause" in said


def test_f4_a_thread_that_waits_at_the_terminal_comes_to_rest(coder):
    """F4: whoever waits for a person uses no time of the machine."""
    person = coder(STUCK)
    ticks = []

    def rests():
        stat = Path(f"/proc/{person.started[-1].pid}/stat").read_text().rpartition(")")[2].split()
        ticks.append(int(stat[11]) + int(stat[12]))
        return len(ticks) > 300 and len(set(ticks[-300:])) == 1

    with ThreadPoolExecutor(1) as pool:
        shown = pool.submit(person.at_terminal, "auto", "Write it")
        wait_for(lambda: person.started, "the program")
        wait_for(lambda: person.runs() == {"auto1": "waiting"}, "the pause", 30)
        wait_for(rests, "rest", 30)
        person.started[-1].send_signal(signal.SIGINT)
        said, code = shown.result()

    assert code == 130, said


def test_k1_a_thread_that_nobody_drives_is_ended_by_its_abort(coder):
    """K1: at once, and in words for a thread; what it made is still shown."""
    person = coder(STUCK)
    person.allstop("auto", "Write a parser", code=3)

    said = person.allstop("abort", "auto1")

    assert said == "auto1: ended for good; its work is kept: `allstop diff auto1`.\n"
    assert "✗ auto1 Write a parser  aborted" in person.allstop("status")
    assert person.allstop("diff", "auto1") == "auto1 has no changes.\n"
    assert "auto1 is over: aborted" in person.try_allstop("abort", "auto1").stderr
    assert "decisions come out the same" in person.allstop("replay", "auto1")


def test_k1_an_abort_beneath_an_allstop_waits_and_says_for_what(coder):
    """K1, K2: an Allstop holds that as well; then going on with it ends it."""
    person = coder(STUCK)
    person.allstop("auto", "Write a parser", code=3)
    person.allstop("stop")

    said = person.allstop("abort", "auto1")
    person.allstop("resume")

    assert "No process drives auto1: it ends at the next `allstop resume auto1`." in said
    assert "to end it: allstop resume auto1" in person.allstop("status")
    assert "ended: aborted" in person.allstop("resume", "auto1", code=130)


def test_p7_threads_that_begin_at_once_have_names_of_their_own(coder):
    """P7: none ends because another was quicker."""
    person = coder(STUCK)

    begun = [person.start("auto", f"Goal {number}") for number in range(3)]
    said = [process.communicate(timeout=60) for process in begun]

    assert [process.returncode for process in begun] == [3, 3, 3], said
    assert set(person.runs()) == {"auto1", "auto2", "auto3"}


def test_k1_what_holds_a_thread_says_how_that_very_thread_goes_on(coder):
    """K1: where nobody drives it there is no turn to wait for, and `resume` needs its name."""
    person = coder(STUCK)
    person.allstop("auto", "Write a parser", code=3)

    said = [person.allstop(command, "auto1") for command in ("pause", "freeze", "thaw")]

    assert said == [
        "auto1: paused; `allstop resume auto1` continues.\n",
        "auto1: frozen until `allstop thaw auto1`.\n",
        "auto1: no longer frozen; `allstop resume auto1` continues.\n",
    ]
    assert person.allstop("pause") == "Everything: paused; `allstop resume` continues.\n"


def test_k1_the_board_cannot_be_ended(coder):
    """K1: it is never over; its tasks can be."""
    person = coder()
    person.allstop("add", "Write a parser")

    refused = person.try_allstop("abort", "board")

    assert refused.returncode == 2
    assert "the board can't be aborted" in refused.stderr
    assert "abort its tasks by name" in refused.stderr
    assert "board: idle" in person.allstop("status")


def test_f9_a_merge_that_waits_for_a_person_says_so_with_its_thread(coder):
    """F9: why it is not merged, and what goes on with it; then it is."""
    person = coder(DONE_AT_ONCE)
    person.write("a.txt", "of a person\n")

    said = person.allstop("auto", "Write a parser", code=3)
    seen = person.allstop("status")
    person.git("checkout", "-q", "a.txt")

    why = f"its merge waits: {person.repository}: it has uncommitted changes: a.txt"
    assert f"auto1: {why}. Continue: allstop resume auto1" in said
    assert why in seen
    assert "Next: `allstop log auto1`, then `allstop resume auto1`." in seen
    assert "ended: done (merged)" in person.allstop("resume", "auto1")


def test_k3_what_a_stop_would_end_is_said_and_status_names_the_thread(coder):
    """K3, F4: also a turn that has no process here; what is held is gone on with by its name."""
    person = coder("[[turn]]\nsteps = [{ hang = true }]\n")
    thread = person.start("auto", "Write a parser")
    wait_for(lambda: "coder takes a turn" in person.allstop("status"), "its turn")

    would_end = person.allstop("stop", "auto1", "--dry-run")
    running = person.allstop("status")
    person.allstop("stop", "auto1")
    thread.wait()

    assert would_end == "would end  auto1: coder takes a turn\n"
    assert "`allstop log auto1 -f` shows progress, `allstop stop auto1` stops it" in running
    assert "Next: `allstop resume auto1` continues it." in person.allstop("status")


def test_f4_what_a_thread_made_that_failed_is_shown_and_can_be_taken_over(coder):
    """F4: it can't be resumed, and its work is in a folder that nobody would look for."""
    person = coder(
        '[[turn]]\nsteps = [{ write = "lexer.txt", text = "x\\n" }]\n'
        '[[turn]]\nsteps = [{ fail = "bad_request", message = "no such model" }]\n'
    )

    said = person.allstop("auto", "Write a lexer", code=1)
    patch = person.allstop("diff", "auto1")

    assert "auto1: nothing was merged; 1 file changed: allstop diff auto1\n" in said
    assert "to apply the work here: allstop diff auto1 | git apply\n" in said
    (person.repository / "work.patch").write_text(patch)
    person.git("apply", "work.patch")
    assert (person.repository / "lexer.txt").read_text() == "x\n"
