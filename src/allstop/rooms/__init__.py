"""Rooms: agents that talk about a goal. Pure."""
