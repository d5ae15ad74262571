"""API agents connected to a model server on the loopback interface."""

from typing import NamedTuple

from allstop.adapters.agents.api.anthropic_messages import anthropic_agent
from allstop.adapters.agents.api.http_client import CallLimits, Endpoint
from allstop.adapters.agents.api.openai_responses import ollama_agent, openai_agent
from allstop.adapters.agents.api.token_prices import TokenPrice
from allstop.adapters.clock import SystemClock
from allstop.core.ids import RunId
from allstop.core.prompt import CacheLifetime, Part, StructuredPrompt, prompt_from
from allstop.ports import Turn
from allstop.testing.model_server import Protocol

KEY = "sk-zebra-0123456789"

ENVELOPE = {
    "type": "object",
    "properties": {
        "message": {"type": "string", "minLength": 1},
        "handoff": {
            "type": "object",
            "properties": {
                "to": {"enum": ["gpt", "claude"]},
                "task": {"type": "string", "maxLength": 500},
            },
            "required": ["to", "task"],
            "additionalProperties": False,
        },
        "final": {"type": "boolean"},
    },
    "required": ["message"],
    "additionalProperties": False,
}


class FrozenClock:
    """A clock that doesn't move."""

    def __init__(self, at):
        self._at = at

    def now(self):
        return self._at


class Connector(NamedTuple):
    name: str
    make: object
    protocol: Protocol
    model: str
    priced_as: str = ""

    def at(self, server, *, price=None, limits=None, clock=None, name="gpt", **endpoint):
        is_anthropic = self.protocol is Protocol.MESSAGES
        given = {
            "base_url": server.anthropic_url if is_anthropic else server.openai_url,
            "model": self.model,
            "key": KEY,
            "key_name": "ZEBRA_KEY",
        }
        return self.make(
            Endpoint(**given | endpoint),
            name=name,
            price=price or TokenPrice(self.model, provider=self.priced_as),
            clock=clock or SystemClock(),
            limits=limits or CallLimits(),
        )


OPENAI = Connector("openai", openai_agent, Protocol.RESPONSES, "gpt-6.1-sol", "openai")
OLLAMA = Connector("ollama", ollama_agent, Protocol.CHAT, "llama3.2")
ANTHROPIC = Connector(
    "anthropic", anthropic_agent, Protocol.MESSAGES, "claude-sonnet-5-5", "anthropic"
)
CONNECTORS = (OPENAI, OLLAMA, ANTHROPIC)


def turn_with_talk(
    *parts, system="You are gpt.", lifetime=CacheLifetime.NONE, schema=None, run="room-1", **more
):
    """A turn with a conversation as prompt; parts that start with * are marked for the cache."""
    talk = StructuredPrompt(
        system=system,
        parts=tuple(Part(text=text.lstrip("*"), keep=text.startswith("*")) for text in parts),
        lifetime=lifetime,
        reply_schema=schema,
    )
    return Turn(run=RunId(run), prompt=prompt_from(talk), **more)
