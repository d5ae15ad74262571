"""What people can do about a task that did not end well."""

from allstop.app.board.remedies import raised
from allstop.core.board_specs import AgentTerms, BoardSpec
from allstop.core.ids import AgentName
from allstop.core.tasks import Changes, Task

ANNA, BEN = AgentName("anna"), AgentName("ben")


def test_b9_b19_a_limit_is_raised_from_what_the_agents_own_time_was():
    """B19: raise the limit; B9: which is the agent's own, where it has one."""
    spec = BoardSpec(
        target="main", agents=(ANNA,), terms={BEN: AgentTerms(attempt_s=600.0)}, attempt_s=300.0
    )
    task = Task(id="t", title="t", number=1)

    assert raised(spec, task, 2) == Changes(iterations=100, minutes=10.0)
    assert raised(spec, Task(id="t", title="t", number=1, agent=BEN), 2).minutes == 20.0
    assert raised(spec, Task(id="t", title="t", number=1, agent=BEN, minutes=3), 2).minutes == 6.0
