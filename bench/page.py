"""U3, Q10: the control room's page in a real browser with a thousand events per second.

Another process writes events while each page is open. Counts drawn frames, and tasks that block the
page for more than 50 ms. Prints figures; asserts nothing.
"""

from __future__ import annotations

import argparse
import http.client
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

import stream
from common import figure, print_load, raise_priority, skip_if_tiny

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from support import chromium

PAGES = {"home": "#/home", "a room": "#/rooms/bench", "its history": "#/history/room:bench"}
WATCH = """() => {
  window.drawn = 0
  window.held = []
  const count = () => { window.drawn += 1; requestAnimationFrame(count) }
  requestAnimationFrame(count)
  new PerformanceObserver((list) => list.getEntries().forEach((e) => window.held.push(e.duration)))
    .observe({ type: 'longtask' })
}"""


def link(server: stream.Server) -> str:
    """A new sign-in link, as `allstop up` gets it."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("POST", "/api/v1/keys", "{}", server.headers())
    path = json.loads(connection.getresponse().read())["path"]
    return f"http://127.0.0.1:{server.port}{path}"


def look(
    page: Page, name: str, where: str, server: stream.Server, rate: int, seconds: float
) -> None:
    page.evaluate(f"location.hash = {where!r}")
    page.wait_for_timeout(1000)
    page.evaluate(WATCH)
    page.wait_for_timeout(1000)
    still = page.evaluate("window.drawn")
    page.evaluate("window.drawn = 0, window.held = []")
    command = [sys.executable, stream.__file__, "--write", str(server.root / ".allstop")]
    command += ["--rate", str(rate), "--seconds", str(seconds)]
    before = server.cpu_s()
    subprocess.run(command, check=True)
    drawn, held = page.evaluate("[window.drawn, window.held]")
    figure(
        f"U3 page, {name}",
        f"{drawn / seconds:.1f} frames/s",
        ratio=f"{still} frames/s without events",
    )
    print(
        f"U3  {name:<12} {rate} events a second for {seconds:g} s: {drawn / seconds:5.1f} frames a"
        f" second ({still} when nothing happens); {len(held)} tasks over 50 ms, the longest"
        f" {max(held, default=0):.0f} ms; {(server.cpu_s() - before) / seconds:4.0%} of a core"
    )


def main(rate: int, seconds: float) -> None:
    print_load()
    raise_priority()
    found = chromium.find()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=found.path, args=found.args, env=found.env
        )
        for name, where in PAGES.items():
            with (
                tempfile.TemporaryDirectory() as folder,
                stream.control_room(Path(folder)) as server,
            ):
                page = browser.new_page()
                page.goto(link(server))
                look(page, name, where, server, rate, seconds)
                page.close()
        browser.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=8.0)
    chosen = parser.parse_args()
    skip_if_tiny("a browser")
    main(chosen.rate, chosen.seconds)
