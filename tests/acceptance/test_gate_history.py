"""Honest commits of this project's own history pass the gate."""

import anyio

from support import gate_history, gate_runs
from support.sweeps import short

SAMPLE = gate_history.commits(short(200, 1))


def test_q24_honest_commits_of_this_history_do_not_fail(tmp_path):
    """An unpacked archive has no history, and a shallow clone a short one."""
    outcomes = {}
    for commit in SAMPLE:
        folder = tmp_path / commit.name
        out = anyio.run(gate_runs.judge_commit, commit, folder)
        outcomes[commit.name[:10]] = out.word

    failed = [name for name, word in outcomes.items() if word == "fail"]
    assert len(failed) <= len(outcomes) // 100, outcomes
