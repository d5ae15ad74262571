"""The codex driver: OpenAI's coding agent, driven through its app-server."""

from allstop.adapters.agents.codex.agent import CodexAgent as CodexAgent
from allstop.adapters.agents.codex.launch import Approvals as Approvals
from allstop.adapters.agents.codex.launch import Setup as Setup
