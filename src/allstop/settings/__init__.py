"""Settings: loading, validation, trust and editing of allstop.toml and its overrides.

The names below are imported on first use, because most commands need few of them.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from allstop.settings.agent_order import fallbacks, roster
    from allstop.settings.loader import FILE_NAME, Loaded, load
    from allstop.settings.model import Settings
    from allstop.settings.origins import (
        Default,
        Flag,
        Origin,
        RepositoryFile,
        UserFile,
        Variable,
        describe_origin,
    )
    from allstop.settings.problems import Problem, SettingsError
    from allstop.settings.repository_trust.accepted import distrust, is_trusted, trust
    from allstop.settings.repository_trust.sensitive import sensitive_part
    from allstop.settings.repository_trust.withheld import Untrusted
    from allstop.settings.settings_rows import Row, rows
    from allstop.settings.sources.environment import Environment, this_environment
    from allstop.settings.target_branch import Branches, load_for_work

__all__ = [
    "FILE_NAME",
    "Branches",
    "Default",
    "Environment",
    "Flag",
    "Loaded",
    "Origin",
    "Problem",
    "RepositoryFile",
    "Row",
    "Settings",
    "SettingsError",
    "Untrusted",
    "UserFile",
    "Variable",
    "describe_origin",
    "distrust",
    "fallbacks",
    "is_trusted",
    "load",
    "load_for_work",
    "roster",
    "rows",
    "sensitive_part",
    "this_environment",
    "trust",
]

_EXPORTS = {
    "target_branch": ("Branches", "load_for_work"),
    "sources.environment": ("Environment", "this_environment"),
    "settings_rows": ("Row", "rows"),
    "loader": ("FILE_NAME", "Loaded", "load"),
    "model": ("Settings",),
    "origins": (
        "Default",
        "Flag",
        "Origin",
        "RepositoryFile",
        "UserFile",
        "Variable",
        "describe_origin",
    ),
    "problems": ("Problem", "SettingsError"),
    "agent_order": ("fallbacks", "roster"),
    "repository_trust.sensitive": ("sensitive_part",),
    "repository_trust.accepted": ("distrust", "is_trusted", "trust"),
    "repository_trust.withheld": ("Untrusted",),
}
_MODULE_OF = {name: module for module, names in _EXPORTS.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_MODULE_OF[name]}")
    value = globals()[name] = getattr(module, name)
    return value
