"""Settings files: TOML text, its lines, and edits that keep the rest."""
