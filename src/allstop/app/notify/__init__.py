"""Alerts, and the channels that deliver them."""
