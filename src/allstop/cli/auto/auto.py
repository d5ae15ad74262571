"""The command `auto`: starts a thread of Full Auto and drives it in this terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

import click

from allstop.cli.output import Context, run

if TYPE_CHECKING:
    from allstop.app.project import Project


class AutoOptions(NamedTuple):
    goal: str
    agent: str | None
    policy: str | None
    approvals: str | None


@click.command()
@click.argument("goal", metavar="PROMPT")
@click.option("--agent", help="The agent; by default the first one configured.")
@click.option(
    "--policy", type=click.Choice(["rules", "model"]), help="What decides after each turn."
)
@click.option(
    "--approvals",
    type=click.Choice(["never", "policy", "ask"]),
    help="Who decides on requests of the agent: nobody, the rules, a person.",
)
@click.option("--json", "as_json", is_flag=True, help="Print events as JSON, one per line.")
@click.pass_obj
def auto(
    context: Context,
    goal: str,
    agent: str | None,
    policy: str | None,
    approvals: str | None,
    as_json: bool,
) -> int:
    """Keep one agent working until a goal is reached.

    PROMPT is the goal. The agent works in its own clone, and its work is merged at the end. While
    it runs, type a message for it, y or n to answer a request, or "Allstop" to stop.

    \b
    Examples:
      allstop auto "Raise the test coverage of src/parser to 90 %" --agent codex
    """
    with context.project() as project:
        options = AutoOptions(goal, agent, policy, approvals)
        return run(lambda: _auto(project, options, as_json=as_json))


async def _auto(project: Project, options: AutoOptions, *, as_json: bool) -> int:
    from allstop.app.auto import threads
    from allstop.app.start_requests import StartAuto
    from allstop.auto.state import DecisionPolicy
    from allstop.cli.queued_start import queue_start
    from allstop.cli.run_terminal import drive
    from allstop.settings.model import Approvals

    begun = await threads.prepare_thread(
        project,
        options.goal,
        agent=options.agent,
        policy=DecisionPolicy(options.policy) if options.policy else None,
        approvals=Approvals(options.approvals) if options.approvals else None,
        attended=sys.stdin.isatty(),
    )
    if not project.settings.loop.auto_execute:
        request = StartAuto(
            goal=options.goal,
            agent=options.agent,
            policy=DecisionPolicy(options.policy) if options.policy else None,
            approvals=Approvals(options.approvals) if options.approvals else None,
        )
        return await queue_start(project, request, as_json=as_json)
    kind = project.kinds[threads.PILOT.kind]
    return await drive(project, kind, begun.agents, begun.open, as_json=as_json)
