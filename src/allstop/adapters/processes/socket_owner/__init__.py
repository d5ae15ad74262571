"""Finds the process that owns a TCP connection."""
