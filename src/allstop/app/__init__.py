"""The composition root: connects settings, journal, launcher, agents and engine."""
