"""Rooms with fake GPT and Claude servers, whose answers are a function of the request."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from contextlib import asynccontextmanager, contextmanager
from typing import NamedTuple

import anyio
from anyio.from_thread import start_blocking_portal

from allstop.app.project import Project
from allstop.app.rooms import threads
from allstop.app.rooms.driver import room_driver
from allstop.app.rooms.session_spec import SessionRequest, session_spec
from allstop.core.room_specs import NoticeKind, TalkMode
from allstop.settings.sources.environment import Environment
from allstop.testing.model_server import Protocol, Say, envelope, model_server
from allstop.views.rooms import EventType
from support.api_agents import KEY
from support.person import Person, at_home, wait_for

SINGLE, COLLABORATE, AUTOPILOT = TalkMode.SINGLE, TalkMode.COLLABORATE, TalkMode.AUTOPILOT
KEYS = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}
STOPPED = "Collaboration stopped by user (Allstop)."
CANCELED = "Collaboration canceled by user."

GPT_AND_CLAUDE = """
[agents.gpt]
driver = "openai"
base_url = "{gpt}"

[agents.claude]
driver = "anthropic"
base_url = "{claude}"

[retry]
base_ms = 20
"""


# --- the models ---


class Seen(NamedTuple):
    """The request, as a model sees it."""

    me: str
    goal: str
    items: tuple[str, ...]
    notes: str

    @property
    def other(self):
        return "claude" if self.me == "gpt" else "gpt"

    @property
    def round(self):
        return int(re.search(r"Round:? (\d+)", self.notes)[1])

    def said(self, who):
        return [item.removeprefix(f"{who}: ") for item in self.items if item.startswith(f"{who}: ")]


def seen(asked):
    goal, *items, notes = asked.blocks
    me = re.search(r"Your name is `(\w+)`", asked.system)[1]
    is_gpt = asked.protocol is Protocol.RESPONSES
    assert me == ("gpt" if is_gpt else "claude"), "each is asked at its own provider"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.is_streamed
    assert asked.wants_structure
    assert notes.endswith("\nReturn JSON only per schema—no extra text.")
    return Seen(me, goal.removeprefix("Goal: "), tuple(items), notes)


def to(name, task="Go on."):
    return {"handoff": {"to": name, "task": task}}


def models(answer):
    """Both models, answered by one function of the request."""

    def answers(asked):
        return answer(seen(asked))

    return answers


def taking_turns(it):
    """Each model hands over to the other, endlessly."""
    return envelope(f"{it.me} says number {it.round}", **to(it.other))


LATE = "LATE-ZEBRA"
BEGUN = "it has begun"


def endless(message=BEGUN):
    """A reply that streams for minutes; its last words must never be shown."""
    pieces = (f'{{"message": "{message}', *(" and on",) * 5000, f' {LATE}"}}')
    return Say(pieces=pieces, pause_s=0.02)


# --- the room, in this process ---


class RoomThread:
    """A room's thread that is driven in this process."""

    def __init__(self, project, place):
        self.project = project
        self.place = place
        self.thread = place.thread
        self.live = ""
        place.engine.view(self._show)

    def _show(self, run, live):
        self.live += live.text

    async def begin(self, goal, mode=COLLABORATE, **wish):
        await self.place.begin(session_spec(self.project, SessionRequest(goal, mode, **wish)))

    async def rest(self):
        with anyio.fail_after(60):
            await self.place.engine.rested(self.place.run)

    async def hold(self, goal, mode=COLLABORATE, **wish):
        """A session from its beginning to its end."""
        await self.begin(goal, mode, **wish)
        await self.rest()
        return await self.record()

    async def type(self, text):
        """What the room's own process does with a line."""
        heard = await threads.handle_input(self.project, self.thread, text)
        if heard.began is not None:
            await self.place.begin(heard.began)
        return heard

    async def record(self):
        return Record(await threads.read(self.project, self.thread))

    async def until(self, condition, what):
        """Of the record, or of what was shown."""
        await until(lambda: condition(self), what)

    async def until_live(self, words):
        await until(lambda: words in self.live, f"{words!r}, live")

    async def until_turns(self, count):
        async def enough():
            return len((await self.record()).speakers) >= count

        await until(enough, f"{count} turns")


class Record:
    """The events of a thread."""

    def __init__(self, read):
        self.read = read
        self.events = read.events
        self.room = read.room
        self.last = read.room.last

    def of(self, type_, session_id=None):
        return [
            e for e in self.events if e.type is type_ and session_id in (None, e.session_id)
        ]  # fmt: skip

    @property
    def responses(self):
        return self.of(EventType.AGENT_RESPONSE)

    @property
    def speakers(self):
        return [event.sender for event in self.responses]

    @property
    def messages(self):
        return [event.text for event in self.responses]

    def told(self, kind):
        return [e.text for e in self.events if e.kind is NoticeKind(kind)]

    @property
    def ending(self):
        return self.last.reason.value if self.last and self.room.session is None else None

    @property
    def told_all(self):
        """Every word that anybody can see."""
        transcript = [part.text for part in self.room.talk.parts]
        return "\n".join([*(event.text for event in self.events), *transcript])


