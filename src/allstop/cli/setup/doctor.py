"""The command `doctor`: checks everything that runs need and says how to fix problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from allstop.cli.output import Context, echo, in_words, json_option, print_json, run

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.app.setup.doctor import Finding, Trial
    from allstop.core.moves import CheckResult


NEEDED_FOR_TASKS = ("repository", "settings", "agents")
"""Findings that tasks need and rooms don't."""

WIDTH = 14  # of the column of names, at least


@click.command()
@click.option("--quick", is_flag=True, help="Don't run the verification commands.")
@click.option("--fix", is_flag=True, help="Add the paths that the sandbox lacks to [sandbox] read.")
@json_option
@click.pass_obj
def doctor(context: Context, quick: bool, fix: bool, as_json: bool) -> int:
    """Check this machine and say how to fix problems.

    It checks git, the sandbox, agents, disk, port and keys, and runs the verification commands
    once in the sandbox, on the target branch. It compares their programs with those outside. It
    ends with exit code 1 if something is missing or a required command fails.
    """
    if quick and fix:
        raise click.UsageError("--fix needs the verification commands: leave out --quick")
    with context.project() as project:
        return run(lambda: _doctor(project, quick=quick, fix=fix, as_json=as_json))


async def _doctor(project: Project, *, quick: bool, fix: bool, as_json: bool) -> int:
    from allstop.app.setup.doctor import Trial, examine, try_checks
    from allstop.app.setup.fleet_findings import fleet_findings
    from allstop.app.setup.key_search import key_findings, search_boxes
    from allstop.app.setup.tool_comparison import add_reads

    findings = [*await examine(project), *await fleet_findings(project)]
    is_held = any(finding.name in ("allstop", "store") for finding in findings)
    if not is_held and any(finding.name == "sandbox" and finding.ok for finding in findings):
        findings += key_findings(await search_boxes(project))
    missing = any(finding.needed and not finding.ok for finding in findings)
    width = max(WIDTH, *(len(finding.name) for finding in findings))
    if not as_json:
        for finding in findings:
            _print(finding, width)
    stopped = any(finding.name == "allstop" for finding in findings)
    trial = Trial()
    if (
        not (quick or missing or stopped)
        and project.root
        and project.settings.verification.commands
    ):
        trial = await try_checks(project)
    fixed = add_reads(project, trial.tools) if fix else ""
    failing = [each.name for each in trial.checks if each.required and not each.passed]
    ok = not (missing or failing)
    if as_json:
        tried = {"checks": trial.checks, "tools": trial.tools, "notes": trial.notes}
        print_json({"ok": ok, "findings": findings, **tried, "fixed": fixed})
    else:
        _print_trial(trial, width)
        if fix:
            echo(fixed or "Nothing to add to [sandbox] read.")
        echo(_verdict(findings, failing, missing=missing))
    return 0 if ok else 1


def _verdict(findings: list[Finding], failing: list[str], *, missing: bool) -> str:
    if missing:
        return "Not ready: something that runs need is missing."
    if any(each.name == "allstop" for each in findings):
        return "Ready once the stop is lifted."
    lacking = [each.name for each in findings if each.name in NEEDED_FOR_TASKS and not each.ok]
    if lacking:
        return f"Not ready for tasks yet: see {' and '.join(lacking)}."
    if failing:
        names = ", ".join(f'"{name}"' for name in failing)
        checks_fail = "the check {} fails" if len(failing) == 1 else "the checks {} fail"
        return f"Not ready: {checks_fail.format(names)} in the sandbox."
    return "Ready."


def _print(finding: Finding, width: int) -> None:
    mark = "✓" if finding.ok else "✗" if finding.needed else "○"
    echo(in_words(f"{mark} {finding.name:<{width}} {finding.found}"))
    if finding.hint and not finding.ok:
        echo(in_words(f"  → {finding.hint}"))


def _print_trial(trial: Trial, width: int) -> None:
    for note in trial.notes:
        echo(in_words(f"○ {'workspace':<{width}} {note}"))
    for tool in trial.tools:
        echo(f"{'✓' if tool.ok else '○'} {'program':<{width}} {tool.name}: {tool.found}")
        if tool.hint:
            echo(in_words(f"  → {tool.hint}"))
    for result in trial.checks:
        _print_check(result, width)


def _print_check(result: CheckResult, width: int) -> None:
    from allstop.app.setup.doctor import missing_line

    if result.passed:
        took = f"{result.seconds:.1f} s"
        echo(f"✓ {'check':<{width}} {result.name} passes in the sandbox ({took})")
        return
    mark, kind = ("✗", "") if result.required else ("○", " (optional)")
    why = missing_line(result)
    echo(f"{mark} {'check':<{width}} {result.name}{kind} fails in the sandbox: {why}")
    if result.timed_out:
        echo("  → give it more time: `timeout` of the command in [verification]")
    elif result.code is not None:
        echo(
            "  → if it passes outside, the sandbox lacks a file: "
            "see [workspace] link, [sandbox] read"
        )
