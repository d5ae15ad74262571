"""`allstop run` with a program of one's own."""

import json

import pytest

from allstop.cli.board.run_board import next_steps
from allstop.core.tasks import Status, Task
from support.person import MERGE_AT_ONCE, alive

WORKS = """
cat >/dev/null
echo more >>b.txt
echo done
echo '<promise>COMPLETE</promise>'
"""
CHECK = """
[[verification.commands]]
name = "It is there"
run = "grep -q more b.txt"
"""


def test_a_program_of_ones_own_works_and_its_work_comes_home(person):
    """B6, B17: verified, merged, and the checkout follows; no branch is left over."""
    person.agent(WORKS, settings=MERGE_AT_ONCE + CHECK)

    said = person.allstop("run", "add a line")

    assert "1 verified, 0 failed, 0 remaining · 1 merged" in said
    assert person.tasks() == {"T1": "done"}
    assert person.merged() == ["T1"]
    assert (person.repository / "b.txt").read_text() == "more\n"
    assert person.git("status", "--short") == "?? allstop.toml"
    assert person.git("rev-parse", "--abbrev-ref", "HEAD") == "main"
    assert person.git("branch", "--list", "--format=%(refname:short)").split() == ["main"]


def test_b21_work_that_nothing_has_checked_is_not_called_verified(person):
    person.agent(WORKS, settings="[verification]\nrequired = false\n")

    said = person.allstop("run", "add a line", code=3)

    assert "◆ T1 waits for your review: allstop approve T1" in said
    assert "No verification configured" in said
    assert "1 done, unverified, 0 failed, 1 remaining" in said
    assert "! T1 unverified: no checks are configured" in said
    assert "unverified: no checks are configured   → allstop approve T1" in person.allstop("status")
    assert "unverified   no checks are configured" in person.allstop("show", "T1")
    assert "no checks are configured" in person.allstop("doctor", "--quick")


def test_b21_by_default_work_waits_for_a_review_and_is_merged_when_approved(person):
    """B21: exit code 3, then `approve` merges."""
    person.agent(WORKS, settings=CHECK)

    said = person.allstop("run", "add a line", code=3)

    assert "T1 waits for your review: allstop approve T1" in said
    assert person.tasks() == {"T1": "review"}
    assert person.merged() == []
    person.allstop("approve", "T1")
    assert person.tasks() == {"T1": "done"}
    assert person.merged() == ["T1"]
    assert (person.repository / "b.txt").read_text() == "more\n"


def test_b10_the_agent_is_told_what_failed_and_mends_it(person):
    """B10: command, exit code and output of the failed check are in the next prompt."""
    person.agent(
        """
        prompt=$(cat)
        case $prompt in
        *"exit code 1"*) echo right >b.txt ;;
        *) echo wrong >b.txt ;;
        esac
        echo '<promise>COMPLETE</promise>'
        """,
        settings=MERGE_AT_ONCE + '[verification]\ncommands = ["grep right b.txt"]\n',
    )

    said = person.allstop("run", "write the right thing")

    assert said.count("takes a turn") == 2
    assert person.git("show", "main:b.txt") == "right"


@pytest.mark.parametrize(
    ("script", "code", "status", "words"),
    [
        ("exit 3", 1, "failed", "exited: exit code 3"),
        ("echo '<promise>BLOCKED: no database</promise>'", 1, "blocked", "no database"),
        ("echo '<promise>PENDING: which colour?</promise>'", 3, "waiting", "which colour?"),
        ("echo nothing", 4, "timeout", "not done after 2 turns"),
        ("touch x; echo 'COMPLETE'; echo '<promise>COMPLETE</promise> or so'", 4, "timeout", "not done"),
        ("echo '<promise>COMPLETE</promise>'", 4, "timeout", "not done after 2 turns"),
        ("sleep 60", 4, "timeout", "not done after"),
    ],
)  # fmt: skip
def test_b8_every_way_to_end_has_its_status_and_its_exit_code(person, script, code, status, words):
    """B8, F3: 1 failed, 3 waits for a person, 4 a limit was reached."""
    person.agent(script, settings="[loop]\nmax_iterations = 2\nmax_consecutive_errors = 1\n")
    person.allstop("add", "something", *(["--minutes", "0.02"] if script == "sleep 60" else []))

    done = person.try_allstop("run", "T1")

    assert done.returncode == code, done.stdout + done.stderr
    assert words in done.stdout
    assert person.tasks() == {"T1": status}
    assert person.merged() == []


