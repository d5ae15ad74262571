"""A task's page in a real browser: its live text."""

import pytest
from playwright.sync_api import expect

from allstop.adapters.live_text import LiveTextSender
from allstop.app.live_text import LISTENERS_FOLDER
from allstop.core.ids import RunId
from allstop.ports import Live


@pytest.fixture
def agent(scene):
    """Sends live text like an agent whose run another process drives."""
    sender = LiveTextSender(scene.person.repository / ".allstop" / LISTENERS_FOLDER)
    assert sender.has_receivers
    task = next(each for each in scene.tasks() if each["title"].startswith("Retry webhooks"))

    def say(kind, text):
        sender.send(RunId(task["run"]), Live(kind, text), "")

    yield say
    sender.close()


def test_u3_live_text_continues_after_the_first_tool_call(scene, agent, visit):
    page = visit().page(f"task/{scene.id_of('Retry webhooks that were not delivered')}")
    words = page.get_by_role("region", name="Text of the agent")
    expect(words).to_contain_text("Reading how deliveries are stored.")

    for kind, text in (
        ("reasoning", "Which table is it?"),
        ("status", "Bash ls"),
        ("input", '{"command": "ls"}'),
        ("status", "Read hooks.py"),
        ("text", " They are rows of one table."),
    ):
        agent(kind, text)

    expect(words).to_contain_text("stored. They are rows of one table.")
    expect(page.get_by_role("region", name="Reasoning of the agent")).to_have_text(
        "Which table is it?"
    )
    expect(page.get_by_text("Read hooks.py")).to_be_visible()
    expect(page.get_by_text("Bash ls")).to_have_count(0)
    expect(page.get_by_text("command")).to_have_count(0)
    page.reload()
    expect(words).to_contain_text("They are rows of one table.")
    page.keyboard.press("g")
    page.keyboard.press("b")
    page.get_by_role("link", name="Retry webhooks").click()
    expect(words).to_contain_text("They are rows of one table.")
    expect(page.get_by_text("Read hooks.py")).to_be_visible()
