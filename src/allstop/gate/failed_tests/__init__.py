"""Failing tests: how they are run again or left out, and what their runs show."""