def test_nb18_k7_failed_turns_are_counted_where_a_task_is_shown(person):
    person.agent("exit 3", settings="")

    said = person.allstop("run", "something", code=1)

    assert "0 iterations, 1 failed turn · 0 tokens" in said
    assert "failed, 0 turns, 1 failed, 0 tokens" in person.allstop("show", "T1")


def test_nb12_b6_an_agent_that_removes_its_git_folder_is_named_as_the_cause(person):
    person.agent("rm -rf .git; echo x >x.txt; echo '<promise>COMPLETE</promise>'")

    person.try_allstop("run", "something")

    said = person.allstop("log", "T1") + person.allstop("show", "T1")
    assert "the workspace's .git folder is missing or damaged" in said
    assert "exit code 66" not in said
    assert person.merged() == []


def test_nb17_b16_findings_are_one_line_for_each_gate(person):
    """B16: a change that empties many test files doesn't fill the terminal at each turn."""
    for number in range(12):
        person.write(f"tests/test_{number}.py", f"def test_{number}(): assert 1\n")
    person.commit()
    person.agent(
        "rm -f tests/*.py; date +%N >x; echo '<promise>COMPLETE</promise>'",
        settings="[loop]\nmax_iterations = 2\n[[verification.commands]]\nname = 'Tests'\nrun = 'false'\n",
    )

    said = person.try_allstop("run", "tidy up").stdout

    lines = [line for line in said.splitlines() if "test_" in line]
    assert said.count("takes a turn") == len(lines) == 2, said
    assert all("deleted test: tests/test_0.py" in line and "more" in line for line in lines)


def test_b6_what_is_odd_about_a_workspace_is_said(person):
    """B6: a note that nobody sees is none."""
    person.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
    person.agent("echo x >x.txt; echo '<promise>COMPLETE</promise>'")
    person.commit()

    said = person.allstop("run", "write it")

    assert "warning: files kept by Git LFS are pointers here" in said
    assert "warning: files kept by Git LFS are pointers here" in person.allstop("log", "T1")


def test_b11_an_answer_becomes_the_next_prompt(person):
    """B11: PENDING frees the slot; the answer goes on with the same attempt."""
    person.agent(
        """
        prompt=$(cat)
        case $prompt in
        *"The answer: blue"*) echo blue >b.txt; echo '<promise>COMPLETE</promise>' ;;
        *) echo '<promise>PENDING: which colour?</promise>' ;;
        esac
        """
    )
    said = person.allstop("run", "paint it", code=3)
    assert 'asks: which colour?: allstop answer T1 "…" && allstop run' in said
    assert "asks: which colour?" in person.allstop("status")
    assert 'allstop answer T1 "…"' in person.refuses("retry", "T1")

    person.allstop("answer", "T1", "blue")
    person.allstop("run")

    assert person.git("show", "main:b.txt") == "blue"
    assert len(person.task("T1")["attempts"]) == 1


def test_events_come_as_json_lines(person):
    person.agent(WORKS)

    said = person.allstop("run", "--json", "add a line")

    events = [json.loads(line) for line in said.splitlines()]
    of_task = [event for event in events if event["run"] == "board/T1.1"]
    assert [event["seq"] for event in of_task] == list(range(1, len(of_task) + 1))
    assert of_task[0]["event"] == "opened"
    assert of_task[-1]["event"] == "closed"
    assert of_task[-1]["outcome"] == "done"
    assert {event["run"] for event in events} == {"board", "board/T1.1", "board/T1.merge1"}
    of_board = [event["seq"] for event in events if event["run"] == "board"]
    assert of_board == list(range(of_board[0], of_board[0] + len(of_board)))


@pytest.mark.parametrize(
    ("script", "code", "status"),
    [
        ("exit 3", 1, "failed"),
        ("echo hm", 4, "timeout"),
        ("echo '<promise>BLOCKED: no</promise>'", 1, "blocked"),
    ],
)
def test_what_an_earlier_run_left_undone_waits_for_a_person(person, script, code, status):
    """Exit code 3, however it ended: nothing more goes on by itself."""
    person.agent(script, settings=MERGE_AT_ONCE + "[loop]\nmax_iterations = 1\n")
    person.allstop("run", "do it", code=code)

    person.allstop("run", code=3)

    assert person.tasks() == {"T1": status}


