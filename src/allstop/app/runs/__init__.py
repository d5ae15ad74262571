"""Runs of any kind: status, commands, inbox, history, limits."""
