"""F5: when an agent asks before every command."""

import pytest

from allstop.app.auto.threads import auto_spec
from allstop.settings.model import Approvals


@pytest.mark.parametrize(
    ("approvals", "attended", "asks_first"),
    [
        (Approvals.POLICY, True, True),
        (Approvals.POLICY, False, False),
        (Approvals.ASK, True, True),
        (Approvals.ASK, False, True),
        (Approvals.NEVER, True, False),
        (Approvals.NEVER, False, False),
    ],
)
def test_f5_it_asks_first_where_somebody_answers(trusted, approvals, attended, asks_first):
    """F5: where the answer to all would be no, its box says what it may do."""
    project = trusted("", coder=["x"])

    spec = auto_spec(project, "go", agent="coder", approvals=approvals, attended=attended)

    assert spec.asks_first is asks_first
    assert spec.ask_s == (600 if asks_first else 0)
