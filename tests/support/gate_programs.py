"""The programs that the corpus of the gate needs, as far as this machine has them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from support import lean_python

_NEEDED = {
    "pytest": (),
    "unittest": (),
    "node": ("node",),
    "jest": ("node", "npx"),
    "vitest": ("node", "npx"),
    "go": ("go",),
    "rust": ("cargo", "rustc"),
}


def folders(ecosystem):
    """Folders for PATH: a Python with pytest, Node, and the real compiler behind rustup's shims."""
    found = [str(lean_python.folder()), str(Path(sys.executable).parent)]
    if ecosystem == "rust":
        told = subprocess.run(
            ["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True
        )
        found.append(f"{told.stdout.strip()}/bin")
    return found


def folders_of(commit):
    """Folders for PATH of a commit's checks: those of this project need what its own Python has."""
    return folders("pytest") if commit.command else [str(Path(sys.executable).parent)]


def node_modules(ecosystem):
    """The folder where GATE_NODE_MODULES says that jest and vitest are installed; else None."""
    given = os.environ.get("GATE_NODE_MODULES")
    return Path(given) if given and ecosystem in ("jest", "vitest") else None


def lacking(case):
    """The programs that a case needs and this machine doesn't have."""
    first = case.run.split()[0]
    names = [*_NEEDED[case.ecosystem], *([first] if first in ("make", "npm") else [])]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    missing = [name for name in names if shutil.which(name, path=path) is None]
    if case.ecosystem in ("jest", "vitest") and node_modules(case.ecosystem) is None:
        missing.append(case.ecosystem)
    return missing
