"""Queues by which runs are handed out to workers."""
