"""Detection: proposals of `allstop init` for checks, agents and workspace."""
