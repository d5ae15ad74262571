"""Full Auto in the terminal: an agent's thread that is kept going, decision by decision."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

import click

from allstop.cli.output import Context, run

if TYPE_CHECKING:
    from allstop.app.project import Project


class Asked(NamedTuple):
    goal: str
    agent: str | None
    policy: str | None
    approvals: str | None


@click.command()
@click.argument("goal", metavar="PROMPT")
@click.option("--agent", help="Who works; else the first of the configured agents.")
@click.option("--policy", type=click.Choice(["rules", "model"]), help="Who decides after a turn.")
@click.option(
    "--approvals",
    type=click.Choice(["never", "policy", "ask"]),
    help="Who answers an agent that asks: nobody, the rules, a person.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object an event and line.")
@click.pass_obj
def auto(
    context: Context,
    goal: str,
    agent: str | None,
    policy: str | None,
    approvals: str | None,
    as_json: bool,
) -> int:
    """Keep an agent going until PROMPT is reached, in a clone of its own; merge once at the end.

    Type to tell it something, y or n to answer what it asks, "Allstop" to stop.
    """
    with context.project() as project:
        asked = Asked(goal, agent, policy, approvals)
        return run(lambda: _auto(project, asked, as_json=as_json))


async def _auto(project: Project, asked: Asked, *, as_json: bool) -> int:
    from allstop.app.auto import threads
    from allstop.auto.state import DecisionPolicy
    from allstop.cli.run_terminal import drive
    from allstop.settings.model import Approvals

    begun = await threads.prepare_thread(
        project,
        asked.goal,
        agent=asked.agent,
        policy=DecisionPolicy(asked.policy) if asked.policy else None,
        approvals=Approvals(asked.approvals) if asked.approvals else None,
        attended=sys.stdin.isatty(),
    )
    kind = project.kinds[threads.PILOT.kind]
    return await drive(project, kind, begun.agents, begun.open, as_json=as_json)
