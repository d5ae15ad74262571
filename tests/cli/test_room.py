"""`allstop room`: exit codes, JSON lines, hostile words, and a real terminal."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import sqlite3
import struct
import subprocess
import sys
import termios
import time
import unicodedata

import pytest

from support.person import wait_for
from support.room_models import STOPPED, person_with_models, says, to

HANGS = "{ say = 'LATE-ZEBRA' }, { hang = true }"


@pytest.fixture
def person(tmp_path):
    person = person_with_models(tmp_path)
    yield person
    person.close()


def two(person, gpt, claude="from claude", more=""):
    """Two agents that always say the same."""
    gpt = gpt if gpt.startswith("{ ") else says(gpt)
    person.scripts(more, gpt=[gpt], claude=[claude if claude.startswith("{ ") else says(claude)])


def hanging(person):
    """GPT has spoken, and Claude does not come to its end."""
    two(person, says("first", **to("claude")), HANGS)


def begun(person, *arguments):
    hanging(person)
    talk = person.talks("--mode", "autopilot", *arguments, "Talk.")
    talk.shows("first")
    wait_for(lambda: "claude takes a turn" in person.allstop("status"), "the second turn")
    return talk


# --- how it ends ---


@pytest.mark.parametrize(
    ("step", "mode", "more", "code", "words"),
    [
        (says("done", final=True), "collaborate", "", 0, "Collaboration ended: final"),
        (says("hello"), "collaborate", "", 0, "Collaboration ended: no handoff"),
        (says("hello"), "single", "", 0, "Answered."),
        (says("hello", **to("claude")), "collaborate", "[room]\nmax_rounds = 1\n", 0, "cap reached"),
        ("{ say = 'no JSON' }", "collaborate", "", 1, "Collaboration ended: gpt's reply has no usable"),
        ("{ fail = 'bad_request', message = 'no' }", "autopilot", "", 1, "gpt failed: bad request: no"),
        (says("same"), "autopilot", "[room]\npause_in_circles = true\n", 3, "repeat themselves"),
        (says("hello"), "autopilot", "[room]\nmax_turns = 2\n", 4, "room.max_turns = 2"),
    ],
)  # fmt: skip
def test_every_way_to_end_has_its_exit_code(person, step, mode, more, code, words):
    """R21: 0 finished, 1 failed, 3 waits for a person, 4 an emergency cap."""
    two(person, step, says("same"), more)

    done = person.try_allstop("room", "--mode", mode, "Talk.")

    assert done.returncode == code, done.stdout + done.stderr
    assert words in done.stdout


def test_r17_a_room_at_a_limit_that_names_no_time_waits_for_a_person_in_the_end(person):
    """R17, P5: it says why, and `--resume` tries again."""
    limited = "{ fail = 'usage_limited', message = 'no more' }"
    more = "[retry]\nmax_rate_limit_hours = 0\n"
    person.scripts(more, gpt=[says("first", **to("claude"))], claude=[limited])

    done = person.try_allstop("room", "Talk.")

    waiting = "claude: usage limited: no more; still so after 0 h"
    assert done.returncode == 3
    assert f"{waiting}; send any message to try again" in done.stdout
    assert waiting in person.allstop("status")
    again = person.try_allstop("room", "--resume")
    assert (again.returncode, again.stdout.count(waiting)) == (3, 1)


def test_k1_a_room_that_everything_holds_says_what_lifts_that(person):
    """K1: it waits for no answer; and then it goes on."""
    person.scripts(gpt=[says("first", final=True)])
    person.allstop("pause")

    held = person.try_allstop("room", "Talk.", "--mode", "single", "--agents", "gpt")
    person.allstop("resume")
    again = person.try_allstop("room", "--resume", "--thread", "default")

    goes_on = "allstop resume, then allstop room --resume --thread default"
    assert (held.returncode, held.stderr) == (130, f"Everything is paused. Continue: {goes_on}\n")
    assert (again.returncode, "first" in again.stdout) == (0, True)


def test_k3_sigterm_pauses_the_room_at_once_and_it_can_be_resumed(person):
    """Service managers and `timeout` send it; no Allstop remains to be lifted."""
    talk = begun(person, "--mode", "collaborate")

    talk.process.send_signal(signal.SIGTERM)

    assert STOPPED not in talk.ends(130)
    talk.notes("Paused. Continue: allstop room --resume --thread default")
    assert person.runs() == {"room:default": "paused"}
    two(person, "second", says("goes on", final=True))
    assert "goes on" in person.allstop("room", "--resume")


def test_ctrl_c_is_allstop_for_the_room(person):
    """R8: exit code 130, with the notice; the rest of the program is not stopped."""
    talk = begun(person)

    talk.process.send_signal(signal.SIGINT)

    shown = talk.ends(130)
    assert shown.count(STOPPED) == 1
    assert "claude: LATE-ZEBRA" not in shown + person.log()
    assert "ALLSTOP" not in person.allstop("status")


@pytest.mark.parametrize("how", ["a signal", "the word"])
def test_q19_a_stop_ends_the_room_although_another_process_has_the_store(person, how):
    """Q19, K3: by what needs no store, so that everything is stopped."""
    talk = begun(person)
    other = sqlite3.connect(person.repository / ".allstop" / "journal.db", isolation_level=None)
    other.execute("begin immediate")

    if how == "a signal":
        talk.process.send_signal(signal.SIGINT)
    else:
        talk.type("Allstop")
    talk.notes("ALLSTOP of everything")
    other.execute("rollback")
    other.close()

    assert STOPPED in talk.ends(130)
    assert "■ ALLSTOP since" in person.allstop("status")


def test_r7_the_typed_word_ends_it(person):
    """R7: 130."""
    talk = begun(person)

    assert STOPPED in talk.ends(130, "ALL-STOP!")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--resume", "Talk."), "--resume continues a session"),
        (("--resume", "--instead"), "--resume continues a session"),
        (("--mode", "party", "Talk."), "'single', 'collaborate', 'autopilot'"),
        (("--max-rounds", "0", "Talk."), "--max-rounds"),
        (("--agents", "gpt,ghost", "Talk."), "there is no agent 'ghost'"),
        (("--agents", "gpt", "Talk."), "a room needs 2 agents"),
        (("--first", "ghost", "Talk."), "there is no agent 'ghost'"),
        (("--agents", "gpt,claude", "--first", "third", "Talk."), "'third' is not in the room"),
        (("--thread", "a/b", "Talk."), "is no name for a thread"),
        (("  ",), "there is no goal"),
    ],
)
def test_bad_words_are_refused_before_anything_begins(person, arguments, words):
    """Exit code 2, and nothing is on record."""
    person.scripts(gpt=[says("x")], claude=[says("x")], third=[says("x")])

    said = person.refuses("room", *arguments)

    assert words in said
    assert "there is no run" in person.refuses("log", "room:default")


def test_without_agents_it_is_told_what_to_do(person):
    without_file = person.refuses("room", "Talk.")
    person.write("allstop.toml", "")

    said = person.refuses("room", "Talk.")

    assert "`allstop init` proposes agents" in without_file
    assert "a room needs 2 agents" in said
    assert '[agents.gpt] with driver = "openai"' in said


def test_help(person):
    said = person.allstop("room", "--help")

    assert '"Allstop" ends the session.' in said
    assert "@router autopilot gpt claude:" in " ".join(said.split())
    for option in ("--mode", "--agents", "--first", "--max-rounds", "--thread", "--resume",
                   "--instead", "--json", "--respect-final"):  # fmt: skip
        assert option in said
    assert "room" in person.allstop("--help")


# --- JSON ---

FIELDS = {
    "type": str, "sender": str, "target": str, "thread": str, "text": str, "call_id": str,
    "ts": int, "seq": int, "session_id": str, "round": int, "max_rounds": int | None,
    "kind": str | None, "usage": dict | None,
}  # fmt: skip
TYPES = {"human_message", "agent_call", "agent_response", "system"}


@pytest.mark.parametrize(("mode", "most"), [("collaborate", 3), ("autopilot", None), ("single", 2)])
def test_r15_every_line_is_an_event_of_the_contract(person, mode, most):
    """R15: fields, types and values."""
    more = f"[room]\nmax_turns = {3 if mode == 'autopilot' else 9}\nmax_rounds = 3\n"
    two(person, says("one", **to("claude")), says("two", **to("gpt")), more)
    began = int(time.time())  # noqa: TID251

    talk = person.talks("--json", "--mode", mode, "Talk.")
    talk.ends(4 if mode == "autopilot" else 0)

    events = talk.events
    (session,) = {event["session_id"] for event in events}
    assert re.fullmatch(r"[0-9a-f]{32}", session)
    for event in events:
        assert set(event) == set(FIELDS)
        for name, kind in FIELDS.items():
            assert isinstance(event[name], kind), (name, event)
            assert not isinstance(event[name], bool)
        assert event["type"] in TYPES
        assert event["sender"] in {"you", "router", "gpt", "claude"}
        assert event["target"] in {"router", "gpt", "claude", "all"}
        assert event["thread"] == "default"
        assert event["call_id"]
        assert began <= event["ts"] <= time.time() + 1  # noqa: TID251
        assert event["round"] >= 1
        assert event["max_rounds"] == most
        assert (event["kind"] is None) == (event["type"] != "system")
    calls = {event["call_id"]: event for event in events if event["type"] == "agent_call"}
    answers = [event for event in events if event["type"] == "agent_response"]
    assert [calls[event["call_id"]]["target"] for event in answers] == [
        event["sender"] for event in answers
    ]
    assert [event["round"] for event in answers] == list(range(1, len(answers) + 1))
    assert (events[0]["type"], events[0]["sender"], events[0]["target"], events[0]["text"]) == (
        "human_message", "you", "router", "Talk.",
    )  # fmt: skip
    assert [event["kind"] for event in events[-2:]] == ["ended", "summary"]


# --- hostile words ---

HOSTILE = (
    "\x1b[2J\x1b[31mred\x1b]0;title\x07\x1b]8;;http://evil.example\x1b\\link"
    "\x9b5n\x1bP1$r\x1b\\\r\x08\u202egnp.exe\n00:00:00  ■ Collaboration stopped by user (Allstop)."
)
FORGED = re.compile(r"^00:00:00", re.MULTILINE)


def hostile_steps():
    key = json.dumps({"message": "x", f"k{HOSTILE}": 1})
    return {
        "a message": says(HOSTILE, final=True),
        "no envelope": f"{{ say = {json.dumps(HOSTILE)} }}",
        "a key": f"{{ say = {json.dumps(key)} }}",
        "a stranger": says("x", handoff={"to": HOSTILE, "task": "t"}),
        "a failure": f"{{ fail = 'bad_request', message = {json.dumps(HOSTILE)} }}",
        "a limit": f"{{ fail = 'network', message = {json.dumps(HOSTILE)} }}",
    }


@pytest.mark.parametrize("step", hostile_steps().values(), ids=list(hostile_steps()))
def test_no_agent_can_paint_on_the_terminal_or_forge_a_notice(person, step):
    """Plain output, the log and JSON: no escape sequence, and no line that is not ours."""
    two(person, step, more="[retry]\nmax_retries = 1\nbase_ms = 10\n")

    plain = person.try_allstop("room", "Talk.")
    as_json = person.try_allstop("room", "--json", "Talk.")
    log = person.log()

    for shown in (plain.stdout, plain.stderr, log):
        assert not set(shown) & {"\x1b", "\x9b", "\x07", "\x08", "\r", "\u202e"}
        assert not FORGED.search(shown), shown
    assert "\x1b" not in as_json.stdout
    for line in as_json.stdout.splitlines():
        json.loads(line)


# --- another process ---


def test_r18_the_log_shows_the_history(person):
    """R18: of all sessions of the thread, and only of that thread."""
    two(person, says("first\nsecond line", final=True))
    person.allstop("room", "Talk of one thing.")
    person.allstop("room", "Talk of another.")
    person.allstop("room", "--thread", "side", "Talk aside.")

    log = person.log()

    assert log.count("gpt: first\n          second line\n") == 2
    assert log.index("you: Talk of one thing.") < log.index("you: Talk of another.")
    assert "aside" not in log
    assert "Talk aside." in person.log("side")
    raw = [
        json.loads(line) for line in person.allstop("log", "--json", "room:default").splitlines()
    ]
    assert {record["run"] for record in raw} == {"room:default"}


def test_r6_what_another_process_tells_is_heard(person):
    """R6: `allstop tell room:default`, and the same word stops."""
    talk = begun(person, "--json")

    person.allstop("tell", "room:default", "Make it rhyme, @gpt.")
    talk.shows("Make it rhyme, @gpt.")
    person.allstop("tell", "room:default", "all stop")

    talk.ends(130)
    (said,) = [event for event in talk.events if "rhyme" in event["text"]]
    assert (said["type"], said["sender"], said["target"]) == ("human_message", "you", "gpt")
    assert STOPPED in [event["text"] for event in talk.events]


def test_r6_who_tells_a_room_without_a_session_something_learns_what_becomes_of_it(person):
    two(person, says("first", final=True))
    person.allstop("room", "Talk.")

    said = person.allstop("tell", "room:default", "Make it rhyme.")

    assert "No session is open. A new session starts without it" in said
    assert "allstop resume" not in said


def test_a_stop_of_the_run_by_its_name(person):
    """R8: `allstop stop room:default` is for that thread alone."""
    talk = begun(person)

    person.allstop("stop", "room:default")

    assert STOPPED in talk.ends(130)
    assert "ALLSTOP" not in person.allstop("status")


def test_r10_an_aborted_room_ends_its_session_too(person):
    """R10: with the notice and a summary; the thread is over, and the record replays."""
    talk = begun(person)

    person.allstop("abort", "room:default")

    shown = talk.ends(130)
    assert STOPPED in shown
    assert "Session summary: stopped_by_user · 1 turn" in shown
    assert "the thread 'default' is over" in person.refuses("room", "Again.")
    assert "decisions come out the same" in person.allstop("replay", "room:default")


def test_a_room_needs_nobody_to_type(person):
    """Standard input that was closed, as some schedulers do, is one in which nobody types."""
    two(person, says("done", final=True))
    command = [sys.executable, "-m", "allstop", "room", "Talk."]

    done = subprocess.run(
        command,
        cwd=person.repository,
        env=person.environment,
        capture_output=True,
        text=True,
        preexec_fn=lambda: os.close(0),
        timeout=30,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "gpt: done" in done.stdout


def test_a_pipe_without_a_goal_asks_one_after_the_other(person):
    """R16, R20: every line of a script is done, the last one to its end."""
    person.scripts(
        gpt=[says("gpt one"), says("gpt two")],
        claude=[says("claude one"), says("claude two")],
    )
    talk = person.talks("--thread", "side")
    talk.type("what?")
    talk.notes("the message names no agent (name an agent: @gpt what?)")
    talk.type("@gpt hello")
    talk.shows("gpt: gpt one")
    talk.shows("Session summary: no_handoff")

    shown = talk.ends(0, "@claude and you?")

    assert "claude: claude one" in shown
    assert shown.count("Session summary: no_handoff") == 2


# --- a terminal ---


def _in_foreground():
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whoever runs these tests may not hear it


class Terminal:
    """A person's own terminal, with the program in its foreground."""

    def __init__(self, person, *arguments):
        self.ours, self.theirs = pty.openpty()
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self.before = termios.tcgetattr(self.theirs)
        self.shown = ""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "allstop", "room", *arguments],
            cwd=person.repository,
            env=person.environment | {"TERM": "xterm-256color"},
            stdin=self.theirs,
            stdout=self.theirs,
            stderr=self.theirs,
            start_new_session=True,
            preexec_fn=_in_foreground,
        )
        person.started.append(self.process)

    def keys(self, keys):
        os.write(self.ours, keys.encode())

    def until(self, words, within_s=60):
        until = time.monotonic() + within_s
        while words not in self.shown:
            assert time.monotonic() < until, f"waited too long for {words!r}: {self.shown!r}"
            if not self._read(0.05):
                assert self.process.poll() is None or self._read(0.1), self.shown

    def ends(self, code):
        wait_for(lambda: self._read(0.05) is None or self.process.poll() is not None, "its end")
        while self._read(0.1):
            pass
        assert self.process.returncode == code, self.shown
        after = termios.tcgetattr(self.theirs)
        os.close(self.ours)
        os.close(self.theirs)
        assert after == self.before, "the terminal is as it was"
        return self.shown

    def _read(self, within_s):
        if not select.select([self.ours], [], [], within_s)[0]:
            return False
        self.shown += os.read(self.ours, 65536).decode(errors="replace")
        return True


