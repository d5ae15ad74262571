"""Reports of test runners: how each is asked for one, and a reader for each format."""
