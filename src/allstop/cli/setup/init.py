"""The commands `init`, `config` and `trust`: the settings of a repository."""

import click

from allstop.cli.output import Context, echo, json_option, print_json


@click.command()
@click.option(
    "--agent",
    metavar="COMMAND",
    default="",
    help="Your own program that reads a prompt from its input, or an agent found here.",
)
@json_option
@click.pass_obj
def init(context: Context, agent: str, as_json: bool) -> int:
    """Write allstop.toml for this repository.

    It detects the installed agents and the commands that test the repository. It never overwrites
    a file.

    \b
    Examples:
      allstop init
      allstop init --agent "my-agent --quiet"
    """
    from allstop.app.setup.init import write_settings
    from allstop.settings.detection.missing_checks import CODE, warning
    from allstop.settings.loader import FILE_NAME

    with context.project() as project:
        detected = write_settings(project, own=agent)
        path = project.repository / FILE_NAME
    warnings = [] if detected.checks else [{"code": CODE, "text": warning()}]
    if as_json:
        print_json({"file": str(path), "detected": detected, "warnings": warnings})
        return 0
    echo(f"Wrote {FILE_NAME}.")
    for check in detected.checks:
        echo(f"  check  {check.run}   ({check.reason})")
    for each in detected.agents:
        echo(f"  agent  {each.name}   ({each.reason})")
    if not detected.agents:
        echo("  No agent found: describe a program of yours under [agents] in the file.")
    for warned in warnings:
        echo(f"\n{warned['text']}\n")
    echo("Next: try it with `allstop doctor`, then commit the file.")
    return 0


@click.command()
@json_option
@click.pass_obj
def config(context: Context, as_json: bool) -> None:
    """Show all settings with their values and origins."""
    from allstop.settings.origins import describe_origin
    from allstop.settings.settings_rows import rows

    with context.project() as project:
        found = list(rows(project.loaded))
        untrusted = project.loaded.untrusted
        notes = project.loaded.notes
    if as_json:
        print_json(
            {
                "settings": [
                    {"key": row.key, "value": row.value, "origin": describe_origin(row.origin)}
                    for row in found
                ],
                "untrusted": [str(each) for each in untrusted],
                "notes": list(notes),
            }
        )
        return
    width = max(len(row.key) for row in found)
    for row in found:
        echo(f"{row.key:<{width}}  {_shown(row.value):<28} {describe_origin(row.origin)}")
    for note in (*untrusted, *notes):
        echo(f"note: {note}")


def _shown(value: object) -> str:
    import msgspec

    if value is None:
        return "-"
    return msgspec.json.encode(value).decode()


@click.command()
@click.option("--yes", is_flag=True, help="Accept without asking.")
@json_option
@click.pass_obj
def trust(context: Context, yes: bool, as_json: bool) -> int:
    """Accept the sensitive settings of this repository.

    These settings of allstop.toml run programs outside the sandbox, widen it, or send keys
    somewhere. After a change they have to be accepted again.

    Hooks run in a copy of the target branch's files, which this command makes. After agents or you
    have changed a file that a hook uses, it asks again; until then the copy stays as it is.
    """
    from allstop.app.board.hook_files import accept_files, proposed
    from allstop.app.setup.doctor import reads_in, refused_reads
    from allstop.app.setup.init import accept

    with context.project() as project:
        asked, untrusted = project.checkout.sensitive, list(project.checkout.untrusted)
        counts = project.loaded
        untrusted += [each for each in counts.untrusted if each not in untrusted]
        files = proposed(project)
        if as_json and not yes:
            print_json(
                {
                    "asked": asked,
                    "untrusted": [str(each) for each in untrusted],
                    "hook_files": str(files) if files else None,
                }
            )
            return 0
        is_trusted = project.is_trusted
        if not untrusted and not files and is_trusted:
            echo("There is nothing to accept.")
            return 0
        for each in (*untrusted, *([files] if files else [])):
            echo(f"  {each}")
        if not untrusted and not is_trusted:
            echo("  commands of scripted agents and checks may run where there is no sandbox")
        for refused in refused_reads(project, reads_in(asked)):
            echo(f"note: {refused.message}; {refused.hint}")
        if not yes and not _agreed():
            echo("Not accepted.")
            return 1
        accept(
            project, asked, counts.sensitive
        )  # the shown values, even if the file has changed since
        if files:
            accept_files(project, files)
    echo("Accepted, as shown.")
    return 0


def _agreed() -> bool:
    import sys

    if not sys.stdin.isatty():
        echo("This is not a terminal: use --yes to accept.", err=True)
        return False
    return click.confirm("Accept this?")
