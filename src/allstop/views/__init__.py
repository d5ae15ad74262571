"""Views of runs for people: log, inbox, alerts, usage, traces. Pure functions of the journal."""
