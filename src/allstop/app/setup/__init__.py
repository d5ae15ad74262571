"""Preparing a repository: init, doctor, demo, single settings."""
