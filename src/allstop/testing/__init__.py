"""Contract tests for adapters, a scripted model server and a virtual clock."""
