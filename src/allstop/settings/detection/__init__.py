"""What `allstop init` finds in a repository and on this machine."""
