"""The command `doctor`: checks everything that runs need and says how to fix problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from allstop.cli.output import Context, json_option, print_json, run

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.app.setup.doctor import Finding
    from allstop.core.moves import CheckResult


NEEDED_FOR_TASKS = ("repository", "settings", "agents")
"""Findings that tasks need and rooms don't."""

WIDTH = 14  # of the column of names, at least


@click.command()
@click.option("--quick", is_flag=True, help="Don't run the verification commands.")
@json_option
@click.pass_obj
def doctor(context: Context, quick: bool, as_json: bool) -> int:
    """Check this machine and say how to fix problems.

    It checks git, the sandbox, agents, disk, port and keys, and runs the verification commands
    once in the sandbox, on the target branch.
    """
    with context.project() as project:
        return run(lambda: _doctor(project, quick=quick, as_json=as_json))


async def _doctor(project: Project, *, quick: bool, as_json: bool) -> int:
    from allstop.app.setup.doctor import examine, try_checks

    findings = await examine(project)
    missing = any(finding.needed and not finding.ok for finding in findings)
    width = max(WIDTH, *(len(finding.name) for finding in findings))
    if not as_json:
        for finding in findings:
            _print(finding, width)
    stopped = any(finding.name == "allstop" for finding in findings)
    checks: list[CheckResult] = []
    if (
        not (quick or missing or stopped)
        and project.root
        and project.settings.verification.commands
    ):
        checks = await try_checks(project)
    fails = any(each.required and not each.passed for each in checks)
    if as_json:
        print_json({"ok": not (missing or fails), "findings": findings, "checks": checks})
    else:
        for result in checks:
            _print_check(result, width)
        click.echo(_verdict(findings, checks, missing=missing))
    return 1 if missing or fails else 0


def _verdict(findings: list[Finding], checks: list[CheckResult], *, missing: bool) -> str:
    if missing:
        return "Not ready: something that runs need is missing."
    if any(each.name == "allstop" for each in findings):
        return "Ready once the stop is lifted."
    lacking = [each.name for each in findings if each.name in NEEDED_FOR_TASKS and not each.ok]
    if lacking:
        return f"Not ready for tasks yet: see {' and '.join(lacking)}."
    failing = [each.name for each in checks if each.required and not each.passed]
    if failing:
        names = ", ".join(f'"{name}"' for name in failing)
        checks_fail = "the check {} fails" if len(failing) == 1 else "the checks {} fail"
        return f"Not ready: {checks_fail.format(names)} in the sandbox."
    return "Ready."


def _print(finding: Finding, width: int) -> None:
    mark = "✓" if finding.ok else "✗" if finding.needed else "○"
    click.echo(f"{mark} {finding.name:<{width}} {finding.found}")
    if finding.hint and not finding.ok:
        click.echo(f"  → {finding.hint}")


def _print_check(result: CheckResult, width: int) -> None:
    from allstop.app.setup.doctor import missing_line

    if result.passed:
        took = f"{result.seconds:.1f} s"
        click.echo(f"✓ {'check':<{width}} {result.name} passes in the sandbox ({took})")
        return
    click.echo(f"○ {'check':<{width}} {result.name} fails in the sandbox: {missing_line(result)}")
    click.echo(
        "  → if it passes outside, the sandbox lacks a file: see [workspace] link, [sandbox] read"
    )
