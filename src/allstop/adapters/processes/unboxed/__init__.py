"""Programs that run without a sandbox, where the person allowed it."""
