"""Honest commits of histories before the gate."""

import anyio

from support import gate_corpus, gate_history, gate_runs
from support.sweeps import short


def test_q24_honest_commits_of_this_history_do_not_fail(tmp_path):
    """All, or the oldest: a newer one could come with any commit.

    An unpacked archive has no history, and a shallow clone a short one.
    """
    outcomes = {}
    for commit in gate_history.commits(200)[short(0, -1) :]:
        folder = tmp_path / commit.name
        out = anyio.run(gate_runs.judge_commit, commit, folder)
        outcomes[commit.name[:10]] = out.word

    failed = [name for name, word in outcomes.items() if word == "fail"]
    assert len(failed) <= len(outcomes) // 100, outcomes


BASE = {"calc.py": "def one():\n    return 1\n", "README.md": "One.\n"}
TESTED = {
    "calc.py": "def two():\n    return 2\n",
    "test_calc.py": "from calc import two\n\n\ndef test_two():\n    assert two() == 2\n",
}


def test_v12_another_repository_gives_commits_whose_time_is_taken(tmp_path):
    clone = tmp_path / "clone"
    clone.mkdir()
    gate_corpus.git(clone, "init", "-q")
    for number, tree in enumerate((BASE, TESTED, {"README.md": "Two.\n"})):
        gate_corpus.write(tree, clone)
        gate_corpus.git(clone, "add", "-A")
        gate_corpus.git(clone, "commit", "-q", "-m", f"Commit {number}")

    (commit,) = gate_history.commits_of(clone, "python -B -m pytest -q", 5)
    times = anyio.run(gate_runs.times_of, commit, tmp_path / "run")

    assert commit.subject == "Commit 1"
    assert times.plain > 0
    assert times.again > 0
