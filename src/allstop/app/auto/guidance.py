"""Who guides Full Auto: the configured model, else a local Ollama that answers, else the rules."""

from __future__ import annotations

from http.client import OK, HTTPConnection, HTTPException, HTTPSConnection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from allstop.app.agents import registry
from allstop.app.agents.agent_programs import AgentSetupError
from allstop.app.board import board_spec
from allstop.auto.guidance import GuideSpec
from allstop.core.errors import AllstopError
from allstop.core.ids import AgentName
from allstop.settings.model import Approvals, Guidance

if TYPE_CHECKING:
    from allstop.app.project import Project

LOCAL = AgentName("ollama:llama3.2")
PROBE_S = 0.5


def guide_spec(
    project: Project, *, approvals: Approvals, attended: bool, rehearses: bool = False
) -> GuideSpec | None:
    """How the settings would have guidance; None where it is off.

    Raises:
        AllstopError: the model that is named can't be had.
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
        permissions=permissions(project, approvals=approvals, attended=attended),
        rehearses=rehearses,
    )


def guide_agent(project: Project) -> AgentName | None:
    """Whose model answers; None: the rules do."""
    auto = project.settings.auto
    named = auto.guidance_model or auto.decision_agent
    if named is None:
        return LOCAL if is_answering(registry.ollama_address(project)) else None
    try:
        registry.settings_of(project, AgentName(named))
    except AgentSetupError as error:
        hint = "[auto] guidance_model is an agent's name, or DRIVER:MODEL such as ollama:llama3.2"
        raise AllstopError(error.message, hint) from None
    return AgentName(named)


def is_answering(base_url: str) -> bool:
    """Whether a server with models is there; it has half a second to say so."""
    place = urlsplit(base_url)
    kind = HTTPSConnection if place.scheme == "https" else HTTPConnection
    connection = kind(place.hostname or "127.0.0.1", place.port, timeout=PROBE_S)
    try:
        connection.request("GET", f"{place.path}/models")
        return connection.getresponse().status == OK
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def permissions(project: Project, *, approvals: Approvals, attended: bool) -> tuple[str, ...]:
    """What the agent that works may do, for whoever guides it."""
    settings = project.settings
    checks = ", ".join(check.name or check.run for check in settings.verification.commands)
    asks = {
        Approvals.NEVER: "whatever it asks for is denied",
        Approvals.POLICY: "commands outside the rules are asked about",
        Approvals.ASK: "every command it asks for goes to a person",
    }
    merged = "merged once at the end" if settings.merge.enabled else "kept, not merged"
    return (
        "it works in a clone of its own, in a sandbox",
        f"network: {settings.sandbox.network.value}",
        asks[approvals],
        "a person is there to answer" if attended else "nobody is there to answer",
        f"its work is {merged}" + (f", after {checks}" if checks else ""),
    )
