"""Rooms: agents that discuss a goal in a shared conversation. Pure."""