def test_a_terminal_shows_a_live_table_and_keeps_the_news(person):
    person.agent("echo thinking hard; sleep 1; " + WORKS)

    shown, code = person.at_terminal("run", "add a line")

    assert code == 0
    assert "mine takes a turn" in shown  # the live table
    assert "thinking hard" in shown
    assert "1 done, unverified, 0 failed, 0 remaining · 1 merged" in shown


def test_b14_a_terminal_shows_each_check_with_its_tick_and_its_time(person):
    """B14: live: what has passed, what runs and for how long, what waits."""
    person.agent(
        WORKS,
        settings=MERGE_AT_ONCE
        + """
[[verification.commands]]
name = "Unit Tests"
run = "true"
[[verification.commands]]
name = "Types"
run = "sleep 3"
timeout = 120
[[verification.commands]]
name = "Lint"
run = "true"
""",
    )

    shown, code = person.at_terminal("run", "add a line")

    assert code == 0
    assert "#1" in shown
    assert "○ Lint waiting" in shown
    assert "✓ Unit Tests passed (0s / 300s)" in shown
    assert "● Types running (1s / 120s)" in shown
    assert "● Types running (2s / 120s)" in shown


def test_k3_ctrl_c_typed_at_the_terminal(person):
    """K3: once pauses, twice is Allstop."""
    person.agent("echo begun; sleep 60")

    shown, code = person.at_terminal(
        "run", "wait", keys=[("begun", "\x03"), ("Ctrl-C again", "\x03")]
    )

    assert code == 130
    assert "ALLSTOP" in shown


def test_k11_the_agent_gets_a_clean_environment_and_a_home_of_its_own(person):
    """K11: what the person has in the environment is not the agent's."""
    person.agent(
        """
        env | sort >env.txt
        ls -a ~ >home.txt
        echo '<promise>COMPLETE</promise>'
        """,
        env='{ MINE = "yes" }',
    )
    person.allstop("trust", "--yes")

    person.allstop("run", "look around")

    env = dict(line.split("=", 1) for line in person.git("show", "main:env.txt").splitlines())
    assert env["MINE"] == "yes"
    assert str(person.home) not in env["HOME"]
    assert env["ALLSTOP_PORT"] == "41000"
    assert set(env) <= {
        "ALLSTOP_PORT", "HOME", "PATH", "LANG", "TMPDIR", "USER", "LOGNAME", "SHELL", "MINE", "PWD", "SHLVL", "_", "OLDPWD",
    }  # fmt: skip
    assert "project" not in person.git("show", "main:home.txt")


def test_k14_the_agent_cannot_touch_the_persons_repository_or_home(person):
    """K14: it can write its own workspace and nothing else."""
    secret = person.home / "secret.txt"
    secret.write_text("s3cret")
    person.agent(
        f"""
        cat {secret} >got.txt 2>&1
        echo evil >{person.home}/evil.txt
        echo evil >.git/hooks/post-commit
        ls {person.home} >>got.txt 2>&1
        echo '<promise>COMPLETE</promise>'
        """
    )

    person.allstop("run", "break out")

    assert "s3cret" not in person.git("show", "main:got.txt")
    assert not (person.home / "evil.txt").exists()
    assert not (person.repository / ".git" / "hooks" / "post-commit").exists()


def test_x8_k14_an_agent_can_be_kept_from_other_branches(person):
    """K14: `[workspace] history`; by default every object is readable."""
    person.git("checkout", "-qb", "other")
    person.write("secret.txt", "s3cret")
    person.commit()
    commit = person.git("rev-parse", "other")
    person.git("checkout", "-q", "main")
    script = f"git show {commit}:secret.txt >seen.txt 2>&1; echo '<promise>COMPLETE</promise>'"

    person.agent(script)
    person.allstop("run", "look")
    assert person.git("show", "main:seen.txt") == "s3cret"
    person.agent(script, settings='[review]\nmode = "skip"\n[workspace]\nhistory = "branch"\n')
    person.allstop("run", "look again")

    assert "s3cret" not in person.git("show", "main:seen.txt")


