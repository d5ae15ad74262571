"""Judges a change by its tests: which were run, by whom they can be trusted, what they show. Pure."""
