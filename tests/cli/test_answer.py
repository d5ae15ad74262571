"""F5, B11: what an agent asks in the middle of a turn is answered from another terminal."""

import json

import anyio
import pytest

from allstop.app.project import Project
from allstop.cli.board.typed_answers import AnswerLine, Question
from allstop.settings.sources.environment import Environment
from support.inbox import inbox
from support.person import wait_for

SETTINGS = """
[agents.coder]
driver = "scripted"
script = "coder.toml"
[auto]
cooldown_s = 0
review = "never"
[merge]
enabled = false
[approvals]
boxed = "ask"
"""
ASKS = """
[[turn]]
steps = [
    {{ write = "a.txt", text = "x" }},
    {step},
    {{ signal = "COMPLETE" }},
]
"""
QUESTION = '{ question = "Which colour?", options = ["Red", "Dark blue"] }'
LEAVE = '{ ask = "COMMAND" }'


@pytest.fixture
def asks(person):
    """A task under way whose agent asks this."""

    def start(step):
        person.write("coder.toml", ASKS.format(step=step))
        person.write("allstop.toml", SETTINGS)
        person.commit()
        person.allstop("trust", "--yes")
        running = person.start("run", "paint it")
        wait_for(lambda: "asks" in json.dumps(person.json("status")["runs"]), "the question")
        return running

    return start


@pytest.mark.parametrize(
    ("given", "answer"),
    [("2", "Dark blue"), ("dark BLUE", "Dark blue"), ("neither, use green", "neither, use green")],
)
def test_f5_a_question_is_answered_by_option_or_in_words(person, asks, given, answer):
    """F5, B11: the agent goes on within its turn, and the record says who answered."""
    running = asks(QUESTION)

    told = person.allstop("answer", "T1", given)

    assert "T1: has its answer" in told
    running.communicate(timeout=60)
    log = person.allstop("log", "T1")
    assert "asks: Which colour?" in log
    assert f"user: answers ask-0: {answer}" in log


def test_f5_a_wish_is_denied_with_words_for_the_agent(person, asks):
    """F5: by the name that the inbox has for it."""
    running = asks(LEAVE.replace("COMMAND", "make install"))

    assert "asks for permission" in person.refuses("answer", "T1", "no")
    person.allstop("deny", "board/T1.1:ask-0", "-m", "Not here.")

    running.communicate(timeout=60)
    assert "user: denies ask-0: Not here." in person.allstop("log", "T1")


def test_k18_leave_for_a_session_is_refused_for_what_can_be_anything(person, asks):
    """K18: always allow never covers interpreters, env, git, package managers' scripts."""
    running = asks(LEAVE.replace("COMMAND", "python3 build.py"))

    refused = person.refuses("allow", "T1", "--session")

    assert "allowed once only: it is an interpreter" in refused
    person.allstop("allow", "T1")
    running.communicate(timeout=60)
    assert "user: allows ask-0" in person.allstop("log", "T1")


def test_f5_the_inbox_knows_it_by_a_name_that_answers_it(person, asks):
    """F5: what an onlooker finds is answered by its id."""
    running = asks(QUESTION)
    project = Project(
        person.repository, Environment(home=person.home, variables=person.environment)
    )

    (waiting,) = anyio.run(inbox, project)

    project.close()
    assert (waiting.kind, waiting.run, waiting.task) == ("question", "board/T1.1", "T1")
    assert waiting.options == ("Red", "Dark blue")
    person.allstop("answer", waiting.id, "1")
    running.communicate(timeout=60)
    assert "answers ask-0: Red" in person.allstop("log", "T1")


def test_f5_what_is_no_answer_is_refused(person, asks):
    running = asks(QUESTION)

    assert "1 question asked, 2 answers given" in person.refuses("answer", "T1", "1", "2")
    assert "an answer is empty" in person.refuses("answer", "T1", " ")
    assert "this is a question" in person.refuses("allow", "T1")
    assert "has no question 'other'" in person.refuses("answer", "T1:other", "x")
    person.allstop("deny", "T1")
    running.communicate(timeout=60)


