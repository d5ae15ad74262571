"""Commands for the board and its tasks."""
