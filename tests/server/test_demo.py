"""The demo, left open to look around in."""

import json
import signal
import urllib.request

from support.control_room import LINK
from support.person import at_home


def test_u4_the_demo_can_leave_the_control_room_open_on_what_it_made(tmp_path):
    """U4, Q11: without keys, network or a free choice of ports."""
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
    asked = urllib.request.Request(
        f"http://127.0.0.1:{found[2]}/api/v1/board", headers={"Authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(asked, timeout=20) as answer:
        board = json.load(answer)

    process.send_signal(signal.SIGINT)

    assert process.wait(60) == 0
    assert [task["status"] for task in board["tasks"]] == ["done"] * 6
    person.close()
