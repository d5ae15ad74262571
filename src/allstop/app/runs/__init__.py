"""Runs of any kind: status, commands, history, limits."""
