"""Plans in the terminal."""
