"""Fixtures: a real browser and a real server."""

import os

import pytest
from playwright.sync_api import sync_playwright

from support import chromium
from support.sample_board import at_work

DESKTOP = {"width": 1360, "height": 820}
PHONE = {"width": 390, "height": 800}


@pytest.fixture(scope="module")
def browser():
    """Scoped to a module: while Playwright runs, its thread can't run another event loop."""
    found = chromium.find()
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=found.path, args=found.args, env=found.env
        )
        yield started
        started.close()


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    """A repository with tasks in every state, two of them active, and a running server."""
    scene = at_work(tmp_path_factory.mktemp("scene"))
    yield scene
    scene.person.close()


class Visit:
    """A browser with its own cookies, signed in."""

    def __init__(self, browser, scene, **options):
        self.context = browser.new_context(**{"viewport": DESKTOP, **options})
        self.context.set_default_timeout(20_000)
        self.scene = scene
        self.complaints = []
        # Requests that a test made fail, or had refused, are its own doing; all else is the page's.
        self.ours = ["ERR_", "status of 409", "status of 422"]
        # Only the cookie is needed, and no tab for it.
        assert self.context.request.get(self.scene.link(), max_redirects=0).status == 303

    def page(self, where="home"):
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._listen)
        page.goto(f"{self.scene.url}/#/{where}")
        page.get_by_role("heading", level=1).wait_for()
        return page

    def _listen(self, message):
        if message.type == "error":
            self.complaints.append(message.text)

    def close(self):
        self.context.close()
        assert [each for each in self.complaints if not any(o in each for o in self.ours)] == []


@pytest.fixture
def visit(browser, scene):
    visits = []

    def make(**options):
        visits.append(Visit(browser, scene, **options))
        return visits[-1]

    yield make
    for each in visits:
        each.close()


def pytest_configure(config):
    # Playwright's own variable would make it use another browser.
    os.environ.pop("PLAYWRIGHT_BROWSERS_PATH", None)
