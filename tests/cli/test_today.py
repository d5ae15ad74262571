"""K5, K6: the budget of a day at the terminal."""

from itertools import product

from support import in_process

TWO_TURNS = "[budget.day]\nturns = 2\ntokens = 100000\n"
SLOW = "cat >/dev/null\necho more >>b.txt\necho going on\n"
DONE = "cat >/dev/null\necho more >>b.txt\necho '<promise>COMPLETE</promise>'\n"


def test_k6_at_the_limit_of_the_day_a_run_waits_and_a_raise_goes_on(person):
    """K6: counted over several calls; the exit code says that it was a limit."""
    person.agent(SLOW, settings="[review]\nmode = 'skip'\n" + TWO_TURNS)
    said = person.allstop("run", "add a line", code=4)
    status = person.allstop("status")
    again = person.allstop("run", code=4)
    day = person.json("today")
    raised = person.json("today", "--turns", "3")
    person.agent(DONE, settings="[review]\nmode = 'skip'\n" + TWO_TURNS)
    person.allstop("run")

    assert "limit reached: today: turns 2 + 1 of 2" in said
    assert "limit reached: today: turns 2 + 1 of 2" in again
    assert "today: turns 2 + 1 of 2" in status
    assert (day["turns"], day["max_turns"], day["near"]) == (2, 2, "today: turns: 2 of 2")
    assert (raised["max_turns"], raised["max_tokens"]) == (3, 100_000)
    assert person.tasks() == {"T1": "done"}
    assert person.json("today")["turns"] == 3


def test_k5_it_is_said_whether_budgets_hold_exactly(person):
    """K5: before anything is spent, and of the day."""
    person.agent(DONE, settings="[review]\nmode = 'skip'\n[budget]\ntokens = 1000\n" + TWO_TURNS)
    said = person.try_allstop("run", "add a line").stderr
    day = person.allstop("today")

    words = "Budgets of tokens and cost never bind for mine: a program doesn't say what it uses."
    assert words in said
    assert words in person.try_allstop("run", "--budget", "1").stderr
    assert words in day
    assert "turns    1 of 2" in day


def test_k6_where_there_is_no_limit_the_day_is_only_counted(person):
    person.agent(DONE)
    person.allstop("run", "add a line")

    assert person.json("today")["turns"] == 1
    assert "There is no daily limit" in person.allstop("today")
    assert "--turns" in person.refuses("today", "--turns", "0")


def test_k5_what_nobody_could_use_is_no_limit(person):
    """K5: it would be on record for the rest of the day, and all that reckons with it would fail."""
    person.agent(DONE)
    person.allstop("run", "add a line")

    assert "a limit is at most" in person.refuses("today", "--tokens", "1" + "0" * 400)
    assert "nan is not a number" in person.refuses("today", "--cost", "nan")
    assert "inf is not in the range" in person.refuses("today", "--minutes", "inf")
    assert "There is no daily limit" in person.allstop("today")


LIMITS = product(
    ["nan", "inf", "-1", "0", "1e308", "a lot"],
    [
        ("run", "do it", "--budget"),
        ("today", "--cost"),
        ("today", "--minutes"),
        ("limit", "T1", "--minutes"),
        ("limit", "T1", "--times"),
        ("limit", "T1", "--cost"),
        ("add", "more", "--minutes"),
        ("run", "--parallel"),
    ],
)


def test_k5_a_limit_that_is_no_limit_is_refused(person):
    """K5: click itself takes nan for a number of any range."""
    person.agent(DONE)
    person.allstop("add", "one")

    for number, words in LIMITS:
        done = in_process.run_here([*words, number], person.repository, person.environment)

        assert done.returncode == 2, (words, number)
        assert f"Invalid value for '{words[-1]}'" in done.stderr
    assert person.tasks() == {"T1": "pending"}


def test_a_span_of_time_beyond_all_calendars_is_a_long_one(person):
    person.agent(DONE, settings="[review]\nmode = 'skip'\n")

    person.allstop("run", "do it", "--for", "999999999999h")

    assert person.tasks() == {"T1": "done"}
