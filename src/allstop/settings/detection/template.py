"""The template of allstop.toml that `allstop init` writes."""

from collections.abc import Collection, Iterator

from msgspec import json

from allstop.settings.detection.detect import Detected, ProposedAgent
from allstop.settings.detection.ecosystems import ProposedCheck
from allstop.settings.detection.missing_checks import WARNING
from allstop.settings.model import DoneBy, PromptBy

_REVIEW = [
    "[review]",
    'mode = "batch"  # verified work waits for your review; or "per-task", "auto", "skip"',
    "",
    "[merge]",
    "enabled = true  # merge approved work; false leaves it to you",
]

MAX_REGISTRIES = 4


def render(detected: Detected, target: str | None, metered: Collection[str] = ()) -> str:
    """A short, valid file with the reason for each line.

    `metered`: the names of agents that can work with nothing but their model.
    """
    blocks = [
        [
            "# Settings of Allstop for this repository. `allstop config` shows every key and its value."
        ],
        _project(target),
        *_agents(detected.agents),
        _loop(detected.agents),
        _sandbox(detected.agents, metered),
        _network(detected.registries),
        *_checks(detected.checks),
        _REVIEW,
        _workspace(detected),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _project(target: str | None) -> list[str]:
    if target is None:
        return []
    return ["[project]", f"target = {_toml(target)}  # tasks start here and are merged into it"]


def _agents(agents: tuple[ProposedAgent, ...]) -> Iterator[list[str]]:
    for agent in agents:
        yield list(_agent(agent))
    if not agents:
        yield [
            "# No agent was found. Install one (codex, claude, gemini, opencode, aider) or configure yours:",
            "# [agents.local]",
            '# driver = "command"',
            '# command = ["my-agent", "--flag"]  # runs in the workspace and reads the prompt from stdin',
        ]


def _agent(agent: ProposedAgent) -> Iterator[str]:
    yield f"[agents.{agent.name}]  # {agent.reason}"
    yield f"driver = {_toml(agent.driver)}"
    if agent.model:
        yield f"model = {_toml(agent.model)}"
    if agent.script:
        yield f"script = {_toml(agent.script)}"
    if agent.command:
        yield f"command = {_toml_list(agent.command)}"
    if agent.api_key_env:
        yield f"api_key_env = {_toml(agent.api_key_env)}  # the variable of its key"
    if agent.pass_env:
        yield f"pass_env = {_toml_list(agent.pass_env)}  # your variables that it gets"
    if agent.prompt is not PromptBy.STDIN:
        yield f"prompt = {_toml(agent.prompt)}"
    if agent.done is not DoneBy.SIGNAL:
        yield f"done = {_toml(agent.done)}  # a clean exit with a change counts as done"


def _loop(agents: tuple[ProposedAgent, ...]) -> list[str]:
    workers = [agent.name for agent in agents if agent.can_edit]
    lines = ["[loop]", "max_parallel = 2  # agents at the same time"]
    if workers:
        lines.append(f"agent = {_toml(workers[0])}  # works on tasks that name no agent")
    if len(workers) > 1:
        lines.append(f"fallback = {_toml(workers[1])}  # while the first one is rate limited")
    return lines


def _sandbox(agents: tuple[ProposedAgent, ...], metered: Collection[str]) -> list[str]:
    """An active line would refuse agents that can't work with it, such as those with a login."""
    boxed = [agent.name for agent in agents if agent.can_edit and agent.script is None]
    if not boxed:
        return []
    if all(name in metered for name in boxed):
        why = 'agents reach only their model, without a key in their boxes; or "allow" with hosts'
        return ["[sandbox]", f'network = "model-only"  # {why}']
    why = "unset: agents with a key reach only their model, others the whole network"
    return ["[sandbox]", f'# network = "model-only"  # {why}']


def _checks(checks: tuple[ProposedCheck, ...]) -> Iterator[list[str]]:
    for check in checks:
        yield [
            f"[[verification.commands]]  # {check.reason}",
            f"name = {_toml(check.name)}",
            f"run = {_toml(check.run)}",
            *([] if check.required else ["required = false"]),
        ]
    if not checks:
        yield [
            *(f"# {line}".rstrip() for line in WARNING),
            "#",
            "# Suggestion: uncomment these lines and set your test command.",
            "# [[verification.commands]]",
            '# name = "Tests"',
            '# run = "your test command"',
        ]


def _network(registries: tuple[str, ...]) -> list[str]:
    shown = ", ".join(registries[:MAX_REGISTRIES])
    reached = f"checks reach only the registries of your lock files: {shown}"
    why = (
        f"{reached}; `hosts` adds others" if registries else "checks reach only what `hosts` lists"
    )
    return ["[verification]", f'network = "allow"  # {why}']


def _workspace(detected: Detected) -> list[str]:
    lines = []
    if detected.copy:
        lines.append(
            f"copy = {_toml_list(detected.copy)}  # untracked files copied into every workspace"
        )
    if detected.link:
        lines.append(f"link = {_toml_list(detected.link)}  # read-only in every workspace")
    return ["[workspace]", *lines] if lines else []


def _toml(text: str) -> str:
    """TOML's basic strings equal JSON's except for DEL, which no name here contains."""
    return json.encode(text).decode()


def _toml_list(texts: tuple[str, ...]) -> str:
    return "[" + ", ".join(map(_toml, texts)) + "]"
