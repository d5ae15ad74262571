"""B7, B8: misbehaving agents, as real programs, and how the board reports each."""

import json

import pytest

from support.person import MERGE_AT_ONCE, alive, wait_for

DONE = "\necho '<promise>COMPLETE</promise>'\n"
LOOP = "[loop]\nmax_iterations = 3\n"


@pytest.fixture
def mark(tmp_path):
    """A number that only this test's processes have in their command line."""
    return str(80_000_000 + abs(hash(str(tmp_path))) % 9_999_999)


@pytest.fixture
def meets(person):
    """Let an agent work on one task; how the program ended."""

    def meets(script, settings=LOOP, **more):
        person.agent(script, settings=MERGE_AT_ONCE + settings, **more)
        person.commit()
        return person.try_allstop("run", "do it")

    return meets


def workspace(person):
    return person.repository / ".allstop" / "workspaces" / "T1" / "tree"


def prompts_of(person):
    return [
        event["move"]["prompt"]["digest"]
        for event in map(json.loads, person.allstop("log", "--json", "T1").splitlines())
        if event["event"] == "move_started" and event["move"]["move"] == "take_turn"
    ]


# --- how it ends ------------------------------------------------------------------------------


def test_b8_exit_1_is_failed_at_once_and_the_workspace_is_kept(person, meets):
    """B8: no second turn; also where it says COMPLETE first."""
    done = meets("echo half >half.txt" + DONE + "echo broken >&2; exit 1")

    assert done.returncode == 1
    assert done.stdout.count("takes a turn") == 1
    assert (
        "T1 failed: exited: exit code 1 broken. Why: allstop log T1; again: allstop retry T1"
        in (done.stdout)
    )
    assert (person.tasks(), person.merged()) == ({"T1": "failed"}, [])
    assert (workspace(person) / "half.txt").read_text() == "half\n"


def test_b8_a_crash_is_pending_and_tried_again_until_three_in_a_row(person):
    """B8, B12: its workspace is kept; in autopilot the loop takes it up again, three times."""
    person.script('[[turn]]\nsteps = [{ write = "x", text = "x" }, { fail = "crashed" }]\n')
    person.commit()
    person.allstop("add", "do it")

    said = person.allstop("run", code=1)

    assert "3 tasks failed in a row. Look at these tasks, then: allstop run" in said
    assert person.tasks() == {"T1": "pending"}
    assert [each["outcome"] for each in person.task("T1")["attempts"]] == ["crashed"] * 3
    assert (workspace(person) / "x").exists()


def test_b8_an_agent_killed_by_a_signal_has_crashed(person, meets):
    """B8: crash of the agent: pending, workspace kept."""
    done = meets("echo half >half.txt; kill -9 $$")

    assert done.returncode == 1
    assert person.tasks() == {"T1": "pending"}
    assert (workspace(person) / "half.txt").exists()


def test_b8_no_signal_is_asked_again_until_the_limit(person, meets):
    """B8, B9: three iterations, then timeout; the work so far is kept; exit code 4."""
    done = meets("cat >prompt.txt; echo line >>b.txt; echo 'I am done, COMPLETE.'")

    assert done.returncode == 4
    assert "T1 timeout: not done after 3 turns" in done.stdout
    assert (person.tasks(), person.merged()) == ({"T1": "timeout"}, [])
    assert (workspace(person) / "b.txt").read_text() == "line\n" * 3
    assert len(set(prompts_of(person))) == 2  # the first, and the one that asks for a signal
    person.allstop("limit", "T1", "--iterations", "5")
    person.allstop("retry", "T1")
    person.allstop("run", code=4)
    assert (workspace(person) / "b.txt").read_text() == "line\n" * 8  # a fresh counter


def test_b9_a_stuck_agent_is_told_of_and_goes_on(person, meets):
    """B9: a warning only."""
    done = meets("echo thinking", settings="[loop]\nmax_iterations = 3\nstuck_threshold = 2\n")

    warning = "⚠ warning: no commit for 2 iterations"
    assert done.returncode == 4
    assert done.stdout.count("takes a turn") == 3
    assert done.stdout.count(warning) == 1
    assert person.allstop("log", "T1").count(warning) == 1
    assert person.json("show", "T1")["warning"] == ""  # it is over


