"""Git workspaces: the host only reads packs from them; all other git commands run in the sandbox."""

from allstop.adapters.git.workspace.workspaces import GitWorkspaces as GitWorkspaces
