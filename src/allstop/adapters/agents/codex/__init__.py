"""The codex driver: OpenAI's coding agent, driven through its app-server."""

from allstop.adapters.agents.codex.agent import CodexAgent as CodexAgent
from allstop.adapters.agents.codex.setup import Approvals as Approvals
from allstop.adapters.agents.codex.setup import Setup as Setup
