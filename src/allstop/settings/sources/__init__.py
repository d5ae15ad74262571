"""Where settings come from: defaults, files, variables, flags."""
