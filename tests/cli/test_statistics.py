"""S5, S7, K7: statistics and forecasts at the terminal."""

import csv
import io

SCRIPT = """
[[turn]]
when = "First"
steps = [
  { write = "a.txt", text = "a" },
  { use = { input = 1000, output = 50, cost_microusd = 30000, model = "small-1" } },
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
[[turn]]
when = "Easy"
steps = [
  { run = "mktemp work.XXXXXX" },
  { use = { input = 100, output = 1, cost_microusd = 10000 } },
  { signal = "COMPLETE" },
]
"""
SETTINGS = """
[review]
mode = "skip"
[retry]
max_retries = 0
"""


def works(person):
    """A task of two turns that is merged, one that fails, and one that is left."""
    person.script(SCRIPT, SETTINGS)
    person.commit()
    person.allstop("trust", "--yes")
    person.allstop("add", "First", "--agent", "demo", "--tag", "api")
    person.allstop("add", "Second", "--agent", "demo", "--tag", "ui")
    person.allstop("add", "Third", "--agent", "demo", "--needs", "T2")
    person.allstop("run", code=1)


def groups(person, by):
    return {g["name"]: g["statistics"] for g in person.json("stats", "--by", by)["groups"]}


def test_s5_k7_stats_shows_tasks_iterations_merges_tokens_and_cost(person):
    works(person)
    report = person.json("stats")
    usage = person.json("usage")

    expected = {
        "finished": 2, "completed": 1, "failed": 1, "remaining": 2, "iterations": 2, "attempts": 2,
        "average": 2.0, "fastest": 2, "slowest": 2, "merged": 1, "conflicts_resolved": 0,
        "pending_merges": 0, "tokens": 3525, "cost_usd": 0.1, "cost_per_merged_usd": 0.08,
    }  # fmt: skip
    assert {name: report[name] for name in expected} == expected
    assert report["runtime_s"] > 0
    assert report["time"]["agent_s"] > 0
    assert [task["task"] for task in report["finished_tasks"]] != []
    assert (usage["merged"], usage["merged_usd"]) == (1, 0.08), "usage says the same"
    told = person.allstop("stats")
    for line in (
        "2 finished (1 completed, 1 failed), 2 remaining",
        "2 (per completed task: 2)",
        "1 merged, 0 conflicts resolved, 0 pending",
        "3,525 tokens, $0.10; $0.08 a merged task",
        "agents ",
    ):
        assert line in told


def test_s5_k7_stats_can_be_grouped(person):
    works(person)

    assert {name: made["finished"] for name, made in groups(person, "tag").items()} == {
        "api": 1,
        "ui": 1,
        "": 0,
    }
    by_model = groups(person, "model")
    assert {name: made["cost_usd"] for name, made in by_model.items()} == {
        "large-1": 0.07,
        "small-1": 0.03,
    }
    assert groups(person, "agent")["demo"]["finished"] == 2
    assert groups(person, "operation")[""]["remaining"] == 2
    (day,) = groups(person, "day").values()
    assert (day["finished"], day["cost_usd"]) == (2, 0.1)


def test_s5_csv_has_a_line_for_each_group_and_nothing_for_what_is_unknown(person):
    works(person)
    rows = list(csv.DictReader(io.StringIO(person.allstop("stats", "--by", "tag", "--csv"))))

    assert {row["tag"]: row["iterations"] for row in rows} == {"api": "2", "ui": "0", "": "0"}
    assert {row["tag"]: row["average"] for row in rows} == {"api": "2.0", "ui": "", "": ""}
    both = person.try_allstop("stats", "--csv", "--json")
    assert (both.returncode, "exclude each other" in both.stdout) == (2, True)


def test_s5_a_narrow_terminal_leaves_columns_out_and_breaks_no_line(person):
    works(person)
    person.variables["COLUMNS"] = "72"
    shown, code = person.at_terminal("stats")

    lines = shown.splitlines()
    assert code == 0
    assert [line for line in lines if len(line) > 72] == []
    (titles,) = [line.split() for line in lines if line.startswith("agent")]
    assert titles[1:3] == ["finished", "failed"]


