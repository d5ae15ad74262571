"""The Claude Code driver: one process per turn, over its stream of JSON lines."""

from allstop.adapters.agents.claude_code.agent import ClaudeCodeAgent as ClaudeCodeAgent
from allstop.adapters.agents.claude_code.launch import PermissionMode as PermissionMode
from allstop.adapters.agents.claude_code.launch import Program as Program
