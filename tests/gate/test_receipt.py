"""Receipts of verified trees (V9, K21): their digest, their form, and what differs between two."""

from datetime import timedelta

import anyio
import msgspec
import pytest
from msgspec.structs import replace

from allstop.adapters.receipt_files import ReceiptFiles
from allstop.core.errors import AllstopError
from allstop.core.gate import Verdict
from allstop.core.moves import Finding
from allstop.gate.receipt import (
    CommandReceipt,
    GateReceipt,
    decode,
    differences,
    encode,
    is_intact,
    sealed,
)
from support.strategies import NOW

TESTS = CommandReceipt(
    name="Tests",
    run="pytest -q",
    passed=True,
    code=0,
    seconds=1.5,
    log_digest="ab" * 32,
    tests={"tests/test_a.py::test_one": "passed", "tests/test_a.py::test_two": "skipped"},
)
LINT = CommandReceipt(name="Lint", run="ruff check", passed=False, required=False, code=1)
RECEIPT = sealed(
    GateReceipt(
        run="T1.1",
        work="T1",
        commit="c" * 40,
        tree="a" * 40,
        base="b" * 40,
        gate="0123",
        passed=True,
        commands=(TESTS, LINT),
        findings=(Finding(kind="dilution", path="a.py", text="x", verdict=Verdict.NOTE),),
        tools={"pytest": "pytest 9.0", "ruff": "ruff 0.14"},
        allstop="0.1",
        platform="Linux x86_64",
        at=NOW,
    )
)


def test_v9_a_receipt_comes_back_as_it_was_written():
    assert decode(encode(RECEIPT), "it") == RECEIPT
    assert is_intact(RECEIPT)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda text: text.replace('"passed": true', '"passed": false', 1), "receipt_changed"),
        (lambda text: text.replace("test_two", "test_six"), "receipt_changed"),
        (lambda text: text.replace('"tree"', '"three"'), "receipt_invalid"),
        (lambda text: text[:-30], "receipt_invalid"),
        (lambda text: "[" * 100_000, "receipt_invalid"),
        (lambda text: text.replace("{", '{"version": 7,', 1), "receipt_version"),
    ],
)
def test_v9_a_receipt_that_was_changed_is_refused(change, code):
    with pytest.raises(AllstopError) as refused:
        decode(change(encode(RECEIPT).decode()).encode(), "it")
    assert refused.value.code == code


def test_v9_later_and_slower_with_other_logs_is_the_same():
    again = replace(TESTS, seconds=9.0, log_digest="cd" * 32)
    later = replace(RECEIPT, at=NOW + timedelta(days=1), run="x", commands=(again, LINT))

    assert differences(RECEIPT, later) == ()


def test_v9_it_is_said_exactly_what_differs_results_first():
    red = {**TESTS.tests, "tests/test_a.py::test_one": "failed", "tests/test_b.py::new": "passed"}
    del red["tests/test_a.py::test_two"]
    again = replace(TESTS, passed=False, code=1, tests=red)
    other = replace(RECEIPT, commands=(again,), tools={"pytest": "pytest 8.1"}, tree="d" * 40)

    assert [str(each) for each in differences(RECEIPT, other)] == [
        f"tree: {'a' * 40} → {'d' * 40}",
        "Tests: passed → exit code 1",
        "Tests: tests/test_a.py::test_one: passed → failed",
        "Tests: tests/test_a.py::test_two: skipped → none",
        "Tests: tests/test_b.py::new: none → passed",
        "Lint: exit code 1 → was not run",
        "pytest: pytest 9.0 → pytest 8.1",
        "ruff: ruff 0.14 → none",
    ]
    assert [each.counts for each in differences(RECEIPT, other)] == [True] * 6 + [False] * 2


def test_v9_unknown_test_ids_are_a_circumstance_and_not_a_result():
    unknown = replace(RECEIPT, commands=(replace(TESTS, tests=None), LINT))

    (found,) = differences(RECEIPT, unknown)

    assert str(found) == "Tests: tests: 2 test ids → test ids unknown"
    assert not found.counts


def test_v8_a_held_out_check_is_not_compared_elsewhere():
    secret = CommandReceipt(name="held-out check", run="", passed=True, held_out=True)
    mine = replace(RECEIPT, commands=(TESTS, LINT, secret))

    assert differences(mine, RECEIPT) == ()


def test_k21_receipts_are_kept_as_files_by_their_digest(tmp_path):
    files = ReceiptFiles(tmp_path / "receipts")

    anyio.run(files.keep, RECEIPT)
    anyio.run(files.keep, RECEIPT)

    assert files.read(RECEIPT.digest) == RECEIPT
    assert files.read("0" * 64) is None
    assert files.read("../../etc/passwd") is None
    (file,) = [each for each in (tmp_path / "receipts").rglob("*") if each.is_file()]
    assert file.stat().st_mode & 0o077 == 0 or file.parent.stat().st_mode & 0o077 == 0
    file.write_bytes(file.read_bytes().replace(b"test_two", b"test_six"))
    with pytest.raises(AllstopError, match="digest"):
        files.read(RECEIPT.digest)


def test_v9_the_digest_is_the_same_in_any_order_of_keys():
    turned = replace(TESTS, tests=dict(reversed(TESTS.tests.items())))
    assert sealed(replace(RECEIPT, commands=(turned, LINT))).digest == RECEIPT.digest
    assert msgspec.json.decode(encode(RECEIPT))["digest"] == RECEIPT.digest
