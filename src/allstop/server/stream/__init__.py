"""The event stream: one broadcast, many listeners."""
