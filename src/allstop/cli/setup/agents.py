"""The commands `agents`, `agents login`, `agents presets` and `agents test`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from allstop.cli.output import Context, echo, in_words, json_option, print_json, run

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.app.setup.doctor import GatewayTrial


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def agents(context: click.Context, as_json: bool) -> None:
    """List the configured agents, or test one."""
    if context.invoked_subcommand is not None:
        return
    from allstop.app.agents.account_status import read_accounts
    from allstop.app.agents.registry import no_agent_hint
    from allstop.app.setup.doctor import look_at_agents
    from allstop.views.accounts import account_lines

    with context.obj.project() as project:
        found = look_at_agents(project)
        accounts = run(lambda: read_accounts(project))
        hint = project.loaded.ignored_note if found else no_agent_hint(project)
    if as_json:
        print_json({"agents": found, "accounts": accounts})
        return
    for agent in found:
        mark = "✓" if agent.ready else "✗"
        first = "  (first choice)" if agent.first else ""
        echo(f"{mark} {agent.name:<12} {agent.driver:<12} {agent.finding}{first}")
        echo(f"    token budgets {agent.token_budgets}")
        if agent.hint:
            echo(in_words(f"    {agent.hint}"))
    for line in account_lines(accounts):
        echo(line)
    if not found:
        echo("No agent is configured.")
    if hint:
        echo(in_words(f"note: {hint}"))


@agents.command()
@json_option
@click.pass_obj
def presets(context: Context, as_json: bool) -> None:
    """List the agents that Allstop knows how to start, and which are installed here.

    `allstop init` proposes the installed ones.
    """
    from allstop.app.agents.gateway_presets import uses_gateway_with
    from allstop.settings.detection.detect import found_presets
    from allstop.settings.detection.presets import PRESETS

    with context.project() as project:
        installed = {each.name for each in found_presets(project.folder, project.environment)}
    if as_json:
        print_json({"presets": PRESETS, "installed": sorted(installed)})
        return
    for preset in PRESETS:
        mark = "✓" if preset.name in installed else "-"
        command = " ".join(preset.command) or preset.program
        echo(f"{mark} {preset.name:<10} {preset.driver.value:<12} {command}")
        key = preset.key_env or "none known"
        login = f"{preset.program} {' '.join(preset.login)}" if preset.login else "none known"
        echo(f"    key {key} · login {login}")
        gateway = uses_gateway_with(preset.driver, preset.command)
        tried = preset.tried or "not yet"
        echo(in_words(f"    reports {preset.usage} · tried {tried} · gateway {gateway}"))


@agents.command()
@click.argument("name")
@click.argument("words", nargs=-1)
@click.option("--account", metavar="ACCOUNT", help="One of the agent's `accounts`.")
@click.pass_obj
def login(context: Context, name: str, words: tuple[str, ...], account: str | None) -> None:
    """Log in with the program of an agent, in a separate home folder.

    Your own ~/.codex and ~/.claude are not used. WORDS after `--` are passed to the program: for
    codex --device-auth, or --with-api-key to read a key from standard input.

    \b
    Examples:
      allstop agents login codex -- --device-auth
    """
    from allstop.app.agents import registry
    from allstop.app.agents.logins import log_in, require_login
    from allstop.app.agents.model_access import outside_login

    with context.project() as project:
        settings = registry.settings_of_account(project, name, account)
        require_login(name, settings)
        program = registry.vendor_program(project, name, settings)
        home = log_in(project, name, settings, program, words)
        is_outside = outside_login(project, name, settings) is not None
    who = "its token stays outside the box" if is_outside else "the agent can read that token"
    echo(f"✓ {name} is logged in. Its home is {home}; {who}.")
    echo("To log out, remove that folder.")


@agents.command()
@click.argument("name")
@click.option("--prompt", default="Reply with the one word: ready", show_default=True, help="The prompt.")  # fmt: skip
@json_option
@click.pass_obj
def test(context: Context, name: str, prompt: str, as_json: bool) -> int:
    """Run one real turn of an agent in an empty sandbox."""
    with context.project() as project:
        return run(lambda: _test(project, name, prompt, as_json=as_json))


async def _test(project: Project, name: str, prompt: str, *, as_json: bool) -> int:
    from allstop.app.setup.doctor import try_agent
    from allstop.core.moves import TurnDone
    from allstop.core.text import one_line
    from allstop.views.log import describe_result

    tried = await try_agent(project, name, prompt)
    if as_json:
        print_json(tried)
    elif isinstance(tried.result, TurnDone):
        echo(f"✓ {name} answered in {tried.seconds:.1f} s: {one_line(tried.result.text)}")
    else:
        echo(f"✗ {name} failed after {tried.seconds:.1f} s: {describe_result(tried.result)}")
    if tried.gateway is not None and not as_json:
        for line in _gateway_lines(tried.gateway):
            echo(line)
    return 0 if tried.ok else 1


def _gateway_lines(trial: GatewayTrial) -> Iterator[str]:
    from allstop.core.text import counted

    if trial.calls:
        calls = counted(trial.calls, "call")
        yield f"✓ its model was reached through the gateway: {calls}, {trial.tokens:,} tokens"
    elif trial.unanswered:
        calls = counted(trial.unanswered, "call")
        yield f"✗ the gateway passed on {calls} of its model, and the provider answered none"
    else:
        yield "✗ no call of its model went through the gateway"
    yield "✓ nothing else left the box: it has no network of its own"
    for refused in trial.refused:
        yield f"  {refused}"
