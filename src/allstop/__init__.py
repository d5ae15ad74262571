"""Run AI agents unattended, with brakes."""

__version__ = "0.1.0"
