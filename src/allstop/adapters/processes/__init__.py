"""Starts programs in a sandbox, records them, and kills their process trees."""
