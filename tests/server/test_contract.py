"""The API matches its OpenAPI description: schemathesis sends requests made from it."""

import json
import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import jsonschema_rs
import pytest

from support import sample_board
from support.control_room import Stream

SETTINGS = """
[dictionaries.runs]
values = {runs}

[dictionaries.tasks]
values = {tasks}

[dictionaries.threads]
values = ["default"]

[parameters]
"path.run" = {{ dictionary = "runs", probability = 0.9 }}
"path.task" = {{ dictionary = "tasks", probability = 0.9 }}
"path.thread" = {{ dictionary = "threads", probability = 0.9 }}

# A body may have the right shape and still name a setting that there is not.
[[operations]]
include-method = "POST"
[operations.checks.positive_data_acceptance]
enabled = false
"""
"""Most names are those of something that is there, so that more than "not found" is looked at."""


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    """With tasks in every state, questions in the inbox, a talk that is over and a thread."""
    scene = sample_board.at_work(tmp_path_factory.mktemp("contract"))
    scene.talk()
    scene.post("/runs", {"kind": "auto", "goal": "Explain rate limits", "agent": "demo"})
    yield scene
    scene.person.close()


def test_every_event_of_the_stream_is_as_described(scene):
    document = scene.ask("/openapi.json")
    described = document["paths"]["/api/v1/stream"]["get"]["responses"]["200"]
    shapes = {
        each["properties"]["event"]["const"]: jsonschema_rs.validator_for(
            {**each["properties"]["data"]["contentSchema"], "components": document["components"]}
        )
        for each in described["content"]["text/event-stream"]["schema"]["oneOf"]
    }
    scene.restart()  # at its start it counts what waits: from here on, what is approved is news
    stream = Stream(scene, last="0.0")
    scene.post(
        "/runs", {"kind": "room", "goal": sample_board.GOAL, "thread": "two", "max_rounds": 1}
    )
    scene.tell(scene.id_of("Explain rate limits in the documentation"), "approve")
    scene.post("/runs", {"kind": "auto", "goal": "Answer 404", "agent": "demo"})
    wanted = {"log", "run", "board", "task", "room", "talk", "inbox", "auto", "live"}

    with closing(stream):
        events = stream.until(lambda event: wanted <= {each.kind for each in stream.events})

    for event in events:
        shapes[event.kind].validate(event.data)


@pytest.mark.timeout(400)
def test_every_answer_is_as_described(scene, tmp_path):
    """Statuses, content types, headers and bodies; what is not described is a failure."""
    settings = tmp_path / "schemathesis.toml"
    settings.write_text(
        SETTINGS.format(runs=json.dumps(_runs(scene)), tasks=json.dumps(_tasks(scene)))
    )

    done = subprocess.run(
        [
            *(Path(sys.executable).parent / "schemathesis", "--config-file", settings),
            *("run", f"{scene.url}/api/v1/openapi.json", "--url", scene.url),
            *("--header", f"Authorization: Bearer {scene.token}", "--max-examples", "8"),
            *("--exclude-path", "/api/v1/stream"),
            *("--generation-deterministic", "--continue-on-failure", "--no-color"),
        ],
        cwd=tmp_path,
        env=scene.person.environment,
        capture_output=True,
        text=True,
    )

    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert re.search(r"Tested: (\d+)", said)[1] == str(len(_operations(scene)) - 1)
    assert scene.ask("/healthz")["version"]


def _operations(scene):
    return [
        (path, method)
        for path, methods in scene.ask("/openapi.json")["paths"].items()
        for method in methods
    ]


def _runs(scene):
    runs = [run["id"] for run in scene.ask("/runs")["runs"]]
    return ["board", "helm", "all", "room:default", *runs[:8], *_tasks(scene)[:3]]


def _tasks(scene):
    return [task["id"] for task in scene.tasks()]
