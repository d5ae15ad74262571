"""Settings files: reading TOML, line numbers of keys, and edits of single values."""
