"""Sources of settings: files, environment variables and flags, merged as layers."""
