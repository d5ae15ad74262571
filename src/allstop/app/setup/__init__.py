"""Setup of a repository: init, doctor, demo, editing settings."""
