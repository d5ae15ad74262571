"""The repository's board: commands, driver, review, cleanup."""
