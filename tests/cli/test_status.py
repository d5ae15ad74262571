"""Looking at what happened, and making a repository ready."""

import json
import re
import signal
import socket
import sys
from datetime import datetime

from allstop.adapters.processes.memory.cgroups import own_cgroups
from support.control_room import ControlRoom
from support.person import wait_for

WORKS = "echo more >>b.txt; echo '<promise>COMPLETE</promise>'"


def test_log_receipts_and_replay_of_a_run(person):
    """F7: every decision has a receipt, and comes out the same again."""
    person.agent(WORKS)
    person.allstop("run", "add a line")

    log = person.allstop("log", "T1")
    receipts = [
        json.loads(line) for line in person.allstop("receipts", "T1", "--json").splitlines()
    ]

    assert "mine takes a turn" in log
    assert [receipt["move"]["move"] for receipt in receipts] == [
        "open_workspace",
        "take_turn",
        "run_checks",
        "finish",
    ]
    assert person.json("replay", "T1") == {"run": "T1", "decisions": 4, "differences": []}
    assert person.json("replay", "board")["differences"] == []
    assert person.json("replay", "board/T1.merge1")["differences"] == []


def test_the_log_of_a_task_has_all_that_was_tried_and_its_merges(person):
    """F7: from the first attempt to the commit on the target; each run can be asked for alone."""
    person.agent("[ -e .git/tried ] || { touch .git/tried; exit 7; }; " + WORKS)
    person.allstop("run", "add a line", code=1)
    person.allstop("retry", "T1")
    person.allstop("run", "T1")
    runs = ["T1.1", "T1.2", "T1.merge1"]

    log = person.allstop("log", "T1")
    lines = [json.loads(line) for line in person.allstop("log", "T1", "--json").splitlines()]

    assert list(dict.fromkeys(line["run"] for line in lines)) == [f"board/{run}" for run in runs]
    assert "".join(person.allstop("log", run) for run in runs) == log
    assert log.splitlines()[-1].endswith("■ ended: done")
    assert person.allstop("log", "T1", "--follow") == log
    assert "there is no run 'T1.9'" in person.try_allstop("log", "T1.9").stderr


def test_log_follows_a_run_of_another_process_to_its_end(person):
    person.agent("sleep 1; " + WORKS)
    process = person.start("run", "add a line")
    wait_for(lambda: person.tasks().get("T1") not in (None, "pending"), "the run")

    followed = person.allstop("log", "--follow", "T1")

    assert "ended: done" in followed
    assert process.wait(60) == 0


def test_status_alone_says_what_to_do_next(person):
    assert "`allstop init`" in person.allstop()
    person.agent(WORKS)
    assert "Nothing has been run here yet" in person.allstop()
    person.allstop("run", "add a line")
    assert "board: completed · autopilot · 1 done" in person.allstop("status")
    person.allstop("add", "another")
    assert "Next: `allstop run`" in person.allstop("status")


def test_json_status_has_stable_keys(person):
    person.agent("echo '<promise>PENDING: what?</promise>'")
    person.allstop("run", "ask", code=3)

    status = json.loads(person.allstop("status", "--json"))
    assert datetime.fromisoformat(status["board"]["needs_you"][0].pop("since")).tzinfo

    assert sorted(status) == [
        *("accounts", "board", "disk_full", "hold", "needs_you", "runs"),
        *("stopped_by", "stopped_since"),
    ]
    assert status["board"] == {
        "phase": "waiting_user",
        "mode": "autopilot",
        "counts": {"waiting": 1},
        "needs_you": [
            {
                "id": "T1",
                "title": "ask",
                "status": "waiting",
                "note": "asks: what?",
                "do": 'allstop answer T1 "…"',
                "hint": "",
            }
        ],
        "start": "",
        "waits": "",
    }
    assert status["needs_you"] == 1
    assert sorted(status["runs"][0]) == [
        "actions",
        "driven",
        "id",
        "kind",
        "needs_you",
        "opened_at",
        "outcome",
        "parent",
        "reason",
        "resume",
        "status",
        "tally",
        "title",
        "wait",
        "warning",
    ]


def test_init_writes_what_it_finds_and_never_overwrites(person):
    person.write("pyproject.toml", "[tool.pytest.ini_options]\n")

    said = person.allstop("init")

    assert "pytest" in said
    text = (person.repository / "allstop.toml").read_text()
    assert 'target = "main"' in text
    done = person.try_allstop("init")
    assert (done.returncode, "is there already" in done.stderr) == (2, True)
    assert (person.repository / "allstop.toml").read_text() == text