def test_k24_the_persons_own_logins_are_never_in_the_box(person):
    """K24: neither ~/.claude nor ~/.codex, nor the keys in the environment."""
    for name in (".claude", ".codex"):
        (person.home / name).mkdir()
        (person.home / name / "credentials.json").write_text("t0ken")
    person.agent(
        f"""
        ls -a ~ {person.home} >seen.txt 2>&1
        cat ~/.claude/* ~/.codex/* {person.home}/.claude/* {person.home}/.codex/* >>seen.txt 2>&1
        echo '<promise>COMPLETE</promise>'
        """
    )

    person.allstop("run", "find a token")

    seen = person.git("show", "main:seen.txt")
    assert "t0ken" not in seen
    assert "credentials.json" not in seen


def test_k17_every_workspace_has_ports_of_its_own(person):
    """K17: two workspaces never share a range."""
    person.agent(
        """
        prompt=$(cat)
        case $prompt in *"write one"*) name=one ;; *) name=two ;; esac
        echo $ALLSTOP_PORT >$name.txt
        echo '<promise>COMPLETE</promise>'
        """
    )

    person.allstop("run", "write one", "write two")

    ports = [int(person.git("show", f"main:{name}.txt")) for name in ("one", "two")]
    assert abs(ports[0] - ports[1]) >= 20


def test_k17_a_turn_that_fills_its_workspace_is_ended_and_the_task_waits(person):
    """K17: while it is under way; a person makes room and it goes on."""
    person.agent(
        "head -c 40000000 /dev/urandom >big; sleep 70000123", settings="[limits]\ndisk_mb = 5\n"
    )

    said = person.allstop("run", "fill it", code=4)

    assert "may hold 5 MB; remove what is not needed, or raise limits.disk_mb" in said
    assert alive("sleep 70000123") == []
    assert person.tasks() == {"T1": "waiting"}
    (big,) = (person.repository / ".allstop" / "workspaces").glob("*/tree/big")
    big.unlink()
    person.agent("echo x >x; echo '<promise>COMPLETE</promise>'")
    person.allstop("run")
    assert person.git("show", "main:x") == "x"


def test_k17_a_check_that_fills_its_clone_is_ended_and_the_agent_mends_it(person):
    """K17, B10: what is full, and by which limit, is in the next prompt; the clone is gone."""
    person.agent(
        """
        case $(cat) in
        *"the clean clone of the work holds"*"may hold 5 MB"*) echo true >check ;;
        *) echo 'head -c 40000000 /dev/urandom >big; sleep 70000789' >check ;;
        esac
        echo '<promise>COMPLETE</promise>'
        """,
        settings=MERGE_AT_ONCE
        + "[limits]\ndisk_mb = 5\n"
        + "[verification]\ncommands = ['. ./check']\n",
    )

    said = person.allstop("run", "check it")

    assert "was ended: the clean clone of the work holds" in said
    assert alive("sleep 70000789") == []
    assert said.count("takes a turn") == 2
    assert person.git("show", "main:check") == "true"
    assert list((person.repository / ".allstop" / "workspaces").glob("**/big")) == []


def test_k17_a_setup_that_fills_a_new_workspace_is_ended_and_the_task_waits(person):
    fills = "head -c 40000000 /dev/urandom >big; sleep 70000321"
    works = "echo x >x; echo '<promise>COMPLETE</promise>'"
    person.agent(works, settings=f"[limits]\ndisk_mb = 5\n[workspace]\nsetup = '{fills}'\n")

    said = person.allstop("run", "set it up", code=4)

    assert "the workspace holds" in said
    assert "may hold 5 MB; remove what is not needed, or raise limits.disk_mb" in said
    assert alive("sleep 70000321") == []
    assert person.tasks() == {"T1": "waiting"}
    person.agent(works)
    person.allstop("run")
    assert person.git("show", "main:x") == "x"


@pytest.mark.parametrize("filling", ["setup", "commands"])
def test_k17_what_the_doctor_tries_is_ended_when_it_fills_the_disk(person, filling):
    fills = "head -c 40000000 /dev/urandom >big; sleep 70000987"
    lines = {
        "setup": f"[workspace]\nsetup = '{fills}'\n[verification]\ncommands = ['true']\n",
        "commands": f"[verification]\ncommands = ['{fills}']\n",
    }
    person.agent("true", settings=f"[limits]\ndisk_mb = 5\n{lines[filling]}")

    done = person.try_allstop("doctor")

    assert "the workspace holds" in done.stdout + done.stderr
    assert alive("sleep 70000987") == []
    assert list((person.repository / ".allstop" / "workspaces").glob("*")) == []


