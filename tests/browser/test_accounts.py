"""P16: the home page shows the accounts with their holds, windows, pace and reset."""

import os
from datetime import timedelta
from pathlib import Path

import anyio
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from allstop.adapters.clock import SystemClock
from allstop.adapters.journals.sqlite import SqliteJournal
from allstop.core.accounts import AccountHold, Window
from allstop.core.events import AccountHeld, WindowsSeen
from allstop.core.ids import ACCOUNTS
from allstop.core.moves import FailureKind
from allstop.ports import Entry

PICTURES = os.environ.get("TEST_PICTURES")
CLOCK = SystemClock()
FIVE_HOURS_S, WEEK_S = 18000.0, 604800.0
PHONE = {"width": 390, "height": 800}


@pytest.fixture
def with_accounts(scene):
    """Claude is held; its week is used faster than evenly. GPT has room."""
    now = CLOCK.now()
    soon, later = now + timedelta(hours=2), now + timedelta(days=3.5)
    five = Window(name="5 hours", used=1.0, resets_at=soon, span_s=FIVE_HOURS_S)
    week = Window(name="week", used=0.58, resets_at=later, span_s=WEEK_S)
    light = Window(name="5 hours", used=0.34, resets_at=soon, span_s=FIVE_HOURS_S)
    unknown = Window(name="requests")
    hold = AccountHold(
        until=soon, kind=FailureKind.USAGE_LIMITED, reason="5-hour limit reached <b>now</b>"
    )
    events = [
        WindowsSeen(at=now, account="claude", windows=(five, week)),
        AccountHeld(at=now, account="claude", hold=hold),
        WindowsSeen(at=now, account="gpt", windows=(light, unknown)),
    ]

    async def write():
        journal = SqliteJournal(Path(scene.person.repository) / ".allstop", CLOCK)
        await journal.append(*(Entry(ACCOUNTS, event) for event in events))
        journal.close()

    with anyio.from_thread.start_blocking_portal() as portal:
        portal.call(write)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_p16_the_home_page_shows_the_windows_of_each_account(theme, width, with_accounts, visit):
    size = PHONE if width == PHONE["width"] else {"width": width, "height": 820}
    page = visit(viewport=size, color_scheme=theme).page("home")
    panel = page.get_by_role("region", name="Accounts")
    items = panel.get_by_role("listitem")
    expect(items).to_have_count(2)
    gpt, claude = items.nth(0), items.nth(1)

    expect(claude).to_contain_text("held until")
    expect(claude).to_contain_text("58 %")
    expect(claude).to_contain_text("ahead of even use; resets")
    expect(gpt).to_contain_text("behind even use")
    expect(gpt).to_contain_text("unknown")
    expect(gpt.get_by_role("meter", name="gpt, requests")).to_have_attribute(
        "aria-valuetext", "unknown "
    )
    found = page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert found, "the page is not wider than the window"
    assert [each["id"] for each in Axe().run(page).response["violations"]] == []
    panel.scroll_into_view_if_needed()
    if PICTURES:
        page.screenshot(path=f"{PICTURES}/accounts-{theme}-{width}.png")
