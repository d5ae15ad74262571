"""Upper bounds of numbers in settings, commands and the API."""

COUNT = 10**12
MINUTES = 525_600  # of a year
DOLLARS = 1_000_000_000
SLOTS = 1000
PRIORITY = 1_000_000_000