def test_k17_a_turn_whose_programs_take_too_much_memory_is_ended_and_the_task_waits(person):
    """K17: none of them alone takes too much; with a higher limit it goes on."""
    forks = """
        for each in 1 2 3 4 5 6 7 8; do
          (held=$(head -c 30000000 /dev/zero | tr '\\0' x); sleep 70000456; echo "$held") &
        done
        wait
    """
    person.agent(forks, settings="[limits]\nmemory_mb = 150\n")

    said = person.allstop("run", "fork", code=4)

    assert "150 MB that they may hold together" in said
    assert "raise limits.memory_mb" in said
    assert alive("sleep 70000456") == []
    assert person.tasks() == {"T1": "waiting"}
    person.agent("echo x >x; echo '<promise>COMPLETE</promise>'")
    person.allstop("run")
    assert person.git("show", "main:x") == "x"


def test_k17_a_check_whose_programs_take_too_much_memory_fails_and_the_agent_mends_it(person):
    """K17, B10: what was ended and why is in the next prompt."""
    person.agent(
        """
        prompt=$(cat)
        case $prompt in
        *"150 MB that they may hold together"*) echo 10 >size ;;
        *) echo 400000000 >size ;;
        esac
        echo '<promise>COMPLETE</promise>'
        """,
        settings=MERGE_AT_ONCE
        + "[limits]\nmemory_mb = 150\n"
        + """
[[verification.commands]]
name = "Fits"
run = "size=$(cat size) && head -c $size /dev/zero >/dev/shm/held && { test $size = 10 || sleep 70000457; }"
""",
    )

    said = person.allstop("run", "choose a size")

    assert "1 verified, 0 failed, 0 remaining · 1 merged" in said
    assert alive("sleep 70000457") == []
    assert person.git("show", "main:size") == "10"


def test_bad_usage_and_bad_settings_say_what_to_do(person):
    cases = [
        (("run", "x"), "no agent is configured"),
        (("rnu", "x"), "Did you mean 'run'?"),
        (("run", "--colour", "x"), "No such option"),
        (("log", "r9"), "there is no run 'r9'"),
        (("--set", "loop.max_paralel=2", "config"), "max_parallel"),
    ]
    for arguments, words in cases:
        assert words in person.refuses(*arguments), arguments
    person.write("allstop.toml", "[loop]\nmax_paralel = 2\n")
    said = person.refuses("run", "x")
    assert "allstop.toml:2: loop.max_paralel: unknown key" in said
    assert "max_parallel" in said


def test_bad_words_for_run_are_refused_before_anything_starts(person):
    person.agent(WORKS)
    person.allstop("add", "one")
    cases = [
        (("run", ""), "the prompt is empty"),
        (("run", "--for", "soon"), "not a duration such as 2h or 90m"),
        (("run", "--until", "25:00"), "not a time of day such as 07:00"),
        (("run", "--count", "0"), "--count"),
        (("run", "--parallel", "0"), "--parallel"),
        (("run", "--mode", "auto"), "'autopilot', 'semi'"),
        (("run", "--agent", "ghost", "x"), "there is no agent 'ghost'"),
        (("run", "T1", "T9"), "there is no task 'T9'"),
        (("run", "T9"), "there is no task 'T9'"),
    ]
    for arguments, words in cases:
        assert words in person.refuses(*arguments), arguments
    assert person.tasks() == {"T1": "pending"}


@pytest.mark.parametrize("arguments", [("run", "do it"), ("run", "do it", "--agent", "gpt")])
def test_k9_a_model_without_hands_is_not_sent_to_work(person, arguments):
    """K9: it can only talk; the error says so, and what could work."""
    person.write("allstop.toml", '[agents.gpt]\ndriver = "openai"\n')

    done = person.try_allstop(*arguments)

    assert done.returncode == 2
    assert "can only talk" in done.stderr or "can chat in rooms" in done.stderr
    assert "codex, claude-code, acp or command" in done.stderr


