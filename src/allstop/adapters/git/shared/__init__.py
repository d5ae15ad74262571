"""Work on several machines: a mirror of the remote repository that they share."""