def test_b9_when_a_task_counts_as_stuck_can_be_its_own(person):
    """B9: as its other limits can."""
    person.agent("echo thinking", settings="[loop]\nmax_iterations = 3\nstuck_threshold = 9\n")
    person.allstop("add", "Think", "--stuck-after", "2")
    person.allstop("add", "Think longer")
    person.allstop("edit", "T2", "--stuck-after", "3")
    person.allstop("add", "Think for long")

    person.allstop("run", code=4)

    assert "stuck after: 2" in person.allstop("show", "T1")
    for task, warning in (("T1", "for 2 iter"), ("T2", "for 3 iter"), ("T3", "")):
        said = person.allstop("log", task)
        assert said.count("⚠ warning: no commit") == bool(warning)
        assert warning in said


def test_b9_whoever_looks_at_a_stuck_task_sees_the_warning(person):
    """B9: also in what programs read."""
    person.agent(
        "[ ! -e .git/seen ] || sleep 60; touch .git/seen", settings="[loop]\nstuck_threshold = 1\n"
    )
    process = person.start("run", "do it")
    wait_for(lambda: person.tasks() and person.json("show", "T1")["warning"], "a warning")

    said, run = person.allstop("show", "T1"), person.json("status")["runs"][0]
    process.kill()
    process.wait(60)

    assert "warning      ⚠ no commit for 1 iteration\n" in said
    assert (run["kind"], run["warning"]) == ("task", "no commit for 1 iteration")


def test_b9_a_commit_ends_the_warning_and_another_rest_brings_it_back(person, meets):
    """B9: once each time that it comes to that."""
    meets(
        'echo x >>.git/turns; [ "$(wc -l <.git/turns)" -ne 3 ] || echo work >work',
        settings="[loop]\nmax_iterations = 6\nstuck_threshold = 2\n",
    )

    assert person.allstop("log", "T1").count("⚠ warning: no commit for 2 iterations") == 2


def test_b8_complete_without_any_change_is_not_done(person, meets):
    """B8: it is told so; a word is no work."""
    done = meets("cat >/dev/null" + DONE)

    assert done.returncode == 4
    assert (person.tasks(), person.merged()) == ({"T1": "timeout"}, [])
    assert done.stdout.count("takes a turn") == 3


@pytest.mark.parametrize(
    "script",
    [
        "echo '<promise>COMPLETE</promise>'; echo one more thing",
        "echo 'COMPLETE'",
        "echo '> <promise>COMPLETE</promise>'",
        "echo '<promise>COMPLETE'; echo '</promise>'",
        "echo '<promise>complete</promise>'",
        "echo '<promise>COMPLETE</promise>' >&2",
        "echo '<promise>COMPLETE</promise>' >said.txt",
    ],
)
def test_b7_only_the_exact_last_line_is_a_signal(person, meets, script):
    """B7: not in the middle, not bare, not quoted, not on stderr, not in a file."""
    done = meets(f"echo x >>x\n{script}", settings="[loop]\nmax_iterations = 1\n")

    assert done.returncode == 4, done.stdout
    assert person.merged() == []


def test_b7_a_prompt_that_is_echoed_is_no_signal(person, meets):
    done = meets("echo x >>x; cat", settings="[loop]\nmax_iterations = 1\n")

    assert done.returncode == 4, done.stdout


def test_b11_blocked_says_why_and_the_others_go_on(person):
    """B11: Autopilot frees the slot and goes on; exit code 1."""
    person.agent(
        """
        case $(cat) in
        *"do one"*) echo '<promise>BLOCKED: no database</promise>' ;;
        *) echo x >x; echo '<promise>COMPLETE</promise>' ;;
        esac
        """
    )
    for title in ("do one", "do two"):
        person.allstop("add", title)

    said = person.allstop("run", "--parallel", "1", code=1)

    assert "T1 blocked: no database" in said
    assert person.tasks() == {"T1": "blocked", "T2": "done"}


def test_b11_pending_frees_the_slot_and_the_others_go_on(person):
    """B11: exit code 3; the answer is the next prompt."""
    person.agent(
        """
        case $(cat) in
        *"The answer: blue"*) echo blue >colour; echo '<promise>COMPLETE</promise>' ;;
        *"do one"*) echo '<promise>PENDING: which colour?</promise>' ;;
        *) echo x >x; echo '<promise>COMPLETE</promise>' ;;
        esac
        """
    )
    for title in ("do one", "do two"):
        person.allstop("add", title)

    said = person.allstop("run", "--parallel", "1", code=3)

    assert "asks: which colour?" in said
    assert person.tasks() == {"T1": "waiting", "T2": "done"}
    person.allstop("answer", "T1", "blue")
    person.allstop("run")
    assert person.merged() == ["T2", "T1"]
    assert (person.repository / "colour").read_text() == "blue\n"


