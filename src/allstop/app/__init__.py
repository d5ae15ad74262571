"""The composition root: where settings, store, launcher, agents and engine meet."""
