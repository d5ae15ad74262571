"""F8: guidance from the command line, with a scripted agent, a real repository and a real server."""

import json
import subprocess
import sys
from contextlib import contextmanager

import pytest

SETTINGS = """
[agents.coder]
driver = "scripted"
script = "coder.toml"

[auto]
guidance = "demo"
cooldown_s = 0
review = "never"
"""
CODER = """
[[turn]]
steps = [{ write = "lexer.txt", text = "x" }, { say = "The lexer is there." }]
[[turn]]
steps = [{ write = "parser.txt", text = "y" }, { signal = "COMPLETE" }]
"""
ANSWERS = [
    {"task": "Parse TOML.", "requirements": ["dates too"], "confidence": 0.9},
    {"steps": ["Write the lexer.", "Write the parser."], "confidence": 0.9},
    {"directive": "Write the lexer now.", "reason": "it comes first", "confidence": 0.9},
    {"directive": "Now the parser.", "reason": "the lexer is there", "confidence": 0.9},
]
NO_OLLAMA = {"OLLAMA_HOST": "127.0.0.1:9"}


@pytest.fixture
def guided(person):
    def make(settings=SETTINGS, **variables):
        (person.repository / "allstop.toml").write_text(settings)
        (person.repository / "coder.toml").write_text(CODER)
        (person.repository / "README.md").write_text("# Parsnip\n")
        person.git("add", "-A")
        person.git("commit", "-qm", "settings")
        person.variables = NO_OLLAMA | variables
        person.allstop("trust", "--yes")
        return person

    return make


@contextmanager
def model(*answers):
    """A model on the loopback; yields where."""
    says = [word for answer in answers for word in ("--say", json.dumps(answer))]
    server = subprocess.Popen(
        [sys.executable, "-m", "allstop.testing.model_server", *says],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.communicate()


def test_f8_super_mode_with_a_local_ollama(guided):
    """F8: no model is named; the Ollama that answers is asked, and each step is shown."""
    with model(*ANSWERS) as address:
        person = guided(OLLAMA_HOST=address)
        said = person.allstop("auto", "Just do it!")

    assert "research: " in said
    assert "read README.md" in said
    assert "understanding: Parse TOML.; dates too · confidence 0.9 · by ollama:llama3.2" in said
    assert "plan: 1. Write the lexer.; 2. Write the parser." in said
    assert "directive: Now the parser." in said
    assert "turn 1: continue, the lexer is there" in said
    assert "ended: done (merged)" in said
    assert person.git("log", "-1", "--format=%s") == "Merge auto1: Parse TOML."


def test_f8_f12_log_and_replay_need_no_model(guided):
    """F8, F12, Q20: the server is gone, and the record says the same."""
    with model(*ANSWERS) as address:
        person = guided(OLLAMA_HOST=address)
        person.allstop("auto", "go")
    person.variables = NO_OLLAMA

    log = person.allstop("log", "auto1")
    assert "directive: Write the lexer now. · confidence 0.9 · by ollama:llama3.2" in log
    assert "◆ turn 2: stop" in log
    assert "decisions come out the same" in person.allstop("replay", "auto1")
    receipts = person.allstop("receipts", "auto1", "--json").splitlines()
    assert [json.loads(line)["summary"]["turn"] for line in receipts] == [0, 1, 2]


def test_f8_without_any_model_the_rules_guide(guided):
    person = guided()

    said = person.allstop("auto", "go")

    assert "understanding: Find out what Parsnip needs most" in said
    assert "turn 0: continue, it is the first step of the plan" in said
    assert "by guidance with rules" in said


def test_f8_the_variables_turn_it_on_and_name_the_model(guided):
    """F8: ALLSTOP_GUIDANCE_MODE and ALLSTOP_GUIDANCE_MODEL."""
    off = SETTINGS.replace('guidance = "demo"', "")
    answer = {"route": "respond", "reason": "all is clear", "confidence": 0.9}
    with model(answer, ANSWERS[3]) as address:
        person = guided(
            off,
            OLLAMA_HOST=address,
            ALLSTOP_GUIDANCE_MODE="demo",
            ALLSTOP_GUIDANCE_MODEL="ollama:tiny",
        )
        said = person.allstop("auto", "Write a parser for TOML")

    assert "route: respond: all is clear · confidence 0.9 · by ollama:tiny" in said


def test_f8_off_is_off(guided):
    person = guided(SETTINGS.replace('guidance = "demo"', ""))

    assert "directive" not in person.allstop("auto", "go")


def test_f8_a_model_that_nobody_has_is_refused(guided):
    person = guided(ALLSTOP_GUIDANCE_MODEL="telepathy:1")

    done = person.try_allstop("auto", "go")

    assert done.returncode == 2
    assert "DRIVER:MODEL" in done.stderr


@pytest.mark.parametrize("form", ["bare", "with its goal", "as a receipt"])
def test_f8_demo_says_what_guidance_makes_of_a_summary(guided, tmp_path, form):
    """F8: `allstop guidance demo --summary FILE`; no agent takes a turn."""
    person = guided()
    summary = {"turn": 2, "status": "completed", "plan": "[x] lex\n[ ] parse"}
    goal = ("--goal", "Write a parser for TOML")
    document = {
        "bare": summary,
        "with its goal": {"goal": goal[1], "summary": summary},
        "as a receipt": {"seq": 9, "summary": summary, "decision": {}},
    }[form]
    file = tmp_path / "summary.json"
    file.write_text(json.dumps(document))
    words = () if form == "with its goal" else goal

    said = person.allstop("guidance", "demo", "--summary", str(file), *words)
    again = person.allstop("guidance", "demo", "--summary", str(file), "--json", *words)

    assert "directive: parse · confidence 0.9 · by rules" in said
    assert "next input: parse" in said
    found = json.loads(again)
    assert found["run"] == "guidance2"
    assert [step["stage"] for step in found["steps"]] == ["research", "directive"]
    assert found["decision"]["action"] == "continue"
    assert "takes a turn" not in person.allstop("log", "guidance1")


def test_f8_demo_of_a_goal(guided):
    with model(*ANSWERS) as address:
        person = guided(OLLAMA_HOST=address)
        said = person.allstop("guidance", "demo", "--goal", "go")

    assert "directive: Write the lexer now." in said
    assert "turn 0: continue, it comes first" in said


@pytest.mark.parametrize(
    ("text", "says"),
    [("[]", "a turn summary"), ('{"status": 1}', "a turn summary"), ("", "goal")],
)
def test_f8_demo_refuses_what_is_no_summary(guided, text, says):
    done = guided().try_allstop("guidance", "demo", "--summary", "-", stdin=text)

    assert done.returncode == 2
    assert says in done.stderr


def test_f8_k1_demo_is_held_by_an_allstop(guided):
    """F8, K1: guidance is a run like others."""
    person = guided()
    person.allstop("stop")

    done = person.try_allstop("guidance", "demo", "--goal", "go")

    assert done.returncode != 0
    assert "directive" not in done.stdout
