"""The acp driver: any agent that speaks the Agent Client Protocol; one process per turn."""

from allstop.adapters.agents.acp.acp_session import SessionSettings as SessionSettings
from allstop.adapters.agents.acp.agent import AcpAgent as AcpAgent
from allstop.adapters.agents.acp.launch import Setup as Setup
