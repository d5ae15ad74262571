"""Agents that are models behind an HTTP API."""
