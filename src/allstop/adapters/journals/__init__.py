"""Journals: in one SQLite file, on a PostgreSQL server, and in memory."""