def test_s5_nothing_done_is_said(person):
    assert person.allstop("stats") == "No task was worked on in this time.\n"
    assert person.json("stats")["average"] is None


def test_s7_a_board_without_history_says_why_there_is_no_forecast(person):
    works(person)

    told = person.allstop("forecast", code=3)
    assert (
        told == "No forecast: A forecast needs 10 finished attempts on this board; there are 2.\n"
    )
    assert person.json("forecast", code=3)["forecast"] == "none"
    assert "no task 'T99'" in person.refuses("forecast", "T99")


def test_s7_a_forecast_is_recorded_when_work_begins_and_compared_when_it_ends(person):
    person.script(SCRIPT, SETTINGS)
    person.commit()
    person.allstop("trust", "--yes")
    for number in range(10):
        person.allstop("add", f"Easy {number}", "--agent", "demo")
    person.allstop("run")
    assert person.json("stats")["forecasts"]["latest"] == [], "there was too little history"
    for number in range(10, 13):
        person.allstop("add", f"Easy {number}", "--agent", "demo", "--tag", "more")

    made = person.json("forecast", "--tag", "more", "--slots", "1")
    assert (made["forecast"], made["tasks"], made["attempts"], made["slots"]) == ("made", 3, 10, 1)
    assert made["seconds"]["p10"] <= made["seconds"]["p50"] <= made["seconds"]["p90"]
    told = person.allstop("forecast")
    assert "3 of 3 finish, 3 of them verified" in told
    assert "8 of 10 results lie in these ranges. From 10 attempts, with " in told
    assert person.allstop("log", "board").count("records a forecast") == 0

    person.allstop("run")

    (latest,) = person.json("stats")["forecasts"]["latest"]
    assert (latest["tasks"], latest["came_finished"], latest["came_usd"]) == (3, 3, 0.03)
    assert latest["came_s"] > 0
    assert "ended inside the range" in person.allstop("stats")
    assert "records a forecast" in person.allstop("log", "board")
    assert "✗" not in person.allstop("replay", "board")


def test_s7_a_sprint_has_a_forecast_before_it_starts_and_its_result_after(person):
    """S7: a sprint that is cancelled is compared with nothing."""
    person.script(SCRIPT, SETTINGS)
    person.commit()
    person.allstop("trust", "--yes")
    for number in range(10):
        person.allstop("add", f"Easy {number}", "--agent", "demo")
    told = person.allstop("sprint", "start", "--count", "10")
    assert "  forecast    No forecast: A forecast needs 10 finished attempts" in told
    for number in range(10, 14):
        person.allstop("add", f"Easy {number}", "--agent", "demo", "--tag", "more")

    told = person.allstop("sprint", "start", "--count", "3", "--tag", "more")

    assert "3 of 4 finish, 3 of them verified" in told
    (latest,) = person.json("stats")["forecasts"]["latest"]
    assert (latest["sprint"], latest["came_finished"], latest["came_usd"]) == ("sprint2", 3, 0.03)
    assert latest["late_s"] is not None
    second, first = person.json("stats", "--by", "sprint")["groups"]
    assert (first["name"], first["statistics"]["finished"]) == ("sprint1", 10)
    made = second["statistics"]
    assert (second["name"], made["finished"], made["merged"], made["tokens"]) == (
        *("sprint2", 3),
        *(3, 303),
    )
    assert "sprint2" in person.allstop("stats", "--by", "sprint")
    own = person.json("stats", "--sprint", "2", "--by", "tag")
    assert (own["finished"], own["merged"], own["iterations"], len(own["finished_tasks"])) == (
        *(3, 3),
        *(3, 3),
    )
    assert [group["name"] for group in own["groups"]] == ["more"]
    assert "3 finished (3 completed)\n" in person.allstop("stats", "--sprint", "sprint2")
    assert "no sprint 'sprint9'" in person.refuses("stats", "--sprint", "9")
    assert "✗" not in person.allstop("replay", "board")
