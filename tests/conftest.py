"""Virtual time for every test that has no processes: a day of waiting takes no time at all."""

import os
from contextlib import suppress
from pathlib import Path

import pytest
import trio.testing
from hypothesis import settings

from allstop.adapters.processes.priority import lower_session
from allstop.adapters.processes.proc import children_of
from support import git_settings

TESTS = Path(__file__).parent
SLOW = (
    *("acceptance", "browser", "cli", "faults", "real_agents", "server"),
    *("adapters/agents/acp", "adapters/agents/claude_code", "adapters/agents/codex"),
    *("adapters/git", "adapters/processes"),
)
"""Folders whose tests start programs and wait for them."""

SLOW_FILES = (
    *("project/test_bench.py", "adapters/notify/test_channels.py"),
    *("adapters/agents/api/test_cancel.py", "adapters/reports/test_request.py"),
    *("board/test_forecast.py", "engine/test_reruns.py"),
)
"""Files of other folders that do."""

QUICK = (
    *("cli/test_tasks.py", "cli/test_today.py", "server/test_admission.py"),
    *("adapters/git/test_merge.py", "adapters/processes/test_environment.py"),
)
"""Files of those folders that run in `make quick` all the same: a few of each kind."""

git_settings.hide_from_this_process()

settings.register_profile("quick", max_examples=15, deadline=None, derandomize=True)
settings.register_profile("every commit", max_examples=60, deadline=None, derandomize=True)
settings.register_profile("soak", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("TEST_EXAMPLES", "every commit"))


def pytest_configure(config):
    """Give each worker a session with the priority of agents, so that agents get their share."""
    if hasattr(config, "workerinput"):
        with suppress(OSError):
            os.setsid()
            lower_session(os.getpid())


def pytest_collection_modifyitems(items):
    """Mark tests by the folder they are in, and put slow ones first: quick ones fill the end."""
    for item in items:
        name = os.path.relpath(item.path, TESTS)
        if name.startswith("browser/") or name.endswith("_page.py"):
            item.add_marker("browser")
        is_slow = name in SLOW_FILES or name.startswith(tuple(f"{folder}/" for folder in SLOW))
        if is_slow and name not in QUICK:
            item.add_marker("slow")
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.fixture
def anyio_backend():
    """Trio with a clock that jumps over every sleep."""
    return ("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})


@pytest.fixture
def new_children():
    """A function that gives the children of this process which began since the test did."""
    before = set(children_of(os.getpid()))
    return lambda: [pid for pid in children_of(os.getpid()) if pid not in before]
