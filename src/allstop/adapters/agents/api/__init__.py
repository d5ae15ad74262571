"""Agents that call a model over a provider's HTTP API."""
