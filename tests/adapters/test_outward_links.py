"""K18: a path that leads out of the workspace by a link counts as outside."""

import pytest

from allstop.adapters.shell import check
from allstop.adapters.shell.outward_links import links_out
from allstop.core.asks import Decision
from allstop.policy.policy import Policy, evaluate_edit


@pytest.fixture
def policy(tmp_path):
    root = tmp_path / "project"
    (root / "src" / "deep").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("x")
    (root / "out").symlink_to(tmp_path)
    (root / "src" / "top").symlink_to("..")
    (root / "within").symlink_to("src/deep")
    return Policy(workspace=str(root), escapes=links_out(str(root)))


@pytest.mark.parametrize(
    "line",
    [
        "cat out/secret.txt",
        "ls out",
        "cat < out/secret.txt",
        "cd out && cat secret.txt",
        "cat out/project/../secret.txt",
        "cat src/top/../secret.txt",
        "cd src && cat top/../secret.txt",
        "find out -name x",
        "git log -- out/secret.txt",
    ],
)
def test_k18_what_a_link_leads_out_to_is_asked_about(policy, line):
    assert check(policy, line).decision is Decision.ASK


@pytest.mark.parametrize(
    "line",
    [
        "ls within",
        "cat within/../a.py",
        "cat src/top/README.md",
        "cd within && ls",
        "ls -la",
        "cat missing.txt",
    ],
)
def test_k18_a_link_that_stays_inside_is_like_any_file(policy, line):
    assert check(policy, line).decision is Decision.ALLOW


def test_k18_f5_no_change_of_a_file_goes_through_a_link_that_leads_out(policy):
    assert evaluate_edit(policy, ("out/new.txt",)).decision is Decision.DENY
    assert evaluate_edit(policy, ("within/new.txt",)).decision is Decision.ALLOW