def seen(shown):
    """Without what only paints."""
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", shown)


SLOW = "{ say = '{\"message\": \"these words' }, { sleep = 0.3 }, { say = ' stream in' }, "


def test_r19_words_stream_in_while_a_person_types(person):
    """R19, R6: what is typed is in the line below, and is said when Enter is pressed."""
    person.scripts(gpt=[SLOW + "{ hang = true }"], claude=[says("no!")])
    terminal = Terminal(person, "--mode", "autopilot", "Talk.")
    terminal.until("these words")
    terminal.keys("louder, plaese\x7f\x7f\x7f\x7fease")
    terminal.until("> louder, please")
    assert "you: louder" not in seen(terminal.shown)
    terminal.keys("\r")
    terminal.until("louder, please\r\n")
    terminal.keys("Allstop\r")

    shown = seen(terminal.ends(130))

    assert "you: louder, please" in shown
    assert "Autopilot: running (turn 1)" in shown
    assert STOPPED in shown


def test_r7_the_word_typed_at_a_terminal(person):
    """R7, R8: what was shown of the reply is marked as discarded."""
    person.scripts(gpt=[says("BEGUN") + ", { hang = true }"], claude=[says("no!")])
    terminal = Terminal(person, "--mode", "autopilot", "Talk.")
    terminal.until("BEGUN")
    terminal.keys("Allstop\r")

    shown = seen(terminal.ends(130))

    assert "(discarded)" in shown
    assert shown.index("(discarded)") < shown.index(STOPPED)
    assert "BEGUN" not in shown[shown.index(STOPPED) :]
    assert "gpt was cut off. Its unfinished text, which no agent gets: BEGUN" in person.log()