def test_f5_a_task_that_asks_says_so_wherever_it_is_looked_at_and_how_to_answer(person, asks):
    """F5, B11: a question in the middle of a turn waits for a person, and nobody else may see it."""
    running = asks(QUESTION)
    status = person.allstop("status")
    log = person.allstop("log", "T1")

    person.allstop("answer", "T1", "1")

    asked = "asks: Which colour? (1 Red, 2 Dark blue)"
    do = 'allstop answer T1 "…"'
    assert "? T1       active since " in status
    assert f": {asked}   → {do}" in status
    assert f"Next: `{do}`." in status
    assert asked in log
    assert f"{asked}   → {do}" in running.communicate(timeout=60)[0]


def test_f5_a_task_that_asks_is_marked_in_the_table(person):
    """F5: above it stands what it asks and how to answer; its row says what it waits for."""
    person.write("coder.toml", ASKS.format(step=LEAVE.replace("COMMAND", "make install")))
    person.write("allstop.toml", SETTINGS)
    person.commit()
    person.allstop("trust", "--yes")

    row = "#1  asks: make install"
    keys = [("allstop allow T1", ""), (row, "\x03"), ("pausing", "\x03")]
    shown, _ = person.at_terminal("run", "paint it", keys=keys)

    assert "asks: make install   → allstop allow T1" in shown
    assert row in shown


PENDS = """
case $(cat) in
*blue*) echo blue >b.txt; echo '<promise>COMPLETE</promise>' ;;
*) echo '<promise>PENDING: which colour?</promise>' ;;
esac
"""


def test_nb14_b11_a_question_is_answered_in_the_terminal_of_the_run(person):
    """B11: the board waits for the line, which can be corrected, and goes on."""
    person.agent(PENDS)

    keys = [("Enter alone ends the run", "green\x7f\x7f\x7f\x7f\x7fblue\rrm -r b.txt\r")]
    shown, code = person.at_terminal("run", "paint it", keys=keys)

    assert "T1 asks: which colour?  answer, then Enter" in shown
    assert code == 0
    assert person.git("show", "main:b.txt") == "blue"


def test_nb14_b11_enter_alone_leaves_the_question_and_the_run_ends_as_ever(person):
    person.agent(PENDS)

    shown, code = person.at_terminal("run", "it", keys=[("Enter alone ends the run", "\r")])

    assert code == 3
    assert "allstop answer T1" in shown
    assert person.tasks() == {"T1": "waiting"}


@pytest.mark.parametrize(("keys", "answer"), [("y\r", "allow"), ("no\r", "deny")])
def test_nb14_f5_a_request_is_answered_in_the_terminal_of_the_run(person, keys, answer):
    """F5: the turn waits meanwhile."""
    person.write("coder.toml", ASKS.format(step=LEAVE.replace("COMMAND", "make install")))
    person.write("allstop.toml", SETTINGS)
    person.commit()
    person.allstop("trust", "--yes")

    _, code = person.at_terminal("run", "paint it", keys=[("y or n, then Enter", keys)])

    assert code == 3, "it waits for the review"
    permits = [
        each for each in person.allstop("log", "T1", "--json").splitlines() if "permit" in each
    ]
    assert f'"allow":{str(answer == "allow").lower()}' in permits[0].replace(" ", "")


ASKED = Question(run="board/T1.1", task="T1", text="asks: which colour?")


def typed(*pieces, question=ASKED):
    line = AnswerLine()
    line.show(question)
    return [line.take(piece.encode()) for piece in pieces][-1]


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ("blue\n", "blue"),
        ("bluu\x7fe\r", "blue"),
        ("red\x15blue\n", "blue"),
        ("bl\x1b[D\x1b[1;5Cue\x1bOA\n", "blue"),
        ("grün\n", "grün"),
        ("\x07 blue \n", "blue"),
        ("blue\nrm -r b.txt\n", "blue"),
        ("\n", ""),
    ],
)
def test_nb14_a_line_has_what_was_typed_without_control_keys(keys, text):
    assert typed(keys) == (ASKED, text)


def test_nb14_keys_count_only_for_the_question_that_is_shown():
    """What is typed before it appears must not answer it."""
    line = AnswerLine()
    other = ASKED._replace(task="T2")

    assert line.take(b"yes\n") is None
    assert line.show(ASKED).endswith("▏")
    assert line.take(b"bl") is None
    assert "bl▏" in line.show(ASKED)
    assert "bl" not in line.show(other)
    assert line.take(b"ue\n") == (other, "ue")
    assert line.show(None) == ""
