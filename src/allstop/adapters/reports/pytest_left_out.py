"""A plugin of pytest that leaves out tests by their exact ids. Runs in a box, with the box's Python.

The file's text is handed to that Python, so it uses nothing but the standard library. The option
`--deselect` of pytest would leave out every test whose id begins with the given one.
"""

import os
from typing import Any

LEFT_OUT = frozenset(os.environ.pop("ALLSTOP_LEFT_OUT", "").split("\n"))


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    left_out = [item for item in items if item.nodeid in LEFT_OUT]
    items[:] = [item for item in items if item.nodeid not in LEFT_OUT]
    config.hook.pytest_deselected(items=left_out)
