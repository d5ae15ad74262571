"""Implementations of the ports: journals, agents, processes, git, file formats, notifications."""
