"""Guidance of Full Auto: by the configured model, a local Ollama, or the rules."""

from __future__ import annotations

from http.client import OK, HTTPConnection, HTTPException, HTTPSConnection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from allstop.app.agents import registry
from allstop.app.agents.agent_programs import AgentSetupError
from allstop.app.agents.model_access import network_of
from allstop.app.board import board_spec
from allstop.auto.guidance import GuideSpec
from allstop.core.errors import AllstopError
from allstop.core.ids import AgentName
from allstop.settings import networks
from allstop.settings.model import Approvals, Guidance, Network

if TYPE_CHECKING:
    from allstop.app.project import Project

LOCAL = AgentName("ollama:llama3.2")
PROBE_S = 0.5


def guide_spec(
    project: Project,
    worker: AgentName | None,
    *,
    approvals: Approvals,
    attended: bool,
    rehearses: bool = False,
) -> GuideSpec | None:
    """The guidance that the settings configure for the agent that works; None if it is off.

    Raises AllstopError if the configured model can't be used.
    """
    if project.settings.auto.guidance is Guidance.OFF and not rehearses:
        return None
    agent = guide_agent(project)
    most = (
        board_spec.agent_terms(project, registry.settings_of(project, agent)).max_tokens
        if agent
        else None
    )
    return GuideSpec(
        agent=agent,
        max_tokens=most,
        permissions=permissions(project, worker, approvals=approvals, attended=attended),
        rehearses=rehearses,
    )


def guide_agent(project: Project) -> AgentName | None:
    """The agent whose model guides; None: the rules do."""
    auto = project.settings.auto
    named = auto.guidance_model or auto.decision_agent
    if named is None:
        return LOCAL if is_answering(registry.ollama_address(project)) else None
    try:
        registry.settings_of(project, AgentName(named))
    except AgentSetupError as error:
        hint = "[auto] guidance_model is an agent's name, or DRIVER:MODEL such as ollama:llama3.2"
        raise AllstopError(error.message, hint, code="guidance_model_unusable") from None
    return AgentName(named)


def is_answering(base_url: str) -> bool:
    """Whether a model server answers within PROBE_S."""
    url = urlsplit(base_url)
    kind = HTTPSConnection if url.scheme == "https" else HTTPConnection
    connection = kind(url.hostname or "127.0.0.1", url.port, timeout=PROBE_S)
    try:
        connection.request("GET", f"{url.path}/models")
        return connection.getresponse().status == OK
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def permissions(
    project: Project, worker: AgentName | None, *, approvals: Approvals, attended: bool
) -> tuple[str, ...]:
    """The working agent's permissions, as the guide's prompt lists them."""
    settings = project.settings
    network = networks.of_agents(settings) or Network.FULL
    if worker is not None:
        network = network_of(project, worker, registry.settings_of(project, worker))
    checks = ", ".join(check.name or check.run for check in settings.verification.commands)
    asks = {
        Approvals.NEVER: "whatever it asks for is denied",
        Approvals.POLICY: "commands outside the rules are asked about",
        Approvals.ASK: "every command it asks for goes to a person",
    }
    merged = "merged once at the end" if settings.merge.enabled else "kept, not merged"
    return (
        "it works in a clone of its own, in a sandbox",
        f"network: {network.value}",
        asks[approvals],
        "a person is there to answer" if attended else "nobody is there to answer",
        f"its work is {merged}" + (f", after {checks}" if checks else ""),
    )
