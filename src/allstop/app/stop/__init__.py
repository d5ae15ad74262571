"""Stopping everything, one run, or a run in this process."""
