"""Access to the server: sign-in, tokens, allowed hosts, slow connections."""
