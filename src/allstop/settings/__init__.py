"""Settings: loading, validation, trust and editing of allstop.toml and its overrides."""
