"""The board: tasks, attempts at them, and their scheduling. Pure."""
