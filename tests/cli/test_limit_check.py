"""P5, K13: what an error means can be asked for, with the drivers' own reading."""

import json
from pathlib import Path

CORPUS = Path(__file__).parent.parent / "corpus" / "limits.jsonl"


def check(person, *arguments, **options):
    return person.allstop("limits", "check", *arguments, **options)


def answers(person, *messages, code=0):
    lines = "\n".join(each if isinstance(each, str) else json.dumps(each) for each in messages)
    said = check(person, "--stdin", "--json", stdin=lines, code=code)
    return [json.loads(line) for line in said.splitlines()]


def test_p5_a_text_is_explained(person):
    assert check(person, "cargo test failed") == "no limit  none  → nothing\n"
    assert check(person, "429 Too Many Requests") == "limit     rate  → retry_soon\n"
    said = check(person, "--channel", "claude", "Credit balance is too low")
    assert said == "limit     quota_billing  → stop_and_tell\n"


def test_p5_each_line_gives_kind_time_and_action(person):
    at = {"now": "2026-09-10T12:00:00Z", "tz": "Europe/Berlin"}
    found = answers(
        person,
        {"channel": "claude", "text": "5-hour limit reached ∙ resets 5pm", **at},
        {"channel": "cli", "text": "429 Too Many Requests. Try again in 20s.", **at},
        {
            "channel": "claude_event",
            "text": "Hello.",
            "event": {"rate_limit_info": {"status": "allowed_warning"}},
        },
        {"channel": "api", "http": {"status": 400, "body": {"error": "prompt is too long"}}},
    )

    assert found[0] == {
        "limit": True,
        "kind": "usage_window",
        "seconds": 10800.0,
        "at": "2026-09-10T15:00:00Z",
        "action": "wait_until",
    }
    assert (found[1]["seconds"], found[1]["action"]) == (20.0, "retry_soon")
    assert [(each["limit"], each["kind"], each["action"]) for each in found[2:]] == [
        (False, "warning", "nothing"),
        (False, "context", "shorten"),
    ]


def test_p5_a_bad_line_gives_an_error_and_the_next_one_is_read(person):
    good = {"channel": "cli", "text": "429 Too Many Requests"}
    sparse = {"channel": "api", "text": None, "event": None, "tz": None, "http": {"status": 429, "headers": {"retry-after": 7}}}  # fmt: skip
    assert answers(person, sparse)[0]["seconds"] == 7.0
    bad = ["{", '{"channel": "nowhere"}', json.dumps({**good, "tz": "Mars/X"}), "[1]"]

    found = answers(person, *bad, good, code=2)

    assert [each["error"]["code"] for each in found[:4]] == ["limit_message_invalid"] * 4
    assert all(each["error"]["hint"] for each in found[:4])
    assert found[4]["kind"] == "rate"


def test_p5_the_corpus_is_read_as_the_drivers_read_it(person):
    entries = [json.loads(line) for line in CORPUS.read_text(encoding="utf-8").splitlines()]

    found = answers(
        person, *({**each, "now": case[0], "tz": case[1]} for each, case in with_cases(entries))
    )

    wrong = [
        entry["id"]
        for (entry, _), each in zip(with_cases(entries), found, strict=True)
        if each["limit"] is not entry["is_limit"]
        or (entry["is_limit"] and each["kind"] not in entry["accept_kinds"])
    ]
    assert wrong == []


def with_cases(entries):
    noon = ["2026-09-10T12:00:00Z", "UTC"]
    return [(each, (each.get("cases") or [noon])[0]) for each in entries]


def test_p5_a_persons_own_patterns_count(person):
    person.write("allstop.toml", '[retry]\nrate_limit_patterns = ["zebra quota"]\n')

    assert check(person, "zebra quota gone") == "limit     rate  → retry_soon\n"


def test_p5_text_or_stdin(person):
    done = person.try_allstop("limits", "check")

    assert done.returncode == 2
    assert "Give either a TEXT or --stdin" in done.stderr
