"""Memory limits on process trees."""
