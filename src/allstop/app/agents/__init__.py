"""Agents built from the settings."""
