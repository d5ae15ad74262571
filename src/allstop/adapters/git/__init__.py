"""Workspaces: the host only ever reads packs; every other git command runs in the box."""

from allstop.adapters.git.workspace.workspaces import GitWorkspaces as GitWorkspaces