def test_b8_why_it_is_not_done_although_it_says_so_is_on_record(person):
    """B8: an agent that says COMPLETE and changes nothing goes on, and people can see why."""
    person.agent("cat >/dev/null; echo '<promise>COMPLETE</promise>'")

    said = person.allstop("--set", "loop.max_iterations=2", "run", "add a line", code=4)

    told = "COMPLETE · but nothing has changed"
    assert said.count(told) == 2
    assert told in person.allstop("log", "T1")
    assert told in person.allstop("receipts", "T1")
    assert "not done after 2 turns; it said COMPLETE, but nothing has changed" in said


def test_b8_a_complete_with_work_that_would_not_come_along_says_so(person):
    me = "-c user.name=A -c user.email=a@example.invalid"
    makes = f"git init -q lib; echo x >lib/x; git -C lib add x; git -C lib {me} commit -qm x"
    person.agent(f"cat >/dev/null; {makes}; echo '<promise>COMPLETE</promise>'")

    said = person.allstop("--set", "loop.max_iterations=1", "run", "add a line", code=4)

    assert "COMPLETE · but lib would not come along" in said


def test_k23_copied_settings_and_private_keys_never_reach_the_store(person):
    """K23: values in .env, also those of a changed .env, and key blocks; trivial values stay."""
    body = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW\\n" * 4
    person.agent(
        f"""
        cat .env; . ./.env; echo "it is $SERVICE" >&2; echo "$SERVICE" >"$SERVICE".txt
        printf -- '-----BEGIN OPENSSH PRIVATE KEY-----\\n{body}-----END OPENSSH PRIVATE KEY-----\\n'
        git add -f -- *.txt; git commit -qm "uses $SERVICE"
        echo in us-east-1
        echo '<promise>COMPLETE</promise>'
        """
    )
    person.write(".gitignore", ".env\n")
    person.commit()
    person.write(".env", "SERVICE=canary1one2three\nREGION=us-east-1\n")
    person.allstop("run", "one")
    person.write(".env", "SERVICE=canary4four5six\nREGION=us-east-1\n")
    person.allstop("run", "two")

    seen = [
        person.allstop(*each)
        for each in (("log", "T2", "--json"), ("log", "T1"), ("list", "--json"), ("status",))
    ]
    kept = [
        path.read_bytes().decode(errors="replace")
        for path in (person.repository / ".allstop").rglob("*")
        if path.is_file() and "workspaces" not in path.parts
    ]

    for secret in ("canary1one2three", "canary4four5six", "b3BlbnNz"):
        assert not [text for text in (*seen, *kept) if secret in text]
    assert "us-east-1" in seen[0]


def test_k14_k23_a_proxy_and_certificates_are_in_the_box_and_the_password_is_not_kept(person):
    """K14, K23: agents and checks get the variables; the record never gets the password."""
    bundle = person.home / "company/ca.pem"
    bundle.parent.mkdir()
    bundle.write_text("the company's certificate\n")
    person.variables |= {
        "HTTPS_PROXY": "http://ann:pass%21word77@proxy.example:3128",
        "SSL_CERT_FILE": str(bundle),
    }
    look = """
    case $HTTPS_PROXY in *:pass%21word77@*) echo reachable ;; esac
    cat $SSL_CERT_FILE
    """
    person.agent(
        f"""
        {{ {look} }} >seen.txt
        echo "$HTTPS_PROXY"; echo "it is pass%21word77 or pass!word77"
        echo '<promise>COMPLETE</promise>'
        """
    )
    with (person.repository / "allstop.toml").open("a") as file:
        file.write("""[[verification.commands]]
name = "network"
run = "test -n \\"$HTTPS_PROXY\\" && grep company $SSL_CERT_FILE"
""")
    person.commit()

    person.allstop("run", "look around")

    assert person.git("show", "main:seen.txt").split() == ["reachable", *bundle.read_text().split()]
    kept = [
        path.read_bytes().decode(errors="replace")
        for path in (person.repository / ".allstop").rglob("*")
        if path.is_file() and "workspaces" not in path.parts
    ]
    shown = [person.allstop("log", "T1", "--json"), person.allstop("show", "T1")]
    for secret in ("pass%21word77", "pass!word77"):
        assert not [text for text in (*kept, *shown) if secret in text]


def test_k6_the_next_step_at_a_used_up_limit_raises_it():
    task = Task(id="T1", title="a", number=1, status=Status.TIMEOUT, note="tokens: 11 of 10")

    (line,) = next_steps([task], [task])

    assert "allstop limit T1 --times 2" in line
    assert "allstop log" not in line
