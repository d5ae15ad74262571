"""A Python with pytest and no plugins: those of this project's own Python take a second to load."""

import re
import shutil
import subprocess
import sys
from contextlib import suppress
from functools import cache
from importlib.metadata import distribution, version
from pathlib import Path
from tempfile import TemporaryDirectory

SCRIPT = """\
#!{python}
import sys
from pytest import main
sys.exit(main())
"""


@cache
def folder():
    """The folder with `python` and `pytest`, made by the first test that asks."""
    place = Path(sys.prefix) / f"pytest-{version('pytest')}"
    if not place.is_dir():
        with TemporaryDirectory(dir=sys.prefix, prefix="pytest-") as scratch:
            made = Path(scratch) / place.name
            _make(made, place / "bin" / "python")
            made.chmod(0o755)
            with suppress(OSError):  # another worker was first
                made.rename(place)
    return place / "bin"


def _make(made, python):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(made)], check=True)
    (site,) = made.glob("lib/python*/site-packages")
    for name in _needed("pytest"):
        for file in distribution(name).files or ():
            if ".." not in file.parts and file.locate().is_file():
                (site / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(file.locate(), site / file)
    script = made / "bin" / "pytest"
    script.write_text(SCRIPT.format(python=python))
    script.chmod(0o755)


def _needed(name, found=()):
    found = {*found, name}
    for line in distribution(name).requires or ():
        other = re.match(r"[\w.-]+", line)[0]
        if ";" not in line and other not in found:
            found |= _needed(other, found)
    return found
