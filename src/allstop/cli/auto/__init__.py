"""Full Auto in the terminal."""
