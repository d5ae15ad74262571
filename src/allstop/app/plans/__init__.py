"""Plans: starting and reading them."""
