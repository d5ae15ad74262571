"""`allstop run` with a program of one's own."""

import json

import pytest

WORKS = """
cat >/dev/null
echo more >>b.txt
echo done
echo '<promise>COMPLETE</promise>'
"""


def test_a_program_of_ones_own_works_and_its_work_comes_home(person):
    person.agent(WORKS)
    person.write("allstop.toml", (person.repository / "allstop.toml").read_text() + CHECK)

    said = person.allstop("run", "add a line")

    assert "r1 is done" in said
    assert person.git("show", "allstop/r1:b.txt") == "more"
    assert person.git("status", "--short") == "?? allstop.toml"
    assert person.git("rev-parse", "--abbrev-ref", "HEAD") == "main"
    assert person.git("branch", "--list", "--format=%(refname:short)").split() == [
        "allstop/r1",
        "main",
    ]


CHECK = """
[[verification.commands]]
name = "It is there"
run = "grep -q more b.txt"
"""


def test_the_agent_is_told_what_failed_and_mends_it(person):
    person.agent(
        """
        prompt=$(cat)
        case $prompt in
        *"exit code"*) echo right >b.txt ;;
        *) echo wrong >b.txt ;;
        esac
        echo '<promise>COMPLETE</promise>'
        """
    )
    toml = (person.repository / "allstop.toml").read_text()
    person.write("allstop.toml", toml + '[verification]\ncommands = ["grep right b.txt"]\n')

    said = person.allstop("run", "write the right thing")

    assert said.count("takes a turn") == 2
    assert person.git("show", "allstop/r1:b.txt") == "right"


@pytest.mark.parametrize(
    ("script", "code", "words"),
    [
        ("exit 3", 1, "exited: exit code 3"),
        ("echo '<promise>BLOCKED: no database</promise>'", 1, "no database"),
        ("echo '<promise>PENDING: which colour?</promise>'", 3, "which colour?"),
        ("echo nothing", 4, "not done after 2 turns"),
        ("echo 'COMPLETE'; echo '<promise>COMPLETE</promise> I think'; touch x", 4, "not done"),
        ("echo '<promise>COMPLETE</promise>'", 4, "not done after 2 turns"),  # with no change
        ("sleep 60", 4, "not done after"),
        ("echo HTTP error 429: too many requests >&2; exit 1", 4, "limit"),
    ],
)
def test_every_way_to_end_has_its_exit_code(person, script, code, words):
    """The exit codes of the reference: 1 failed, 3 waits for a person, 4 a limit."""
    person.agent(script, timeout_minutes=0.02)
    flags = ("--set", "loop.max_iterations=2", "--set", "budget.minutes=0.05")

    done = person.try_allstop(*flags, "run", "something")

    assert done.returncode == code, done.stdout + done.stderr
    assert words in done.stdout


def test_an_answer_becomes_the_next_prompt(person):
    person.agent(
        """
        prompt=$(cat)
        case $prompt in
        *"The answer: blue"*) echo blue >b.txt; echo '<promise>COMPLETE</promise>' ;;
        *) echo '<promise>PENDING: which colour?</promise>' ;;
        esac
        """
    )
    person.allstop("run", "paint it", code=3)
    assert "asks: which colour?" in person.allstop("status")

    person.allstop("answer", "r1", "blue")
    person.allstop("resume", "r1")

    assert person.git("show", "allstop/r1:b.txt") == "blue"


def test_events_come_as_json_lines(person):
    person.agent(WORKS)

    said = person.allstop("run", "--json", "add a line")

    events = [json.loads(line) for line in said.splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[0]["event"] == "opened"
    assert events[-1] | {"at": ""} == {
        "run": "r1",
        "seq": len(events),
        "event": "closed",
        "at": "",
        "outcome": "done",
    }


def test_a_terminal_shows_a_live_line_and_keeps_the_others(person):
    person.agent("echo thinking hard; sleep 1; " + WORKS)

    shown, code = person.at_terminal("run", "add a line")

    assert code == 0
    assert "mine takes a turn · " in shown  # the live line
    assert "thinking hard" in shown
    assert "r1 is done" in shown


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

    env = dict(line.split("=", 1) for line in person.git("show", "allstop/r1:env.txt").splitlines())
    assert env["MINE"] == "yes"
    assert str(person.home) not in env["HOME"]
    assert env["ALLSTOP_PORT"] == "41000"
    assert set(env) <= {
        "ALLSTOP_PORT", "HOME", "PATH", "LANG", "TMPDIR", "USER", "LOGNAME", "SHELL", "MINE", "PWD", "SHLVL", "_", "OLDPWD",
    }  # fmt: skip
    assert "project" not in person.git("show", "allstop/r1:home.txt")


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

    assert "s3cret" not in person.git("show", "allstop/r1:got.txt")
    assert not (person.home / "evil.txt").exists()
    assert not (person.repository / ".git" / "hooks" / "post-commit").exists()


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

    seen = person.git("show", "allstop/r1:seen.txt")
    assert "t0ken" not in seen
    assert "credentials.json" not in seen


def test_k17_every_workspace_has_ports_of_its_own(person):
    """K17: two workspaces never share a range."""
    person.agent("echo $ALLSTOP_PORT >port.txt; echo '<promise>COMPLETE</promise>'")

    person.allstop("run", "one")
    person.allstop("run", "two")

    ports = [int(person.git("show", f"allstop/{run}:port.txt")) for run in ("r1", "r2")]
    assert abs(ports[0] - ports[1]) >= 20


def test_bad_usage_and_bad_settings_say_what_to_do(person):
    cases = [
        (("run", "x"), "no agent is configured"),
        (("run",), "Missing argument"),
        (("rnu", "x"), "Did you mean 'run'?"),
        (("run", "--colour", "x"), "No such option"),
        (("log", "r9"), "there is no run 'r9'"),
        (("--set", "loop.max_paralel=2", "config"), "max_parallel"),
    ]
    for arguments, words in cases:
        done = person.try_allstop(*arguments)
        assert done.returncode == 2, (arguments, done.stdout, done.stderr)
        assert words in done.stderr
    person.write("allstop.toml", "[loop]\nmax_paralel = 2\n")
    done = person.try_allstop("run", "x")
    assert done.returncode == 2
    assert "allstop.toml:2: loop.max_paralel: unknown key" in done.stderr
    assert "max_parallel" in done.stderr
