"""Receipts of verified trees and `allstop verify` (V9, K21), with real boxes and repositories."""

import json

import pytest
from msgspec import convert

from allstop.gate.receipt import GateReceipt, encode, sealed
from support.person import MERGE_AT_ONCE, Person

WORKS = "echo more >>a.txt; echo '<promise>COMPLETE</promise>'"
CHECKED = (
    MERGE_AT_ONCE
    + '[[verification.commands]]\nname = "Words"\nrun = "grep -q more a.txt && echo found"\n'
    + '[[verification.commands]]\nname = "Late"\nrun = "test ! -e /nowhere"\nrequired = false\n'
)


@pytest.fixture
def merged(person):
    person.agent(WORKS, settings=CHECKED)
    person.commit()
    person.allstop("run", "add")
    assert person.merged() == ["T1"]
    return person


def receipt_of(person, name="T1"):
    """The receipt, which is also written to a file; and that file."""
    text = person.allstop("show", "--receipt", name)
    return json.loads(text), str(person.write("../receipt.json", text))


def colleague(person, tmp_path):
    """Another person with a clone of the repository on what could be another machine."""
    home = tmp_path / "colleague"
    home.mkdir()
    clone = tmp_path / "clone"
    person.git("clone", "-q", str(person.repository), str(clone))
    return Person(home, clone)


def test_k21_the_gate_writes_a_receipt_of_exactly_the_tree_that_is_merged(merged):
    receipt, _ = receipt_of(merged)

    assert receipt["tree"] == merged.git("rev-parse", "main^{tree}")
    assert [each["name"] for each in receipt["commands"]] == ["Words", "Late"]
    words = receipt["commands"][0]
    assert (words["run"], words["passed"], words["code"]) == (
        "grep -q more a.txt && echo found",
        True,
        0,
    )
    assert len(words["log_digest"]) == len(receipt["digest"]) == 64
    assert receipt["tools"]["grep"].startswith("grep")
    assert receipt["passed"] is True
    assert receipt["digest"] in merged.allstop("log", "T1", "--json")


def test_v9_a_colleague_checks_the_receipt_again(merged, tmp_path):
    _, file = receipt_of(merged)
    other = colleague(merged, tmp_path)

    said = other.allstop("verify", file)

    assert "every result is the same" in said
    checked = other.json("verify", file)
    assert (checked["same"], checked["passed"]) == (True, True)
    assert other.git("status", "--short") == ""


def test_v9_a_missing_commit_is_fetched_from_a_remote(merged, tmp_path):
    other = colleague(merged, tmp_path)
    merged.allstop("run", "again")
    _, file = receipt_of(merged, "T2")

    assert other.json("verify", file)["same"]


def test_v9_without_the_tree_nothing_is_run(merged, tmp_path):
    _, file = receipt_of(merged)
    other = colleague(merged, tmp_path)
    other.git("remote", "remove", "origin")
    other.git("checkout", "-q", "--orphan", "empty")
    other.git("rm", "-rfq", ".")
    other.git("commit", "-q", "--allow-empty", "-m", "empty")
    other.git("branch", "-D", "main")
    other.git("reflog", "expire", "--expire=now", "--all")
    other.git("gc", "-q", "--prune=now")

    error = other.json("verify", file, code=2)["error"]

    assert error["code"] == "receipt_tree_missing"


def test_v9_it_says_exactly_what_differs(merged, tmp_path):
    """A receipt that says otherwise, as if the check had failed where it was written."""
    receipt, file = receipt_of(merged)
    words = {**receipt["commands"][0], "passed": False, "code": 3}
    tools = {**receipt["tools"], "grep": "grep 1.0"}
    other = {**receipt, "commands": [words, *receipt["commands"][1:]], "tools": tools}
    merged.write("../receipt.json", encode(sealed(convert(other, GateReceipt))).decode())

    checked = colleague(merged, tmp_path).json("verify", file, code=1)

    assert (checked["same"], checked["passed"]) == (False, True)
    assert checked["differences"] == [
        {"what": "Words", "then": "exit code 3", "now": "passed", "counts": True},
        {"what": "grep", "then": "grep 1.0", "now": receipt["tools"]["grep"], "counts": False},
    ]


def test_v9_a_changed_receipt_is_refused(merged):
    receipt, file = receipt_of(merged)
    merged.write("../receipt.json", json.dumps({**receipt, "passed": False}))

    error = merged.json("verify", file, code=2)["error"]

    assert error["code"] == "receipt_changed"


def test_v9_work_that_no_check_has_seen_has_no_receipt(person):
    person.agent(WORKS)
    person.commit()
    person.allstop("run", "add")

    error = person.json("show", "--receipt", "T1", code=2)["error"]

    assert error["code"] == "receipt_missing"
