"""K23: secrets are redacted by value and by pattern, in whole texts and in streams."""

import itertools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.core.moves import Failed, FailureKind, TurnDone, Usage
from allstop.core.secrets import (
    HIDDEN,
    MIN_PREFIX_CHARS,
    RedactedStream,
    Secrets,
    assigned_secrets,
    is_secret_name,
    redact_patterns,
)

CANARIES = {
    "OPENAI_API_KEY": "canary-one-4f8a1b2c3d",
    "MY_SECRET": 'canary "two" 77aa\\bb',
    "DB_PASSWORD": "canary-three-9e9e9e",
}


class TestByValue:
    secrets = Secrets(CANARIES.values())

    @pytest.mark.parametrize("value", CANARIES.values())
    def test_it_is_hidden_wherever_it_stands(self, value):
        turn = TurnDone(text=f"I found {value}, and {value}.", usage=Usage(), thread=value)

        found = self.secrets.redact_known_in(turn)

        assert found == TurnDone(
            text=f"I found {HIDDEN}, and {HIDDEN}.", usage=Usage(), thread=HIDDEN
        )

    def test_what_has_none_is_the_very_same(self):
        turn = TurnDone(text="nothing here", usage=Usage())

        assert self.secrets.redact_known_in(turn) is turn
        assert self.secrets.redact_all_in(turn) is turn

    def test_it_is_hidden_within_json_and_addresses(self):
        value = CANARIES["MY_SECRET"]
        inner = msgspec.json.encode({"message": value}).decode()
        text = f"{inner} http://x/?q=canary%20%22two%22%2077aa%5Cbb"

        found = self.secrets.redact_known_in(TurnDone(text=text, usage=Usage()))

        assert found.text == f'{{"message":"{HIDDEN}"}} http://x/?q={HIDDEN}'

    def test_people_may_say_what_is_only_like_one(self):
        said = "sort by key=len; use sk-canaryfour12345678"

        assert self.secrets.redact_certain(said) == f"sort by key=len; use {HIDDEN}"

    def test_plain_words_and_numbers_are_no_secrets(self):
        assert Secrets(["password", "12345678901", "short1"]).redact_known(
            "password 12345678901 short1"
        )

    @given(st.lists(st.integers(0, 60), min_size=0, max_size=6))
    def test_in_pieces_it_is_hidden_too(self, cuts):
        value = CANARIES["OPENAI_API_KEY"]
        text = f"before {value} between {value} after"
        places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
        pieces = [text[one:other] for one, other in itertools.pairwise(places)]
        flow = RedactedStream()

        shown = "".join(flow.feed(piece, self.secrets) for piece in [*pieces, " "])

        assert value[MIN_PREFIX_CHARS:] not in shown
        assert shown.replace(value[:MIN_PREFIX_CHARS], "").count(HIDDEN) == 2
        assert shown.startswith("before ")
        assert shown.endswith(f"{HIDDEN} after ")


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
        assert HIDDEN in redact_patterns(text)
        assert "hunter2" not in redact_patterns(text)
        failed = Failed(kind=FailureKind.CRASHED, message=text)
        assert Secrets().redact_all_in(failed).message == redact_patterns(text)

    @pytest.mark.parametrize(
        "text",
        [
            "Authorization: Basic aHVudGVyMg==",
            "X-Api-Key: hunter2",
            '{"api_key": "hunter2", "n": 1}',
            '{"message": "{\\"password\\": \\"hunter2\\"}"}',
        ],
    )
    def test_headers_and_json_too(self, text):
        shown = redact_patterns(text)

        assert HIDDEN in shown
        assert "hunter2" not in shown
        assert "aHVudGVyMg" not in shown
        assert Secrets().redact_all_in(TurnDone(text=text, usage=Usage())).text == shown

    @pytest.mark.parametrize("text", ["the task-manager-page", "disk-usage-report", "a key: it"])
    def test_plain_words_stay(self, text):
        assert redact_patterns(text) == text

    @given(st.lists(st.integers(0, 150), min_size=0, max_size=8))
    def test_in_pieces_it_is_hidden_too(self, cuts):
        text = (
            "see sk-canaryfour12345678 and http://me:canarysix0001@example.org with Bearer"
            " canaryseven02, TOKEN=canaryeight3 ./run; X-Api-Key: canarynine4 or ghp_canaryfive123"
        )
        places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
        pieces = [text[one:other] for one, other in itertools.pairwise(places)]
        flow = RedactedStream()

        shown = "".join(flow.feed(piece, Secrets()) for piece in pieces) + flow.end()

        assert "canary" not in shown
        assert shown.count(HIDDEN) == redact_patterns(text).count(HIDDEN)

    def test_the_end_of_a_sentence_is_not_held_back(self):
        assert RedactedStream().feed("I am LATE-ZEBRA", Secrets(["ABCD1234"])) == "I am LATE-ZEBRA"

    @given(st.text())
    def test_once_is_as_good_as_twice(self, text):
        assert redact_patterns(redact_patterns(text)) == redact_patterns(text)

    def test_a_message_in_json_stays_json(self):
        said = '{"message": "token=abc\\nnext \\"quoted\\"", "next": "Bearer x\\"y"}'

        assert redact_patterns(said) == (
            '{"message": "token=***\\nnext \\"quoted\\"", "next": "Bearer ***\\"y"}'
        )

    @pytest.mark.parametrize("name", ["OPENAI_API_KEY", "GH_TOKEN", "db_password", "AUTH"])
    def test_names_that_tell(self, name):
        assert is_secret_name(name)


