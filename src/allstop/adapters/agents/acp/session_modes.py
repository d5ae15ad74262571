"""Which session mode an agent is put into, by the names that known agents have for theirs. Pure."""

from __future__ import annotations

from collections.abc import Collection

ALWAYS = "ask"
"""The only one of which it is known that it asks before everything."""

_ASKING = (ALWAYS, "default", "read-only", "workspace-write", "edit-internal")
"""Modes that ask, the strictest first: `default` is Claude Code's and Gemini's, the rest are those of
Codex, behind one adapter or another."""

_STRICTER = ("plan", "dontAsk", "read-only")
"""In these less is done than in any that asks."""

_UNASKED = ("agent", "agent-full-access", "full-access", "bypassPermissions", "yolo")
"""In these a model answers for people, or nobody is asked at all."""

_USUAL = ("workspace-write", "edit-internal", "default", "auto", "read-only")
"""In these a workspace is free, and what leads out of it is asked about. `auto` is Codex's; Claude
Code has one of that name where a model answers, but has `default` too."""


def wanted(current: str, offered: Collection[str], *, asks_first: bool) -> str | None:
    """The mode to be set; None where it stays as it is. It is never a laxer one.

    An agent's own settings may say which one it begins in, and agents can write those themselves.
    """
    if asks_first:
        return None if current in _STRICTER else _first(_ASKING, offered)
    is_unasked = current in _UNASKED or (current == "auto" and "default" in offered)
    return _first(_USUAL, offered) if is_unasked else None


def _first(modes: tuple[str, ...], offered: Collection[str]) -> str | None:
    return next((mode for mode in modes if mode in offered), None)
