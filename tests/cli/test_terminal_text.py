"""K22: text of agents and people is shown as text: it can't style, link, hide or move anything."""

import contextlib
import io
import json
import re

from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.table import Table

from allstop.cli.output import echo, print_json, print_json_line
from allstop.cli.rooms.terminal import TerminalRoomScreen
from allstop.cli.safe_console import SafeConsole
from allstop.core.room_specs import NoticeKind
from allstop.glance import write_text
from allstop.ports import Live
from allstop.views.rooms import EventType, RoomEvent

PIECES = (
    "[/x]", "[red]", "[link=http://evil.example]", "[bold", ":warning:", "\\[",  # markup of Rich
    "\x1b[31m", "\x1b[2J", "\x1b[10A", "\x9b1m", "\x1b",
    "\x1b]8;;http://evil.example\x1b\\", "\x1b]52;c;aGk=\x07", "\x1b]0;title\x07", "\x9d0;title\x9c",
    "\u202e", "\u2066", "\u200b", "\u200d", "\u2028", "\u2029", "\ufeff", "\U000e0041", "\ufe01",
    "\r", "\n", "\t", "\b", "\a", "\x00", "\x7f", "\x85", "日本", "e\u0301", "word ", "x" * 10_000,
)  # fmt: skip
HOSTILE = "".join(piece for piece in PIECES if piece != "\x00")
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=12).map("".join)

OURS = re.compile(r"\x1b\[[0-9;]*m|\r?(\x1b\[\d+A)?\x1b\[J|\r?\x1b\[2K|\x1b\[1A|\x1b\[\?25[lh]")
"""Styles and cursor moves of the program itself."""

DANGEROUS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0041]"
)


def is_plain(shown):
    return DANGEROUS.search(shown) is None


def capture(work):
    """Whatever a function prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        work()
    return out.getvalue()


def room_event(kind, text="", notice=None):
    return RoomEvent(
        type=kind,
        sender="gpt",
        target="gpt",
        thread="t",
        text=text,
        call_id="1",
        ts=0,
        seq=1,
        kind=notice,
    )


@given(texts)
@example(HOSTILE)
def test_k22_a_printed_line_is_plain(text):
    for work in (lambda: echo(text), lambda: write_text(text), lambda: echo(text, fg="red")):
        assert is_plain(capture(work))


@given(texts)
@example(HOSTILE)
def test_k22_json_is_ascii_where_characters_could_hide_and_keeps_the_text(text):
    for work in (print_json, print_json_line):
        shown = capture(lambda work=work: work({text: [text]}))

        assert is_plain(shown)
        assert json.loads(shown) == {text: [text]}


@given(texts, st.integers(20, 200))
@example(HOSTILE, 80)
@example("a [/x] b [tag] c", 80)
def test_k22_a_table_shows_text_as_it_is_and_keeps_its_width(text, width):
    table = Table.grid(padding=(0, 2), expand=True)
    table.add_column(no_wrap=True, overflow="ellipsis")
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    table.add_row("T1", text)
    out = io.StringIO()
    console = SafeConsole()
    console.file, console.width = out, width
    console.print(table)
    console.print(text, style="red")
    shown = out.getvalue()

    assert is_plain(shown)
    assert max(map(cell_len, shown.split("\n"))) <= width
    words = text.split("\n")[0]
    if "\\" not in words and words.isascii() and words.isprintable() and len(words) < width - 8:
        assert words in shown


@given(texts)
@example(HOSTILE)
def test_k22_a_room_on_a_terminal_shows_text_as_it_is(text):
    screen = TerminalRoomScreen()
    call = room_event(EventType.AGENT_CALL)
    reply = room_event(EventType.AGENT_RESPONSE, text)
    person = room_event(EventType.HUMAN_MESSAGE, text)
    notice = room_event(EventType.SYSTEM, text, NoticeKind.WARNING)

    def show():
        screen.event(call)
        for piece in (text[:50], text[50:]):
            screen.live(Live("text", piece), "1")
        for event in (notice, person, call, reply):
            screen.event(event)
        screen.note(text)
        screen._erase()

    assert is_plain(OURS.sub("", capture(show)))


READS = (
    ["status"], ["list"], ["show", "T1"], ["next", "--explain"], ["usage", "--by", "task"], ["log", "T1"],
    ["log", "board"], ["receipts", "T1"], ["replay", "T1"], ["diff", "T1"], ["comment", "T1"],
    ["usage", "--by", "run"], ["config"], ["today"], ["approvals", "check", HOSTILE], ["show", HOSTILE],
)  # fmt: skip
EXPORTS = (["export"], ["export", "--format", "csv"], ["export", "--format", "markdown"])
NO_JSON = (["config"], ["comment", "T1"])


def test_k22_every_command_prints_text_of_agents_and_people_as_text(person):
    """The agent asks, reports, writes and names a file with the text; the title has it too."""
    person.write("said.txt", HOSTILE.replace("\n", " ").replace("\x85", ""))
    person.agent(
        "cat >/dev/null; cp said.txt made.txt; cat said.txt; echo; cat said.txt >&2\n"
        'printf "<promise>PENDING: %s</promise>\\n" "$(head -c 300 said.txt)"'
    )
    person.commit()
    person.write("tasks.json", json.dumps([{"number": 1, "title": HOSTILE[:400], "body": HOSTILE}]))
    shown = [person.try_allstop("import", "tasks.json"), person.try_allstop("run")]
    person.allstop("add", HOSTILE[:400].replace("\n", " "), "--tag", "x[/x]")
    ids = [task["id"] for task in person.json("list")["tasks"]]
    for read in READS:
        read = [ids[0] if word == "T1" else word for word in read]
        shown.append(person.try_allstop(*read))
        if read not in NO_JSON:
            shown.append(person.try_allstop(*read, "--json"))
    shown += [person.try_allstop(*export) for export in EXPORTS]
    shown.append(person.try_allstop("stop", "--json"))

    for done in shown:
        assert is_plain(done.stdout), done.args[:3]
        assert is_plain(done.stderr), done.args[:3]
        assert "Traceback" not in done.stderr
    assert "evil.example" in shown[3].stdout, "the list shows the title"


def test_k22_b24_the_live_table_shows_brackets_as_they_are(person):
    person.agent(
        "cat >/dev/null; echo 'says [/y] [tag]'; sleep 2; date >>b.txt; echo '<promise>COMPLETE</promise>'",
        '[review]\nmode = "skip"\n[notify]\nsounds = false\n',
    )

    shown, code = person.at_terminal("run", "a [/x] title \x1b]52;c;aGk=\x07 [red]here")

    assert code == 0
    assert "says [/y] [tag]" in shown
    assert "a [/x] title [red]here" in shown
    assert is_plain(OURS.sub("", shown).replace("\r", ""))
