"""Trust: what a repository's settings may not decide alone."""
