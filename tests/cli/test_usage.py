"""K7: what was used, by agent, model, task, run and day, at the terminal."""

import re

SCRIPT = """
[[turn]]
when = "First"
steps = [
  { write = "a.txt", text = "a" },
  { use = { input = 1000, cached = 600, output = 50, cost_microusd = 30000, model = "small-1" } },
]
[[turn]]
when = "First"
steps = [
  { use = { input = 2000, output = 70, cost_microusd = 50000, model = "large-1" } },
  { signal = "COMPLETE" },
]
[[turn]]
when = "Second"
steps = [
  { use = { input = 400, output = 5, cost_microusd = 20000, model = "large-1" } },
  { fail = "bad_request", message = "no" },
]
"""
SETTINGS = """
[review]
mode = "skip"
[retry]
max_retries = 0
[agents.talker]
driver = "scripted"
script = "talker.toml"
"""
TALKER = """
[[turn]]
steps = [
  { say = '{"message": "Hello.", "final": true}' },
  { use = { input = 90, output = 9, cost_microusd = 100 } },
]
"""


def works(person):
    """A task of two turns that is merged, one that fails, and a talk."""
    person.script(SCRIPT, SETTINGS)
    person.write("talker.toml", TALKER)
    person.commit()
    person.allstop("trust", "--yes")
    person.allstop("add", "First", "--agent", "demo")
    person.allstop("add", "Second", "--agent", "demo")
    person.allstop("run", code=1)
    person.allstop("room", "Greet", "--agents", "talker", "--mode", "single")


def lines(person, by, *more):
    report = person.json("usage", "--by", by, *more)
    assert report["by"] == by
    return {
        line["name"]: (line["turns"], line["input"], line["cost_usd"]) for line in report["lines"]
    }


def test_k7_turns_are_put_together_by_agent_model_task_run_and_day(person):
    """K7: also what was used by a turn that failed; the dearest first."""
    works(person)
    report = person.json("usage")
    total, days = report["total"], person.json("usage", "--by", "day")["lines"]

    assert lines(person, "agent") == {"demo": (2, 3400, 0.1), "talker": (1, 90, 0.0001)}
    assert lines(person, "model") == {
        "large-1": (1, 2400, 0.07),
        "small-1": (1, 1000, 0.03),
        "": (1, 90, 0.0001),
    }
    assert list(lines(person, "task").items()) == [
        ("T1", (2, 3000, 0.08)),
        ("T2", (0, 400, 0.02)),
        ("room:default", (1, 90, 0.0001)),
    ]
    assert set(lines(person, "run")) == {"board/T1.1", "board/T2.1", "room:default"}
    assert (total["turns"], total["cached"], total["output"]) == (3, 600, 134)
    assert [day["turns"] for day in days] == [3]
    assert {key: person.json("today")[key] for key in ("turns", "tokens", "cost_usd")} == {
        "turns": total["turns"],
        "tokens": total["input"] + total["output"],
        "cost_usd": total["cost_usd"],
    }
    assert (report["merged"], report["merged_usd"]) == (1, 0.08)


def test_k7_people_read_a_table_and_can_ask_for_less(person):
    works(person)
    told = person.allstop("usage", "--by", "task")
    of_one = lines(person, "agent", "--agent", "talker")

    assert re.search(r"^T1  First +2 +3,000 +20% +120 +\$0\.08$", told, re.MULTILINE)
    assert re.search(r"^total +3 +3,490 +17% +134 +\$0\.10$", told, re.MULTILINE)
    assert "1 merged: $0.08 a task, all attempts included." in told
    assert "unknown" in person.allstop("usage", "--by", "model")
    assert set(of_one) == {"talker"}
    assert lines(person, "agent", "--since", "0s") == {}


def test_k7_a_time_that_is_none_is_refused_and_nothing_used_is_said(person):
    assert person.allstop("usage") == "There was no turn in this time.\n"
    for since in ("yesterday", "", "999999999999d", "2030-02-31"):
        assert "such as 7d, 12h or 2030-05-31" in person.refuses("usage", "--since", since)
    assert person.json("usage", "--since", "2020-01-31")["lines"] == []
