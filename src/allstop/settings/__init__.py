"""The settings: allstop.toml and everything else that has a say."""

from __future__ import annotations

from allstop.settings.environment import Environment, this_environment
from allstop.settings.listing import Row, rows
from allstop.settings.loading import FILE_NAME, Loaded, load
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
from allstop.settings.roster import roster
from allstop.settings.sensitive import sensitive_part
from allstop.settings.trust import distrust, is_trusted, trust
from allstop.settings.withholding import Untrusted

__all__ = [
    "FILE_NAME",
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
    "is_trusted",
    "load",
    "roster",
    "rows",
    "sensitive_part",
    "this_environment",
    "trust",
]
