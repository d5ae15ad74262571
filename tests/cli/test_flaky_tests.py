"""V11: the list of flaky tests in the terminal and over the API's types."""

from datetime import timedelta

import anyio

from allstop.adapters.clock import SystemClock
from allstop.adapters.receipt_files import ReceiptFiles
from allstop.gate.receipt import CommandReceipt, GateReceipt, sealed


def keep(person, minute, result, tree="tree 1"):
    command = CommandReceipt(
        name="Tests", run="t", passed=True, tests={"test_a.py::test_x": result}
    )
    at = SystemClock().now() - timedelta(minutes=minute)
    made = GateReceipt(commit="c", tree=tree, passed=True, commands=(command,), at=at)
    files = ReceiptFiles(person.repository / ".allstop" / "receipts")
    anyio.run(files.keep, sealed(made))


def test_v11_flaky_lists_what_failed_and_passed_on_one_tree(person):
    assert "No test is known to be flaky." in person.allstop("flaky")

    keep(person, 20, "failed")
    keep(person, 10, "passed")
    keep(person, 5, "passed", tree="tree 2")

    [found] = person.json("flaky")["tests"]
    assert (found["id"], found["trees"]) == ("test_a.py::test_x", 1)
    said = person.allstop("flaky")
    assert "test_a.py::test_x" in said
    assert "Tests: 1 failed, 2 passed, both on 1 tree, last 5 min ago" in said


def test_v11_a_receipt_that_was_changed_is_left_out(person):
    keep(person, 20, "failed")
    for file in (person.repository / ".allstop" / "receipts").glob("*/*.json"):
        file.write_text(file.read_text().replace("failed", "passed"))
    keep(person, 10, "passed")

    assert person.json("flaky")["tests"] == []
