"""The warning about missing checks: no verification command is configured."""

from collections.abc import Iterable

from msgspec import json

from allstop.settings.detection.ecosystems import ProposedCheck

CODE = "VERIFICATION_EMPTY"
INDICATOR = "No verification configured"

WARNING = (
    "Warning: No verification commands configured",
    "",
    "Tasks will complete on COMPLETE signal without validation.",
    "Consider adding verification commands to ensure code quality.",
)

_EXAMPLE = ("your test command",)


def warning(found: Iterable[ProposedCheck] = ()) -> str:
    """The whole warning, with the commands found in this repository."""
    lines = (
        *WARNING,
        "",
        "Suggestion: Add to allstop.toml:",
        "  [verification]",
        f"  commands = [{_listed(found)}]",
    )
    return "\n".join(lines)


def in_log(found: Iterable[ProposedCheck]) -> str:
    """The warning as one line, for the log of unverified work."""
    return f"{CODE}: {INDICATOR}. {WARNING[2]} Suggestion: commands = [{_listed(found)}]"


def _listed(found: Iterable[ProposedCheck]) -> str:
    commands = [check.run for check in found] or list(_EXAMPLE)
    return ", ".join(json.encode(command).decode() for command in commands)
