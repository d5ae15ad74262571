"""Commands for sprints and checkpoints."""
