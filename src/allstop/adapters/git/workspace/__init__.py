"""Workspaces: one clone per piece of work, used only inside the sandbox."""