def test_ctrl_c_at_a_terminal_is_allstop_for_the_room(person):
    """R8: and leaves, with 130."""
    hanging(person)
    terminal = Terminal(person, "--mode", "autopilot", "Talk.")
    terminal.until("LATE-ZEBRA")
    terminal.keys("\x03")

    assert STOPPED in seen(terminal.ends(130))


def test_ctrl_d_without_a_goal_leaves(person):
    hanging(person)
    terminal = Terminal(person)
    terminal.until("Ctrl-D leaves")
    terminal.until("> ")
    terminal.keys("\x04")

    terminal.ends(0)


def test_ctrl_c_without_a_session_leaves(person):
    hanging(person)
    terminal = Terminal(person)
    terminal.until("Ctrl-D leaves")
    terminal.until("> ")
    terminal.keys("\x03")

    terminal.ends(0)


def test_r16_at_a_terminal_one_session_follows_another(person):
    """R16: the room stays until Ctrl-D; it ends as its last session did."""
    two(person, says("hello there", final=True))
    terminal = Terminal(person)
    terminal.until("> ")
    terminal.keys("Allstop\r")
    terminal.until("nothing to stop")
    terminal.keys("@router collaborate gpt claude: Talk.\r")
    terminal.until("Session summary: final")
    terminal.keys("@gpt once more\r")
    terminal.until("Single: gpt is asked.")
    wait_for(lambda: person.log().count("Session summary: final") == 2, "the second")
    terminal.keys("\x04")

    shown = seen(terminal.ends(0))

    assert shown.count("gpt: hello there") >= 2


