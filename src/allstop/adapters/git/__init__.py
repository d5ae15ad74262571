"""Git workspaces. The host only reads packs from them; other git commands run in the sandbox."""

from allstop.adapters.git.workspace.workspaces import GitWorkspaces as GitWorkspaces