def test_b7_progress_is_shown_and_is_no_end(person, meets):
    """B7: PROGRESS goes on."""
    done = meets(
        """
        n=$(cat n 2>/dev/null); echo x$n >n
        case $n in xx) echo '<promise>COMPLETE</promise>' ;;
        *) echo '<promise>PROGRESS: 40% half</promise>' ;; esac
        """
    )

    assert done.returncode == 0, done.stdout
    assert "40%" in done.stdout
    assert done.stdout.count("takes a turn") == 3


# --- limits and hangs -------------------------------------------------------------------------


def test_p5_a_typed_limit_is_waited_for_and_it_goes_on_by_itself(person):
    """P5, B8: no iteration is used up, and the time it waits is not counted."""
    person.agent(
        """
        if [ -f ~/limited ]; then echo x >x; echo '<promise>COMPLETE</promise>'; exit; fi
        touch ~/limited
        echo 'HTTP error 429: too many requests' >&2
        exit 1
        """,
        settings=MERGE_AT_ONCE + "[loop]\nmax_iterations = 1\n",
    )
    person.commit()

    said = person.allstop("run", "do it")

    assert "rate limited: HTTP error 429" in said
    assert said.count("takes a turn") == 2
    assert person.merged() == ["T1"]
    assert person.task("T1")["attempts"][0]["tally"]["turns"] == 1


def test_p5_words_about_429_are_no_limit(person, meets):
    """P5: test_x.py:429 in a reply, or in the output of what failed otherwise."""
    done = meets("echo 'test_x.py:429: rate is wrong'; echo 'line 429' >&2; exit 1")

    assert done.returncode == 1
    assert person.tasks() == {"T1": "failed"}


def test_b8_an_agents_words_about_rate_limits_are_a_failure_at_once(person, meets):
    """B8: they are about its work; a limit would be tried again, for ever."""
    done = meets("echo 'I added a rate limit to the login form, build broken'; exit 1")

    assert done.returncode == 1
    assert done.stdout.count("takes a turn") == 1
    assert "exited: exit code 1" in done.stdout
    assert person.tasks() == {"T1": "failed"}


def test_b9_a_hanging_agent_is_ended_with_all_it_started(person, meets, mark):
    """B9: no sign of life for idle_seconds; also what it hid away."""
    done = meets(
        f"(trap '' TERM HUP; setsid sleep {mark}) & sleep {mark}",
        settings=LOOP + "[retry]\nmax_retries = 1\nbase_ms = 50\n",
        idle_seconds=1,
    )

    assert done.returncode == 1
    assert done.stdout.count("stalled: no sign of life for 1 s") >= 2
    assert alive(f"sleep {mark}") == []


def test_b9_a_grandchild_that_holds_stdout_does_not_hang_the_loop(person, meets, mark):
    """B9: the program is over when the agent is, whoever still has its pipe."""
    done = meets(f"echo x >x; setsid sleep {mark} & \n" + DONE)

    assert done.returncode == 0, done.stdout
    assert alive(f"sleep {mark}") == []


def test_b9_an_attempt_has_so_many_minutes_and_no_more(person, mark):
    """B9: the running agent and its whole tree are ended; exit code 4."""
    person.agent(f"while true; do echo alive; sleep 0.1; done & sleep {mark}")
    person.allstop("add", "do it", "--minutes", "0.03")

    said = person.allstop("run", code=4)

    assert "T1 timeout" in said
    assert person.tasks() == {"T1": "timeout"}
    assert alive(f"sleep {mark}") == []


def test_k12_a_flood_is_read_without_being_kept(person, meets):
    """K12: 50 MB on both streams; the signal at its end still counts."""
    done = meets(
        "head -c 25000000 /dev/zero | tr '\\0' y; head -c 25000000 /dev/zero | tr '\\0' z >&2\n"
        "echo; echo x >x" + DONE
    )

    assert done.returncode == 0, done.stdout[-2000:]
    assert len(done.stdout) < 20_000
    assert person.merged() == ["T1"]
    size = sum(file.stat().st_size for file in (person.repository / ".allstop").glob("journal.db*"))
    assert size < 4_000_000


