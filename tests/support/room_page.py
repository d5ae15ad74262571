"""A room's page in a real browser: fake models and a real control room."""

import re
from contextlib import ExitStack

from playwright.sync_api import expect

from browser.conftest import Visit
from support.control_room import ControlRoom
from support.room_models import models, person_with_models, served

expect.set_options(timeout=20_000)


class RoomBrowser:
    """A person with an open control room, and GPT and Claude through their APIs.

    To open one takes seconds, so that a whole module may share it: each test has a thread of its
    own, and the models answer as that test would have it.
    """

    def __init__(self, place, browser):
        self.person = person_with_models(place)
        self.room = None
        self.thread = "default"
        self._browser = browser
        self._stack = ExitStack()
        self._stack.callback(self.person.close)
        self._visits = []
        self._answer = None

    def opens(self, answer, settings=""):
        """Both models answer with a function of what they see."""
        self._answer = answer
        if self.room is None:
            answers = models(lambda it: self._answer(it))
            self.models = self._stack.enter_context(served(answers))
            self.person.sets_up(self.models, settings)
            self.room = ControlRoom(self.person)
        self._before = len(self.models.requests), self.models.disconnects
        return self

    def opens_with(self, settings="", **turns):
        """The same with scripts in the place of models."""
        self.person.scripts(settings, **turns)
        self.room = ControlRoom(self.person)
        return self

    @property
    def asked(self):
        """How often the models were, since `opens`."""
        return len(self.models.requests) - self._before[0]

    @property
    def disconnects(self):
        return self.models.disconnects - self._before[1]

    @property
    def url(self):
        return f"http://{self.room.host}"

    def link(self):
        return self.url + self.room.post("/keys").json["path"]

    def visit(self, **options):
        self._visits.append(Visit(self._browser, self, **options))
        return self._visits[-1]

    def tab(self, thread=None, **options):
        return Tab(self.visit(**options).page(f"rooms/{thread or self.thread}"))

    def events(self):
        return self.room.read(f"/rooms/{self.thread}/events")["events"]

    def leave(self):
        """Nothing goes on, and nobody looks any more."""
        visits, self._visits = self._visits, []
        if self.room is not None and self.room.process.poll() is None:
            for each in self.room.read("/rooms")["rooms"]:
                if each["session"]:
                    self.room.do(each["run"]["id"], "stop")
        for each in visits:
            each.close()

    def close(self):
        with self._stack:
            self.leave()


WATCH_CHIPS = """() => {
  window.chips = []
  const look = () => {
    const text = document.querySelector('.chip')?.textContent
    if (text && text !== window.chips.at(-1)) window.chips.push(text)
  }
  new MutationObserver(look).observe(document.body, {
    subtree: true, childList: true, characterData: true,
  })
}"""
"""Runs in the page, because polling would miss chips that are visible only briefly."""


class Tab:
    """The page of one thread, addressed by visible names."""

    def __init__(self, page):
        self.page = page
        self.log = page.get_by_role("log", name="Messages")
        self.messages = self.log.get_by_role("article")
        self.live = page.locator(".live")
        self.chip = page.locator(".chip")
        self.used = page.get_by_label("Usage of this session")
        self.banner = page.locator(".banner")
        self.summary = page.get_by_role("region", name="Summary")
        self.refused = page.get_by_role("alert")
        self.allstop = page.get_by_role("button", name="ALLSTOP this room")
        self.stop = page.get_by_role("button", name="Stop", exact=True)
        self.setup = page.get_by_role("button", name="Session:")

    def choose(self, mode=None, first=None, max_rounds=None, respect_final=None):
        if self.setup.get_attribute("aria-expanded") == "false":
            self.setup.click()
        if mode is not None:
            self.page.get_by_role("group", name="Mode").get_by_text(mode, exact=True).click()
        if first is not None:
            self.page.get_by_label(re.compile("First speaker|Ask")).select_option(first)
        if max_rounds is not None:
            self.page.get_by_label("Max rounds").fill(str(max_rounds))
        if respect_final is not None:
            self.page.get_by_role("switch", name="Respect final").set_checked(respect_final)

    def type(self, text):
        self.page.get_by_label(re.compile("^(Goal|Question|Message)$")).fill(text)
        self.page.keyboard.press("Enter")

    def begin(self, goal, mode=None, **chosen):
        if mode is not None or chosen:
            self.choose(mode, **chosen)
        self.type(goal)

    def watch_chips(self):
        self.page.evaluate(WATCH_CHIPS)

    def chips(self):
        """All that were shown since."""
        return self.page.evaluate("window.chips")

    def ends(self):
        """What it came to, once it has."""
        expect(self.summary).to_have_count(1, timeout=60_000)
        earlier = self.page.get_by_role("button", name="Show earlier messages")
        while earlier.count():
            earlier.click()
        return self.speakers()

    def speakers(self):
        """Who said what, agents only."""
        found = []
        for message in self.messages.all():
            who = message.locator(".head b").inner_text()
            if who != "you":
                found.append((who, message.locator(".markdown").inner_text()))
        return found

    def shows(self, text, within_s=60.0):
        expect(self.log).to_contain_text(text, timeout=within_s * 1000)