def test_the_folder_keeps_itself_out_of_git(person):
    person.agent(WORKS)
    person.allstop("run", "add a line")

    assert person.git("status", "--short") == "?? allstop.toml"


def test_config_tells_where_each_value_comes_from(person):
    person.agent(WORKS)
    person.write(
        "allstop.toml",
        (person.repository / "allstop.toml").read_text() + "[loop]\nmax_iterations = 7\n",
    )

    rows = {
        row["key"]: row
        for row in json.loads(person.allstop("--set", "loop.max_parallel=3", "config", "--json"))[
            "settings"
        ]
    }

    assert rows["loop.max_iterations"]["value"] == 7
    assert "allstop.toml" in rows["loop.max_iterations"]["origin"]
    assert rows["loop.max_parallel"] == {
        "key": "loop.max_parallel",
        "value": 3,
        "origin": rows["loop.max_parallel"]["origin"],
    }
    assert "command line" in rows["loop.max_parallel"]["origin"]
    assert "default" in rows["loop.stuck_threshold"]["origin"]


def test_doctor_tries_everything_and_tells_what_is_missing(person):
    person.agent(WORKS)
    toml = (person.repository / "allstop.toml").read_text()
    person.write("allstop.toml", toml + '[verification]\ncommands = ["no-such-tool --test"]\n')

    said = person.allstop("doctor", code=1)

    assert "✓ sandbox        tried: boxed by bubblewrap" in said
    assert "✓ memory         no limit: [limits] memory_mb sets one" in said
    assert "✓ agent mine" in said
    assert "no-such-tool: not found" in said

    person.write("allstop.toml", toml.replace('"my-agent"', '"not-there"'))
    said = person.allstop("doctor", "--quick", code=1)
    assert "✗ agent mine" in said
    assert "'not-there' is not on PATH" in said


def test_k17_the_doctor_says_how_memory_is_bounded(person):
    person.agent(WORKS, settings="[limits]\nmemory_mb = 4096\n")

    said = person.allstop("doctor", "--quick")

    how = "enforced by the kernel" if own_cgroups() else "checked every 1 s"
    assert f"✓ memory         4,096 MB for a task's programs together, {how}" in said


def test_the_doctor_says_whether_the_control_room_has_its_port(person):
    """Somebody else's, then free, then this repository's own."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        person.agent(WORKS, settings=f"[server]\nport = {port}\n")
        said = person.allstop("doctor", "--quick")
    assert f"○ port           another program listens on 127.0.0.1 port {port}" in said
    assert "→ the control room needs another: set [server] port" in said
    assert f"✓ port           127.0.0.1 port {port} is free" in person.allstop("doctor", "--quick")

    room = ControlRoom(person)
    said = person.allstop("doctor", "--quick")
    room.close()
    assert f"the control room of this repository is open at http://{room.host}" in said


def test_agents_are_listed_and_tried(person):
    person.agent("echo ready")

    assert "✓ mine" in person.allstop("agents")
    assert "token budgets never bind: it doesn't say what it uses" in person.allstop("agents")
    assert "answered in" in person.allstop("agents", "test", "mine")
    person.agent("exit 7")
    assert "exit code 7" in person.allstop("agents", "test", "mine", code=1)
    done = person.try_allstop("agents", "test", "ghost")
    assert (done.returncode, "there is no agent 'ghost'" in done.stderr) == (2, True)


def test_a_program_of_the_repository_is_tried_with_a_task(person):
    """A trial's box is empty; it is said where the program is there."""
    person.agent(WORKS)
    toml = (person.repository / "allstop.toml").read_text()
    person.write("allstop.toml", toml.replace('"my-agent"', '"./agent.sh"'))

    done = person.try_allstop("agents", "test", "mine")

    assert done.returncode == 2
    assert "./agent.sh is a file of the repository, and a trial has an empty box" in done.stderr
    assert "--agent mine" in done.stderr


