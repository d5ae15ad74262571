"""Commands that show and steer runs: status, stop, pause, freeze, thaw, abort, tell, answer …"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from allstop.cli.argument_types import RUN_OR_TASK
from allstop.cli.output import Context, echo, json_option, look, print_json, run
from allstop.core.text import one_line

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.core.asks import Ask
    from allstop.core.commands import Command, Permit


@click.command()
@json_option
@click.pass_obj
def status(context: Context, as_json: bool) -> None:
    """Show what runs, what waits, and what needs you."""
    show_status(context, as_json=as_json)


def show_status(context: Context, *, as_json: bool) -> None:
    from allstop.app.runs.status import status as status_of
    from allstop.glance import status_lines

    with context.project() as project:
        found = look(lambda: status_of(project))
        if as_json:
            print_json(found)
            return
        for line in status_lines(project, found):
            echo(line)


@click.command()
@click.argument("run_id", metavar="[RUN]", required=False, type=RUN_OR_TASK)
@click.option("--dry-run", is_flag=True, help="Only show what would be stopped.")
@json_option
@click.pass_obj
def stop(context: Context, run_id: str | None, dry_run: bool, as_json: bool) -> int:
    """Stop everything now, or one run (Allstop).

    All agents and their programs are killed, and nothing starts until `allstop resume`.

    \b
    Examples:
      allstop stop           everything in this repository
      allstop stop T3        one task
    """
    if dry_run:
        with context.project() as project:
            _show_dry_run(project, run_id, as_json=as_json)
        return 0
    if run_id is not None:
        _stop_run(context, run_id, as_json=as_json)
        return 0
    from allstop.app.stop.agents import kill_agents
    from allstop.quick_stop import BY, print_result, stop_everything

    with context.project() as project:
        stopped = stop_everything(project, kill_agents(project, BY))
        print_result(project, stopped, as_json=as_json)
    return 0 if stopped.holds else 1


def _stop_run(context: Context, run_id: str, *, as_json: bool) -> None:
    from allstop.app.stop.stop import stop as stop_runs
    from allstop.quick_stop import receipt_document, receipt_lines

    with context.project() as project:
        stopped = run(lambda: stop_runs(project, "allstop stop", run_id))
    silent = stopped.silent[0] if stopped.silent else None
    if as_json:
        print_json(
            {
                "run": run_id,
                "driven": stopped.driven,
                "silent": silent,
                "receipt": receipt_document(stopped.receipt),
            }
        )
        return
    echo(f"■ {run_id}: stopped {stopped.receipt.took_ms:.0f} ms after the request.")
    for line in receipt_lines(stopped.receipt):
        echo(line)
    if stopped.note:
        echo(f"  {stopped.note}")
    for name in stopped.unreached:
        echo(f"No answer: {name} drives the run, and ends its agents when it hears of this.")
    if silent:
        echo(f"Process {silent} hangs and still drives the run; `allstop stop` ends it.")
    if not stopped.driven:
        echo(f"No process drives {run_id}; continue with `allstop resume {run_id}`.")


def _show_dry_run(project: Project, run_id: str | None, *, as_json: bool) -> None:
    from allstop.app.stop.stop import would_stop

    driving, trees = look(lambda: would_stop(project, run_id))
    if as_json:
        print_json({"processes": driving, "trees": trees})
        return
    for line in (*driving, *trees):
        echo(f"would end  {line}")
    if not driving and not trees:
        what = "anything" if run_id is None else "it"
        echo(f"Nothing is running; a stop would still keep {what} from starting.")


@click.command()
@click.argument("run_id", metavar="[RUN]", required=False, type=RUN_OR_TASK)
@json_option
@click.pass_obj
def pause(context: Context, run_id: str | None, as_json: bool) -> None:
    """Pause after the current turn. Without RUN, all runs."""
    from allstop.core.commands import Pause

    how = f"`{_resume(run_id)}` continues"
    done, idle = f"pauses after its current turn; {how}", f"paused; {how}"
    _send_command(context, run_id, Pause(), done, idle, as_json=as_json)


@click.command()
@click.argument("run_id", metavar="[RUN]", required=False, type=RUN_OR_TASK)
@json_option
@click.pass_obj
def freeze(context: Context, run_id: str | None, as_json: bool) -> None:
    """Freeze processes where they are. Without RUN, those of all runs."""
    from allstop.core.commands import Freeze

    thaws = f"`allstop thaw {run_id or ''}".rstrip() + "`"
    done = f"frozen; {thaws} lets it continue"
    _send_command(context, run_id, Freeze(), done, f"frozen until {thaws}", as_json=as_json)


@click.command()
@click.argument("run_id", metavar="[RUN]", required=False, type=RUN_OR_TASK)
@json_option
@click.pass_obj
def thaw(context: Context, run_id: str | None, as_json: bool) -> None:
    """Let frozen processes continue. Without RUN, those of all runs."""
    from allstop.core.commands import Thaw

    done = f"continues; a pause stays until `{_resume(run_id)}`"
    idle = f"no longer frozen; `{_resume(run_id)}` continues"
    _send_command(context, run_id, Thaw(), done, idle, as_json=as_json)


@click.command()
@click.argument("run_id", metavar="RUN", type=RUN_OR_TASK)
@json_option
@click.pass_obj
def abort(context: Context, run_id: str, as_json: bool) -> None:
    """End a run for good; its work is kept."""
    from allstop.app.stop.abort import abort as abort_run
    from allstop.core.commands import Abort

    with context.project() as project:
        aborted = run(lambda: abort_run(project, run_id))
    if as_json:
        print_json({"run": run_id, "command": Abort(), "driven": aborted.driven})
        return
    echo(f"{run_id}: {'ended' if aborted.over else 'ends'} for good{aborted.kept}.")
    if not (aborted.driven or aborted.over):
        echo(f"No process drives {run_id}: it ends at the next `{aborted.goes_on}`.")


@click.command()
@click.argument("run_id", metavar="RUN", type=RUN_OR_TASK)
@click.argument("text")
@json_option
@click.pass_obj
def tell(context: Context, run_id: str, text: str, as_json: bool) -> None:
    """Send a message to the agent of a run.

    Codex and Claude Code get it in the middle of a turn, others at their next turn. `allstop log
    RUN` shows when it was delivered.

    \b
    Examples:
      allstop tell T1 "Use the existing parser."
    """
    from allstop.core.commands import Say, is_allstop

    if is_allstop(text):
        _stop_run(context, run_id, as_json=as_json)
    else:
        _send_command(
            context, run_id, Say(text=text), "gets it now or at its next turn", as_json=as_json
        )


@click.command()
@click.argument("name", metavar="RUN", type=RUN_OR_TASK)
@click.argument("texts", metavar="TEXT...", nargs=-1, required=True)
@json_option
@click.pass_obj
def answer(context: Context, name: str, texts: tuple[str, ...], as_json: bool) -> None:
    """Answer a question of an agent.

    TEXT is the number or name of an option, or your own words. RUN is a run, a task, or RUN:ASK as
    the inbox shows it. If several questions were asked together, give one TEXT for each.

    \b
    Examples:
      allstop answer T1 2
      allstop answer T1 "Use SQLite."
    """
    from allstop.app.runs.commands import build_answer, split_run_and_ask

    with context.project() as project:
        command = look(lambda: build_answer(project, name, texts))
        run_id, _ = look(lambda: split_run_and_ask(project, name))
    _send_command(context, run_id, command, "has its answer", as_json=as_json)


@click.command()
@click.argument("name", metavar="RUN", type=RUN_OR_TASK)
@click.argument("ask", required=False)
@click.option("--session", is_flag=True, help="Also allow the same request later in this session, if the agent supports it.")  # fmt: skip
@json_option
@click.pass_obj
def allow(context: Context, name: str, ask: str | None, session: bool, as_json: bool) -> None:
    """Allow what an agent asks to do. Without ASK, its oldest request."""
    from allstop.app.runs.commands import build_permit

    asked = _find_ask(context, name, ask)
    permit = build_permit(asked, session=session)
    _send_permit(context, name, asked, permit, "may do it", as_json=as_json)


@click.command()
@click.argument("name", metavar="RUN", type=RUN_OR_TASK)
@click.argument("ask", required=False)
@click.option("-m", "--message", default="", help="A message for its agent.")
@json_option
@click.pass_obj
def deny(context: Context, name: str, ask: str | None, message: str, as_json: bool) -> None:
    """Deny what an agent asks to do. The agent is told and continues."""
    from allstop.core.commands import Permit

    asked = _find_ask(context, name, ask)
    permit = Permit(ask=asked.id, allow=False, message=message)
    _send_permit(context, name, asked, permit, "may not do it", as_json=as_json)


def _find_ask(context: Context, name: str, ask: str | None) -> Ask:
    from allstop.app.runs.commands import find_ask

    with context.project() as project:
        return look(lambda: find_ask(project, name, ask))


def _send_permit(
    context: Context, name: str, ask: Ask, permit: Permit, done: str, *, as_json: bool
) -> None:
    from allstop.app.runs.commands import split_run_and_ask
    from allstop.core.asks import describe_ask

    with context.project() as project:
        run_id, _ = look(lambda: split_run_and_ask(project, name))
    _send_command(
        context, run_id, permit, f"{done}: {one_line(describe_ask(ask), 80)}", as_json=as_json
    )


def _resume(run_id: str | None) -> str:
    return f"allstop resume {run_id}" if run_id else "allstop resume"


def _send_command(
    context: Context,
    run_id: str | None,
    command: Command,
    done: str,
    idle: str = "",
    *,
    as_json: bool,
) -> None:
    """Send a command to a run and print `done`, or `idle` if no process drives the run."""
    from allstop.app.runs.commands import deliver_command

    with context.project() as project:
        sent = run(lambda: deliver_command(project, run_id, command))
    if as_json:
        print_json({"run": run_id, "command": command, "driven": sent.driven})
        return
    if idle and sent.stopped:
        idle = done = f"already stopped; `{_resume(run_id)}` lifts the stop"
    echo(f"{run_id or 'Everything'}: {idle if idle and not sent.driven else done}.")
    if sent.deferred and not idle:
        echo(sent.deferred)
