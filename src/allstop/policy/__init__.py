"""What agents may do without being asked about: a courtesy. The boundary is the sandbox."""
