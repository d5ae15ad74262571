"""Git commands in the user's own repository, which no agent can write to."""