def test_outside_a_repository_it_says_so(person, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()

    done = person.try_allstop("-C", str(outside), "run", "x")

    assert done.returncode == 2
    assert "no agent is configured" in done.stderr or "no git repository" in done.stderr
    assert person.try_allstop("-C", str(outside), "status").returncode == 0


def test_what_an_agent_says_cannot_fool_the_terminal(person):
    """No escape sequence of an agent reaches the person's terminal."""
    person.agent(
        r"printf 'x\033]0;evil\007\033[2Jhidden\n'; echo x >x; echo '<promise>COMPLETE</promise>'"
    )

    said = person.allstop("run", "be evil")

    assert "\x1b" not in said
    assert "\x1b" not in person.allstop("log", "T1")


def test_what_an_agent_or_a_file_says_cannot_fool_a_real_terminal(person):
    """Where it is a terminal nothing is filtered on the way; it must be harmless before."""
    evil = "\x1b]0;evil\x07\x1b[2J"
    person.agent(r"printf 'x\033[2J\n<promise>PENDING: so\033]0;evil\007\033[2J?</promise>\n'")
    shown = [person.at_terminal("run", "be evil", keys=[("ends the run", "\n")])[0]]
    person.allstop("add", f"title{evil}", "--operation", f"op{evil}", "--tag", f"tag{evil}")

    for command in (("status",), ("list",), ("show", "T1"), ("show", "T2"), ("next", "--explain"), ("log", "T1")):  # fmt: skip
        shown.append(person.at_terminal(*command)[0])

    assert not [text for text in shown if "\x1b[2J" in text or "\x1b]0" in text]


def test_the_demo_runs_to_its_end(person, tmp_path):
    said = person.allstop("demo", "--dir", str(tmp_path / "demo"))

    assert f"  . {sys.prefix}/bin/activate\n  cd {tmp_path}/demo\n" in said
    assert "✗ VERIFICATION_FAILED: 0 of 1 passed" in said
    assert "✓ 1 of 1 passed" in said
    assert "6 verified, 0 failed, 0 remaining · 6 merged, 1 conflict resolved" in said
    done = person.try_allstop("demo", "--dir", str(tmp_path / "demo"))
    assert (done.returncode, "is not empty" in done.stderr) == (2, True)


def test_k3_watching_shows_what_others_do_and_stops_nothing(person):
    """K3: whichever process drives; ending the watch ends nothing else."""
    person.script('[[turn]]\nsteps = [{ write = "b.txt", text = "x" }, { signal = "COMPLETE" }]\n')
    person.commit()
    watching = person.start("watch")
    for line in watching.stdout:
        if "Ctrl-C only ends" in line:
            break
    person.allstop("run", "Write b")
    missing = {"the board", "the end of its task"}
    for line in watching.stdout:
        if line.startswith("board "):
            missing.discard("the board")
        if "board/" in line and "ended" in line:
            missing.discard("the end of its task")
        if not missing:
            break

    watching.send_signal(signal.SIGINT)

    assert watching.wait(60) == 0
    assert missing == set()
    assert person.tasks() == {"T1": "done"}


WAITING = """
[agents.asks]
driver = "scripted"
script = "asks.toml"
[agents.limited]
driver = "scripted"
script = "limited.toml"
[loop]
agent = "asks"
"""


def test_u1_status_says_of_each_wait_since_when_until_when_and_how_to_change_it(person):
    """A task, two plans, a thread, a room and a queued start; times are local."""
    person.write("allstop.toml", WAITING)
    person.write("asks.toml", '[[turn]]\nsteps = [{ signal = "PENDING: which?" }]\n')
    person.write("limited.toml", "[[turn]]\nsteps = [{ rate_limit = 86400 }]\n")
    person.write("PLAN.md", "# A\n- one\n")
    person.commit()
    person.allstop("trust", "--yes")
    person.allstop("run", "ask me", code=3)
    person.allstop("plan", "run", "PLAN.md", "--mode", "step", code=3)
    person.start("plan", "run", "PLAN.md", "--agent", "limited")
    person.start("auto", "Write it", "--agent", "limited")

    def limited():
        runs = {each["id"]: each["reason"] for each in person.json("status")["runs"]}
        return all("limit, until" in runs.get(run, "") for run in ("plan2", "auto1"))

    wait_for(limited, "two runs at a limit")
    person.allstop("pause", "auto1")
    person.write("allstop.toml", WAITING + "auto_execute = false\n")
    person.commit()
    person.allstop("trust", "--yes")
    person.allstop("run", "later", code=3)

    said = person.allstop("status")
    print(said)

    now = r"since \d\d:\d\d"
    assert re.search(rf'T1 +waiting {now}: asks: which\? +→ allstop answer T1 "…"', said)
    assert re.search(rf"waits {now} → allstop plan approve plan1", said)
    tomorrow = r"until \d{4}-\d\d-\d\d \d\d:\d\d"
    assert re.search(rf"waits {now}, {tomorrow} → allstop plan retry plan2", said)
    assert re.search(rf"waits {now} → allstop resume auto1", said)
    assert re.search(rf"waits {now} → allstop approve start1", said)
    waits = {each["id"]: each["wait"] for each in person.json("status")["runs"]}
    assert waits["plan1"]["on"].startswith("step 1.1 waits for your approval")
    assert waits["plan2"]["until"] > waits["plan2"]["since"]
    assert waits["auto1"]["on"] == "a pause"
