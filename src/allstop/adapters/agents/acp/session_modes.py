"""Chooses an ACP agent's session mode by the mode names of known agents. Pure."""

from collections.abc import Collection

ALWAYS = "ask"
"""The only mode that is known to ask before everything."""

_ASKING = (ALWAYS, "default", "read-only", "workspace-write", "edit-internal")
"""Modes that ask, the strictest first. Claude Code and Gemini have `default`, Codex's adapters the
others."""

_STRICTER = ("plan", "dontAsk", "read-only")
"""Modes that allow less than any mode that asks."""

_UNASKED = ("agent", "agent-full-access", "full-access", "bypassPermissions", "yolo")
"""Modes in which a model answers for people, or nothing is asked."""

_USUAL = ("workspace-write", "edit-internal", "default", "auto", "read-only")
"""Modes that allow everything in the workspace and ask about the rest. `auto` is Codex's; Claude
Code's mode of that name lets a model answer, but it has `default` too."""


def choose_mode(current: str, offered: Collection[str], *, asks_first: bool) -> str | None:
    """The mode to set, never a laxer one; None keeps the current mode.

    The current mode may come from the agent's settings, which agents can write themselves.
    """
    if asks_first:
        return None if current in _STRICTER else _first(_ASKING, offered)
    is_unasked = current in _UNASKED or (current == "auto" and "default" in offered)
    return _first(_USUAL, offered) if is_unasked else None


def _first(modes: tuple[str, ...], offered: Collection[str]) -> str | None:
    return next((mode for mode in modes if mode in offered), None)
