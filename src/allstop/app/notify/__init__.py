"""Notifications: alerts about runs, and the channels that deliver them."""