@pytest.mark.parametrize(
    "word", ["x", "key", "-eyJaaaaaaaaa", "key= ", " passwd:", "authorization "]
)
def test_k23_a_flood_is_looked_through_once(word):
    """K23, K12: redaction takes linear time for any text."""
    flow = RedactedStream()
    for _ in range(8):
        flow.feed(word * (65_536 // len(word)), Secrets(["abcdefgh12345"]))

    assert flow.feed("\nand then\n", Secrets()).endswith("and then\n")


KEY_BODY = (
    "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW\n" * 5 + "QyNTUx\n"
)
KEY_BLOCK = f"-----BEGIN OPENSSH PRIVATE KEY-----\n{KEY_BODY}-----END OPENSSH PRIVATE KEY-----"

SETTINGS_FILE = """\
# a comment = with-an-equals-1a2b3c4d5e
DEBUG=true
PORT=3000
HOST=localhost:3000
REGION=us-east-1
MODEL=gpt-4o-mini
RUNTIME=python3.11
SITE=https://app.example.com/path
STARTED=2024-01-01
export API_TOKEN="canary four-12"
PLAIN=canary9f8e7d6c5b4a  # comment
DB_URL=postgres://app:canary-pw-55@db.example.com/app
MIXED=p@ssW0rd!x
PASSWORD=canary-words-only
"nested_secret": "canary-json-77",
"""


class TestFilesOfSettings:
    def test_k23_opaque_values_and_values_of_secret_names_are_secrets(self):
        secrets = Secrets(assigned_secrets(SETTINGS_FILE))

        assert secrets.redact_known(SETTINGS_FILE) == (
            SETTINGS_FILE.replace("canary four-12", HIDDEN)
            .replace("canary9f8e7d6c5b4a", HIDDEN)
            .replace("canary-pw-55", HIDDEN)
            .replace("p@ssW0rd!x", HIDDEN)
            .replace("canary-words-only", HIDDEN)
            .replace("canary-json-77", HIDDEN)
        )

    def test_k23_a_file_of_one_word_is_a_secret(self):
        assert list(assigned_secrets("5ecret-canary\n")) == ["5ecret-canary"]

    @pytest.mark.parametrize("text", ["", "\n", "=", "a=", "A='", '"', "x: {", "\0=\0" * 50])
    def test_broken_files_hold_nothing(self, text):
        assert Secrets(assigned_secrets(text)).redact_known(text) == text


class TestKeyBlocks:
    @pytest.mark.parametrize(
        "text",
        [
            KEY_BLOCK,
            KEY_BLOCK.replace("OPENSSH", "RSA"),
            KEY_BLOCK.replace("OPENSSH ", ""),
            KEY_BLOCK.replace("\n", "\\n"),
            KEY_BLOCK.replace("\n", "\n+"),
            KEY_BLOCK[:200],
            KEY_BLOCK.replace("\n", "\\n")[:200],
        ],
    )
    def test_k23_a_private_key_is_hidden(self, text):
        found = redact_patterns(f"It says:\n{text}\nand that is all.")

        assert "b3BlbnNz" not in found
        assert "tzc2gtZW" not in found
        assert found.endswith("and that is all.")
        assert found == Secrets().redact_certain(f"It says:\n{text}\nand that is all.")

    def test_k23_a_private_key_in_pieces_is_hidden(self):
        stream = RedactedStream()
        shown = "".join(stream.feed(line, Secrets()) for line in KEY_BLOCK.splitlines(True))
        shown += stream.feed("\nThe rest.", Secrets()) + stream.end()

        assert "b3BlbnNz" not in shown
        assert shown.endswith("The rest.")

    def test_words_about_private_keys_stay(self):
        text = "A file that begins with -----BEGIN PRIVATE KEY----- is a key. So look for it."

        assert redact_patterns(text) == text

    def test_many_beginnings_take_no_time(self):
        text = "-----BEGIN PRIVATE KEY-----" * 20_000

        assert redact_patterns(text) == text