WIDE = "日本語のとても長い文章 and 🙂🙂🙂 \tsome more, " * 20


def test_r19_what_is_drawn_again_never_takes_a_second_line(person):
    """R19: whatever is streamed or typed, in whatever script."""
    person.scripts(gpt=[says(WIDE, final=True)], claude=[says("no!")])
    terminal = Terminal(person)
    terminal.until("> ")
    terminal.keys(f"{WIDE.replace(chr(9), '')[:150]}\x15")
    terminal.keys("@gpt go on\r")
    terminal.until("Session summary")
    terminal.keys("\x04")

    shown = seen(terminal.ends(0))

    drawn = [line for line in re.split(r"[\r\n]+", shown) if line.startswith(("> ", "          "))]
    assert any("🙂" in line for line in drawn)
    assert max(map(columns, drawn)) <= 100


def columns(text):
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def test_no_agent_can_paint_on_the_terminal_itself(person):
    """As its words stream in, however they are cut into pieces."""
    steps = ", ".join(f"{{ say = {json.dumps(char)} }}" for char in "\x1b]0;evil\x07\x9b2J\r")
    person.scripts(
        "[notify]\nsounds = false\n",  # the bell is ours to ring
        gpt=[f"{steps}, {{ say = {json.dumps(HOSTILE)} }}, {{ sleep = 0.1 }}"],
        claude=[says("no!")],
    )
    terminal = Terminal(person, "Talk.")

    shown = terminal.ends(1)

    painted = set(re.findall(r"\x1b\[[0-9;]*([A-Za-z])", shown))
    assert painted <= {"m", "A", "J"}
    assert "\x1b]" not in shown
    assert not set(seen(shown)) & {"\x1b", "\x9b", "\x07", "\x08", "\u202e"}
    assert "\x1b[2J" not in shown


def test_a_terminal_that_goes_away_ends_the_program(person):
    """R18: the session is kept as interrupted."""
    hanging(person)
    terminal = Terminal(person, "--mode", "autopilot", "Talk.")
    terminal.until("LATE-ZEBRA")

    os.close(terminal.theirs)
    os.close(terminal.ours)

    terminal.process.wait(60)
    assert person.runs() == {"room:default": "interrupted"}
