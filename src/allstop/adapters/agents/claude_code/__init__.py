"""Anthropic's Claude Code, driven over its stream of JSON lines; one process a turn."""

from allstop.adapters.agents.claude_code.agent import ClaudeCodeAgent as ClaudeCodeAgent
from allstop.adapters.agents.claude_code.launch import Leave as Leave
from allstop.adapters.agents.claude_code.launch import Program as Program
