"""K23, Q25: planted secrets are found nowhere: not in the store, logs, receipts, exports, answers."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.core.moves import Failed, FailureKind, TurnDone, Usage
from allstop.core.secrets import HIDDEN, Flow, Secrets, is_secret_name, scrubbed
from control_rooms import ControlRoom
from people import Person, at_home, wait_for

CANARIES = {
    "OPENAI_API_KEY": "canary-one-4f8a1b2c3d",
    "MY_SECRET": 'canary "two" 77aa\\bb',
    "DB_PASSWORD": "canary-three-9e9e9e",
}
LOOKS = ["sk-canaryfour12345678", "ghp_canaryfive123456789", "canarysix0001", "canaryseven02"]


class TestByValue:
    secrets = Secrets(CANARIES.values())

    @pytest.mark.parametrize("value", CANARIES.values())
    def test_it_is_hidden_wherever_it_stands(self, value):
        turn = TurnDone(text=f"I found {value}, and {value}.", usage=Usage(), thread=value)

        found = self.secrets.hidden_in(turn)

        assert found == TurnDone(
            text=f"I found {HIDDEN}, and {HIDDEN}.", usage=Usage(), thread=HIDDEN
        )

    def test_what_has_none_is_the_very_same(self):
        turn = TurnDone(text="nothing here", usage=Usage())

        assert self.secrets.hidden_in(turn) is turn
        assert self.secrets.scrubbed_in(turn) is turn

    def test_plain_words_and_numbers_are_no_secrets(self):
        assert Secrets(["password", "12345678901", "short1"]).hide("password 12345678901 short1")

    @given(st.lists(st.integers(0, 60), min_size=0, max_size=6))
    def test_in_pieces_it_is_hidden_too(self, cuts):
        value = CANARIES["OPENAI_API_KEY"]
        text = f"before {value} between {value} after"
        places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
        pieces = [text[one:other] for one, other in itertools.pairwise(places)]
        flow = Flow()

        shown = "".join(flow.feed(piece, self.secrets) for piece in [*pieces, " "])

        assert shown == f"before {HIDDEN} between {HIDDEN} after "


class TestByLooks:
    @pytest.mark.parametrize(
        "text",
        [
            "key sk-proj-abcdefghij",
            "ghp_abcdefghijkl",
            "AKIAABCDEFGHIJKLMNOP",
            "Authorization: Bearer abcdefg",
            "https://me:hunter2@example.org/x",
            "API_KEY=hunter2 ./run",
            "?token=hunter2&x=1",
        ],
    )
    def test_what_looks_like_one_is_hidden(self, text):
        assert HIDDEN in scrubbed(text)
        assert "hunter2" not in scrubbed(text)
        failed = Failed(kind=FailureKind.CRASHED, message=text)
        assert Secrets().scrubbed_in(failed).message == scrubbed(text)

    @given(st.text())
    def test_once_is_as_good_as_twice(self, text):
        assert scrubbed(scrubbed(text)) == scrubbed(text)

    def test_a_message_in_json_stays_json(self):
        said = '{"message": "token=abc\\nnext \\"quoted\\"", "next": "Bearer x\\"y"}'

        assert scrubbed(said) == (
            '{"message": "token=***\\nnext \\"quoted\\"", "next": "Bearer ***\\"y"}'
        )

    @pytest.mark.parametrize("name", ["OPENAI_API_KEY", "GH_TOKEN", "db_password", "AUTH"])
    def test_names_that_tell(self, name):
        assert is_secret_name(name)


SCRIPT = """
repeat = true
[[turn]]
steps = [
  { say = "the keys: {canaries}" },
  { run = "echo {looks} > found.txt; echo {canaries}" },
  { write = "found.txt", text = "done" },
  { signal = "COMPLETE" },
]
"""


class Careless(Person):
    """Whose environment is full of secrets."""

    @property
    def environment(self):
        return super().environment | CANARIES


def test_planted_secrets_are_found_nowhere(tmp_path):
    person = Careless(*at_home(tmp_path).places)
    said = " ".join([CANARIES["OPENAI_API_KEY"], CANARIES["DB_PASSWORD"]])
    looks = f"{LOOKS[0]} {LOOKS[1]} http://me:{LOOKS[2]}@example.org Bearer {LOOKS[3]}"
    script = SCRIPT.replace("{canaries}", said).replace("{looks}", looks)
    person.script(script.replace("the keys:", f"the keys: {looks}"))
    person.commit()
    room = ControlRoom(person)
    with room.listen() as stream:
        task = room.post("/runs", {"kind": "task", "prompt": f"Use {said}"}).json["run"]
        stream.until(lambda event: event.kind == "task" and event.data["attempts"])
        wait_for(
            lambda: room.read(f"/tasks/{task}")["status"] in ("done", "failed", "blocked"),
            "its end",
        )
        room.do("all", "pause")
        heard = stream.until(lambda event: event.kind == "hold" and event.data["hold"] == "paused")
    run = room.read(f"/tasks/{task}")["run"]
    answers = [
        room.get(path).body.decode()
        for path in (
            "/runs", f"/runs/{run}", f"/runs/{run}/events", "/runs/board/events", "/board",
            f"/tasks/{task}", f"/receipts/{run}", "/inbox", "/settings", "/agents", "/hold",
            f"/runs/{CANARIES['OPENAI_API_KEY']}",
        )
    ]  # fmt: skip
    answers += [str(event.data) for event in heard]
    answers += [person.allstop("log", run), person.allstop("receipts", run, "--json")]
    answers += [person.allstop("export"), person.allstop("status"), person.allstop("config")]
    room.close()
    folder = person.repository / ".allstop"
    kept = {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file() and "workspaces" not in file.parts
    }

    for secret in [*CANARIES.values(), *LOOKS]:
        assert [text[:200] for text in answers if secret in text] == []
        assert [name for name, data in kept.items() if secret.encode() in data] == []
    assert HIDDEN in "".join(answers)
    person.close()
