"""Commands that set up a repository or try its parts."""
