"""The acp driver: any agent that speaks the Agent Client Protocol; one process a turn."""

from allstop.adapters.agents.acp.acp_session import Wishes as Wishes
from allstop.adapters.agents.acp.agent import AcpAgent as AcpAgent
from allstop.adapters.agents.acp.launch import Setup as Setup