def test_k17_a_fork_bomb_ends_with_the_turn(person, meets, mark):
    """K17: processes are limited, and none of them is left."""
    done = meets(
        f"i=0; while [ $i -lt 300 ]; do sleep {mark} & i=$((i+1)); done 2>/dev/null; echo x >x"
        + DONE,
        settings=LOOP + "[limits]\nprocesses = 100\n",
    )

    assert done.returncode in (0, 1)
    assert alive(f"sleep {mark}") == []


# --- what it does to git ----------------------------------------------------------------------


def test_k15_hooks_and_settings_planted_in_its_git_never_run_on_the_host(person, meets):
    """K15: neither when its work is fetched nor when it is merged."""
    evil = person.home / "planted"
    done = meets(
        f"""
        for hook in pre-commit post-commit post-checkout post-merge reference-transaction; do
            printf '#!/bin/sh\\ntouch {evil}\\n' >.git/hooks/$hook
            chmod +x .git/hooks/$hook
        done
        git config core.fsmonitor 'touch {evil}'
        git config core.sshCommand 'touch {evil}'
        git config filter.evil.smudge 'touch {evil}'
        git config filter.evil.clean 'touch {evil}'
        echo '* filter=evil diff=evil merge=evil' >.git/info/attributes
        echo x >x
        """
        + DONE
    )

    assert not evil.exists()
    assert done.returncode == 0, done.stdout
    assert person.merged() == ["T1"]
    assert person.git("status", "--short") == ""
    assert not [
        hook
        for hook in (person.repository / ".git" / "hooks").iterdir()
        if not hook.name.endswith(".sample")
    ]
    assert "evil" not in (person.repository / ".git" / "config").read_text()


@pytest.mark.parametrize(
    "damage",
    [
        "rm -rf .git",
        "echo garbage >.git/HEAD",
        "rm -rf .git/objects",
        "find . -mindepth 1 -delete; cd /",
        "rm -rf .git; ln -s / .git",
        "git update-ref -d HEAD; rm -f .git/index; echo z >.git/index",
    ],
)
def test_b8_a_destroyed_workspace_fails_alone_and_can_be_retried(person, meets, damage):
    """B6, B8: the person's repository is whole, and a retry begins in a workspace that works."""
    done = meets(f"echo x >x\n{damage}" + DONE)

    assert done.returncode in (0, 1, 4), done.stdout
    assert person.git("fsck", "--no-dangling") == ""
    assert person.git("status", "--short") == ""
    if done.returncode:
        assert person.merged() == []
        person.program("my-agent", "#!/bin/sh\necho y >y" + DONE)
        person.allstop("retry", "T1")
        person.allstop("run")
    assert person.merged() == ["T1"]


def test_b6_work_on_another_branch_is_its_work_too(person, meets):
    """B6: what is checked out at the end counts; no branch of its own comes home."""
    done = meets("git switch -qc mine; echo x >x; git add x; git commit -qm x" + DONE)

    assert done.returncode == 0, done.stdout
    assert (person.repository / "x").exists()
    assert person.git("branch", "--format=%(refname:short)") == "main"


def test_b6_what_it_leaves_uncommitted_is_committed_as_its_work(person, meets):
    done = meets("echo x >x; echo changed >a.txt; git add a.txt; git rm -q --cached x 2>&1" + DONE)

    assert done.returncode == 0, done.stdout
    assert (person.repository / "a.txt").read_text() == "changed\n"
    assert (person.repository / "x").read_text() == "x\n"


def test_b8_the_agent_cannot_move_the_persons_branches_or_push(person, meets):
    """K14: the target moves by a merge only."""
    before = person.git("rev-parse", "main")
    done = meets(
        """
        echo x >x; git add x; git commit -qm x
        git push -q origin HEAD:main 2>&1; git push -q origin HEAD:evil 2>&1
        git update-ref refs/heads/evil HEAD
        echo no
        """,
        settings="[loop]\nmax_iterations = 1\n",
    )

    assert done.returncode == 4
    assert person.git("rev-parse", "main") != before  # the settings were committed
    assert person.merged() == []
    assert person.git("branch", "--format=%(refname:short)") == "main"


def test_b22_a_task_cannot_change_the_rules_it_is_judged_by(person, meets):
    """B16, B22: the gate is the target branch's, not the agent's copy."""
    done = meets(
        "printf '[verification]\\ncommands = [\"true\"]\\n' >allstop.toml; echo x >x" + DONE,
        settings=LOOP + '[verification]\ncommands = ["test -f right.txt"]\n',
    )

    assert done.returncode == 1
    assert person.merged() == []
