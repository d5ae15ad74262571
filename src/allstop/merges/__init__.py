"""Merges of verified work into a target branch. Pure."""
