"""The project's board: commands, driver, review, cleanup."""
