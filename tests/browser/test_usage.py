"""G7, U5: the page of usage lists each model call, and gets new ones as they end."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import anyio
import msgspec
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from allstop.adapters.clock import SystemClock
from allstop.adapters.journals.sqlite import SqliteJournal
from allstop.auto.state import AutoSpec
from allstop.core.events import MoveStarted, Noted, Opened
from allstop.core.ids import AgentName, RunId
from allstop.core.moves import Item, ModelCall, TakeTurn, without_prompt_text
from allstop.core.prompt import prompt
from allstop.ports import Entry
from browser.clipped_text import clipped
from browser.conftest import PHONE
from support.person import at_home
from support.sample_board import SampleBoard

RUN = RunId("auto1")
SPEC = msgspec.to_builtins(AutoSpec(goal="Write a parser", agent=AgentName("codex")))
CALLS = (
    ModelCall(
        model="gpt-6.1-sol",
        provider="openai",
        status=200,
        input=48_000,
        cached=36_000,
        output=1_200,
        reasoning=700,
        cost_microusd=82_000,
        first_ms=640,
        total_ms=12_300,
        request_id="req_1",
    ),
    ModelCall(
        model="gpt-6.1-sol",
        provider="openai",
        status=200,
        input=9_000,
        output=400,
        first_ms=500,
        total_ms=2_000,
        cut=True,
    ),
    ModelCall(
        model="a-model-with-a-long-name-of-a-local-server", provider="models.example", status=429
    ),
)


async def record(journal, *calls, opens=False):
    now = SystemClock().now()
    items = tuple(Item(kind="model call", text="m", call=call) for call in calls)
    entries = [Entry(RUN, Noted(at=now, id=1, items=(item,))) for item in items]
    if opens:
        move = without_prompt_text(TakeTurn(agent=AgentName("codex"), prompt=prompt("x")))
        opened = Opened(at=now - timedelta(minutes=9), kind="auto", spec=SPEC)
        begun = MoveStarted(at=now - timedelta(minutes=9), id=1, move=move)
        entries = [Entry(RUN, opened), Entry(RUN, begun), *entries]
    await journal.append(*entries)


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    """A thread whose turn has made three model calls."""
    scene = SampleBoard(at_home(tmp_path_factory.mktemp("calls")))
    scene.person.script("")
    scene.person.commit()
    write(scene, *CALLS, opens=True)
    scene.open()
    yield scene
    scene.person.close()


def write(scene, *calls, opens=False):
    """In a thread of its own: that of Playwright can't run another event loop."""

    async def writes():
        journal = SqliteJournal(scene.person.repository / ".allstop", SystemClock())
        await record(journal, *calls, opens=opens)
        journal.close()

    with ThreadPoolExecutor(1) as threads:
        threads.submit(anyio.run, writes).result()


def test_g7_each_call_is_listed_and_a_new_one_appears_by_itself(visit, scene):
    page = visit().page("usage")
    page.get_by_role("combobox", name="By").select_option("calls")
    rows = page.get_by_role("row").filter(has=page.get_by_role("rowheader"))

    expect(rows).to_have_count(3)
    expect(rows.nth(0)).to_contain_text("HTTP 429")
    expect(rows.nth(0)).not_to_contain_text("0.0s")
    expect(rows.nth(1)).to_contain_text("cut by the budget")
    expect(rows.nth(2)).to_contain_text("gpt-6.1-sol")
    for text in ("codex", "openai", "48k", "75 %", "1.2k", "700", "$0.08", "0.6s", "12.3s"):
        expect(rows.nth(2)).to_contain_text(text)
    write(scene, ModelCall(model="the-newest", status=200, input=10, output=1))
    expect(rows.nth(0)).to_contain_text("the-newest")
    expect(rows).to_have_count(4)


def test_k7_usage_has_the_calls_of_a_turn_under_way(visit):
    page = visit().page("usage?by=agent")
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="codex"))

    expect(row).to_contain_text("57k")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_u5_the_calls_fit_a_phone_and_can_be_read_by_everyone(visit, scheme):
    page = visit(viewport=PHONE, color_scheme=scheme).page("usage?by=calls")
    expect(page.get_by_role("rowheader").first).to_be_visible()

    assert clipped(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    found = Axe().run(page).response["violations"]
    assert [each["id"] for each in found] == []
