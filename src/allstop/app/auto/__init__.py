"""Full Auto threads: starting and reading them."""
