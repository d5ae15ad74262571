"""Journals: in one SQLite file, and in memory."""
