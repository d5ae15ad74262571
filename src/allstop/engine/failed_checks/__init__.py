"""What a failed check means: its tests run again, and on the target."""
