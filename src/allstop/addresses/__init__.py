"""Resolves the host names that other people choose, and refuses addresses of this machine's networks."""
