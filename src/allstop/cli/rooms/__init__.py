"""Rooms in the terminal."""
