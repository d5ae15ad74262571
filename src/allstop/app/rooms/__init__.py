"""Room threads: reading, driving and telling them something."""
