"""A fleet: several machines that work on one board."""
