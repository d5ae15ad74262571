"""The person's tools: which programs their PATH leads to, behind the shims of version managers."""
