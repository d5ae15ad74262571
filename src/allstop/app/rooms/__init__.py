"""Room threads: reading them, driving them, sending them commands."""
