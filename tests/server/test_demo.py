"""The demo, left open to look around in."""

import json
import signal
import urllib.request

from support.control_room import LINK
from support.person import at_home


def test_u4_the_demo_can_leave_the_control_room_open_on_what_it_made(tmp_path):
    """U4, P4, P6, P13, Q11: without keys, network or a free choice of ports."""
    person = at_home(tmp_path)
    folder = tmp_path / "sample"
    process = person.start("demo", "--dir", str(folder), "--serve")
    said = ""
    for line in process.stdout:
        said += line
        if found := LINK.search(said):
            break
    else:
        raise AssertionError(said)
    token = (folder / ".allstop" / "token").read_text().strip()
    board, plan, draft = (
        ask(f"http://127.0.0.1:{found[2]}/api/v1/{place}", token)
        for place in ("board", "runs/plan1", "runs/draft1")
    )

    process.send_signal(signal.SIGINT)

    assert process.wait(60) == 0
    assert [task["status"] for task in board["tasks"]] == ["done"] * 6
    assert plan["run"]["outcome"] == "done"
    assert plan["detail"]["skippedSteps"] == ["2.1"]
    assert draft["detail"]["is_ready"]
    for event in (
        "retry 1 of 2; step 1.1 failed",
        "backup replaces demo",
        "demo replaces backup",
        "plan1: its step is skipped.",
        "PLAN.md: 3 steps ticked, of 3 finished.",
    ):
        assert event in said
    person.close()


def ask(address, token):
    asked = urllib.request.Request(address, headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(asked, timeout=20) as answer:
        return json.load(answer)