async def until(condition, what, within_s=60.0):
    with anyio.move_on_after(within_s):
        while True:
            found = condition()
            if not isinstance(found, bool):
                found = await found
            if found:
                return
            await anyio.sleep(0.005)
    raise AssertionError(f"waited too long for: {what}")


@asynccontextmanager
async def room_thread(project, thread="default"):
    async with room_driver(project, thread) as place:
        yield RoomThread(project, place)


def in_files(folder, words):
    """The files below a folder that contain these words."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and words.encode() in path.read_bytes():
            found.append(path.name)
    return found


# --- the person, and the program ---


class PersonWithModels(Person):
    """A person with API keys for both models."""

    keys = KEYS

    def __init__(self, home, repository):
        super().__init__(home, repository)
        self.turn_with_talk = []

    @property
    def environment(self):
        return {**super().environment, **self.keys}

    def sets_up(self, server, more=""):
        """Where keys go is the person's own word; the rest may be the repository's."""
        own = self.home / ".config" / "allstop" / "config.toml"
        own.parent.mkdir(parents=True, exist_ok=True)
        own.write_text(GPT_AND_CLAUDE.format(gpt=server.openai_url, claude=server.anthropic_url))
        self.write("allstop.toml", more)

    def scripts(self, more="", **turns):
        """Agents without a server; each says its turns in order, the last again and again."""
        text = ""
        for name, said in turns.items():
            script = "".join(f"\n[[turn]]\nsteps = [{step}]\n" for step in said)
            self.write(f"{name}.toml", f"repeat = true\n{script}")
            text += f'[agents.{name}]\ndriver = "scripted"\nscript = "{name}.toml"\n'
        self.write("allstop.toml", text + more)

    def project(self):
        """As a process of this person's would have it."""
        return Project(
            self.repository, Environment(home=self.home, variables=dict(self.environment))
        )

    def talks(self, *arguments):
        """`allstop room` with a pipe to type into."""
        talk = Program(self, "room", *arguments)
        self.turn_with_talk.append(talk)
        return talk

    def close(self):
        for talk in self.turn_with_talk:
            talk.close()
        super().close()

    def log(self, thread="default"):
        return self.allstop("log", f"room:{thread}")


class Program:
    """A running allstop process: its output so far, and its stdin."""

    def __init__(self, person, *arguments):
        self.out, self.err = "", ""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "allstop", *arguments],
            cwd=person.repository,
            env=person.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._readers = [
            threading.Thread(target=self._read, args=(pipe, name), daemon=True)
            for pipe, name in ((self.process.stdout, "out"), (self.process.stderr, "err"))
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, pipe, name):
        while chunk := os.read(pipe.fileno(), 65536):
            setattr(self, name, getattr(self, name) + chunk.decode(errors="replace"))

    def type(self, line):
        os.write(self.process.stdin.fileno(), line.encode() + b"\n")

    def shows(self, words, within_s=60.0):
        """Wait for it; how long that took."""
        began = time.monotonic()
        wait_for(lambda: words in self.out or self.process.poll() is not None, words, within_s)
        took_s = time.monotonic() - began
        self._join()
        assert words in self.out, self.out + self.err
        return took_s

    def notes(self, words, within_s=60.0):
        wait_for(lambda: words in self.err or self.process.poll() is not None, words, within_s)
        self._join()
        assert words in self.err, self.out + self.err

    def ends(self, code, type_=None):
        """Nothing more is typed; all that was said."""
        if type_ is not None:
            self.type(type_)
        self.process.stdin.close()
        self.process.wait(60)
        self._join()
        assert self.process.returncode == code, (
            f"exit code {self.process.returncode}\n{self.out}\n{self.err}"
        )
        return self.out

    def close(self):
        """Whatever it does, it is over."""
        with self.process:
            self.process.kill()
            self.process.wait()
            self._join()

    def _join(self):
        if self.process.poll() is not None:
            for reader in self._readers:
                reader.join(10)

    @property
    def events(self):
        return [json.loads(line) for line in self.out.splitlines()]


def says(message, **more):
    """One step of a script."""
    return f"{{ say = {json.dumps(envelope(message, **more))} }}"


def writes(name):
    """Script steps that write a file and complete."""
    return f'{{ write = "{name}", text = "x" }}, {{ signal = "COMPLETE" }}'


def person_with_models(place):
    plain = at_home(place)
    return PersonWithModels(plain.home, plain.repository)


@contextmanager
def served(answers):
    """A model server for a synchronous test."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(model_server(answers)) as server,
    ):
        yield server
