"""The changes of an agent, and comments on their lines."""

from playwright.sync_api import expect

from browser.conftest import PHONE
from support.person import wait_for

REVIEWED = "Explain rate limits in the documentation"
AT_WORK = "Paginate the audit log"


def changes_of(here, scene, title):
    return here.page(f"task/{scene.id_of(title)}?tab=changes")


def remark(page, line, words):
    page.get_by_role("button", name=f"Comment on line {line}", exact=True).click()
    page.get_by_role("textbox", name=f"Comment on line {line} of").fill(words)
    page.get_by_role("button", name="Done", exact=True).click()


def told(scene, run):
    """The texts that people sent with remarks, from the events."""
    events = scene.ask(f"/runs/{run}/events?limit=1000")["events"]
    commands = [event["event"].get("command", {}) for event in events]
    return [command for command in commands if command.get("remarks")]


def test_u2_changes_are_side_by_side_in_a_wide_window(scene, visit):
    page = changes_of(visit(), scene, REVIEWED)
    expect(page.get_by_role("radio", name="side by side")).to_be_checked()

    page.get_by_role("radio", name="unified").check()
    page.reload()
    expect(page.get_by_role("radio", name="unified")).to_be_checked()

    narrow = changes_of(visit(viewport=PHONE), scene, REVIEWED)
    expect(narrow.get_by_text("60 requests a minute")).to_be_visible()
    expect(narrow.get_by_role("radio")).to_have_count(0)


def test_u2_comments_reach_a_working_agent_although_the_response_is_lost(scene, visit):
    """B20: a sent remark is known by its id, so it is neither lost nor sent twice."""
    page = changes_of(visit(), scene, AT_WORK)
    remark(page, 1, "Fifty is too many.")

    def lose(route):
        route.fetch()
        route.abort()

    page.route("**/commands", lose)
    page.get_by_role("button", name="Send to the agent").click()

    expect(page.get_by_text("sent ", exact=False).first).to_be_visible()
    expect(page.get_by_role("form", name="Comments to send")).to_have_count(0)
    task = next(task for task in scene.tasks() if task["title"] == AT_WORK)
    assert [command["command"] for command in told(scene, task["run"])] == ["say"]


def test_u2_comments_survive_a_reload_and_a_broken_connection_and_send_work_back(scene, visit):
    here = visit()
    page = changes_of(here, scene, REVIEWED)
    task = scene.id_of(REVIEWED)

    first = page.get_by_role("button", name="Comment on line 1", exact=True)
    first.focus()
    first.press("ArrowDown")
    expect(page.get_by_role("button", name="Comment on line 2", exact=True)).to_be_focused()
    remark(page, 1, "A better title.")
    remark(page, 3, "Which minute?")
    page.get_by_role("textbox", name="General comment").fill("Nearly there.")
    page.reload()
    page.route("**/commands", lambda route: route.abort())
    page.get_by_role("button", name="Send back").click()
    expect(page.get_by_text("The server can’t be reached.")).to_be_visible()
    expect(page.get_by_text("2 comments not sent yet")).to_be_visible()
    page.unroute("**/commands")
    page.get_by_role("button", name="Send back").click()

    expect(page.get_by_text("2 comments not sent yet")).to_have_count(0)
    wait_for(lambda: scene.ask(f"/tasks/{task}")["status"] != "review", "it to go back")
    sent = told(scene, "board")
    assert [(each["command"], each["text"]) for each in sent] == [("redo", "Nearly there.")]
    assert [
        (one["file"], one["line"], one["quoted"], one["text"]) for one in sent[0]["remarks"]
    ] == [
        ("LIMITS.md", 1, "# Rate limits", "A better title."),
        ("LIMITS.md", 3, "60 requests a minute for each key.", "Which minute?"),
    ]
    page.reload()
    expect(page.get_by_text("Which minute?")).to_be_visible()
    expect(page.get_by_role("region", name="Earlier comments")).to_contain_text("Nearly there.")
