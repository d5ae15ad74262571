"""Git in the user's own repository; no agent can write to it."""
