"""P11, U4: alerts delivered for real: by loopback HTTP, apprise, a desktop program, the terminal bell."""

import io
import socket
from datetime import UTC, datetime, timedelta

import anyio
import pytest
from msgspec.structs import replace

from allstop.adapters.notify import Bell, Delivery, Service, Webhook, deliver, find_desktop
from allstop.adapters.notify.delivery import MAX_WAITING
from allstop.adapters.notify.webhook import MAX_BYTES
from allstop.addresses.address_policy import parse
from allstop.core.ids import RunId
from allstop.views.alert_rate import MAX_ALERTS
from allstop.views.alerts import Alert, Level
from support.http_listener import listening

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
ALERT = Alert(
    level=Level.NEEDS_YOU, title="t1 waits for you", text="asks: why?", run=RunId("t1"), at=NOON
)


@pytest.fixture
def anyio_backend():
    return "asyncio"


class Noon:
    def now(self):
        return NOON


@pytest.fixture
def listener():
    with listening() as here:
        yield here


# --- webhooks ---


async def test_p11_a_webhook_gets_the_alert_as_json(listener):
    assert await deliver(Webhook(listener.url(), private=True), ALERT) == ""

    assert listener.got == [
        (
            "/hook/secret-path",
            {
                "level": "needs_you",
                "title": "t1 waits for you",
                "text": "asks: why?",
                "run": "t1",
                "at": "2030-01-01T12:00:00Z",
            },
        )
    ]


async def test_p11_a_webhook_is_asked_for_by_the_name_in_its_address(listener):
    assert await deliver(Webhook(listener.url(host="localhost"), private=True), ALERT) == ""

    assert listener.hosts == [f"localhost:{listener.port}"]


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "127.1", "[::ffff:127.0.0.1]"]
)
async def test_p11_this_machine_is_not_told_unless_a_person_allows_it(listener, host):
    why = await deliver(Webhook(listener.url(host=host)), ALERT)

    assert why.startswith("nothing is sent to ")
    assert why.endswith("`private = true` in [notify] allows it")
    assert listener.got == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433"])
async def test_p11_nor_through_apprise(listener, host):
    why = await deliver(Service(listener.url("json", host=host)), ALERT)

    assert why.startswith("nothing is sent to ")
    assert listener.got == []


CORE = ["169.254.169.254", "168.63.129.16", "0.0.0.0"]


@pytest.mark.parametrize("host", [*CORE, "[fd00:ec2::254]", "[::ffff:169.254.169.254]"])
async def test_p11_a_clouds_core_is_never_told(host):
    why = await deliver(Webhook(f"http://{host}/latest", private=True), ALERT)

    assert why.startswith("nothing is sent to ")


@pytest.mark.parametrize(
    "url", [*(f"json://{host}/" for host in CORE), "mailto://a:b@x.example?smtp=169.254.169.254"]
)
async def test_p11_a_clouds_core_is_never_told_through_apprise(url):
    assert (await deliver(Service(url, private=True), ALERT)).startswith("nothing is sent to ")


async def test_p11_a_redirect_is_not_followed(listener):
    listener.status, listener.headers = 307, {"location": listener.url(path="/elsewhere")}

    why = await deliver(Webhook(listener.url(), private=True), ALERT)

    assert why == "the webhook redirects (307); redirects are not followed"
    assert [path for path, _ in listener.got] == ["/hook/secret-path"]


def rebinding(*answers):
    """A resolver that says something else each time, as one of somebody who means harm does."""
    waiting = list(answers)
    return lambda host: [parse(address) for address in waiting.pop(0)]


async def test_p11_a_name_is_looked_up_once_and_that_address_is_connected_to(listener):
    """A second look would lead to an address that was never checked."""
    resolve = rebinding(["127.0.0.1"], ["169.254.169.254"])
    url = listener.url(host="hook.example")

    assert await deliver(Webhook(url, private=True, resolve=resolve), ALERT) == ""

    assert listener.hosts == [f"hook.example:{listener.port}"]
    assert resolve("hook.example") == [parse("169.254.169.254")]


@pytest.mark.parametrize("kind", [Webhook, Service])
async def test_p11_one_bad_address_among_good_ones_refuses_the_name(kind):
    resolve = rebinding(["93.184.215.14", "127.0.0.1"])
    url = "http://hook.example/" if kind is Webhook else "json://hook.example/"

    why = await deliver(kind(url, resolve=resolve), ALERT)

    assert why.startswith("nothing is sent to 127.0.0.1: ")


async def test_p11_a_long_answer_and_a_bad_one_are_failures(listener):
    webhook = Webhook(listener.url(), private=True)

    listener.body = b"x" * (MAX_BYTES + 1)
    assert await deliver(webhook, ALERT) == "the answer has more than 64 kB"
    listener.body, listener.status = b"", 500
    assert await deliver(webhook, ALERT) == "the webhook answered 500"


async def test_p11_nobody_there_and_nonsense_are_failures(listener):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    gone = Webhook(f"http://127.0.0.1:{port}/secret", private=True)
    assert await deliver(gone, ALERT) == "the webhook can't be reached (ConnectError)"
    assert await deliver(Webhook("http:///x"), ALERT) == "the address has no host"
    unknown = Webhook("http://no.such.host.invalid/")
    assert await deliver(unknown, ALERT) == "host no.such.host.invalid was not found"


async def test_p11_a_slow_webhook_is_given_up_in_time(listener):
    listener.wait_s = 20.0

    why = await deliver(Webhook(listener.url(), private=True), ALERT)

    assert "5 s" in why


# --- apprise ---


async def test_p11_apprise_delivers_for_real(listener):
    assert await deliver(Service(listener.url("json"), private=True), ALERT) == ""

    [(path, got)] = listener.got
    assert path == "/hook/secret-path"
    assert (got["title"], got["message"], got["type"]) == (ALERT.title, ALERT.text, "warning")


HOSTILE = (
    "<img src=//evil.example/x> [ok](https://evil.example) *b* @here <!channel> me@home.example"
)


@pytest.mark.parametrize(
    ("form", "shown"),
    [
        ("text", "<img src=//evil.example/x> [ok](https://evil.example) *b* "),
        ("html", "&lt;img src=//evil.example/x&gt; [ok](https://evil.example) *b* "),
        ("markdown", r"<img src\=//evil\.example/x\> \[ok\]\(https://evil\.example\) \*b\* "),
    ],
)
async def test_p11_k22_an_agents_words_stay_words_in_mail_and_chats(listener, form, shown):
    """No picture is loaded, no link has another's name, and nobody is called by them."""
    hostile = replace(ALERT, text=HOSTILE)

    assert (
        await deliver(Service(f"{listener.url('json')}?format={form}", private=True), hostile) == ""
    )

    [(_, got)] = listener.got
    message = got["message"].replace("\N{NO-BREAK SPACE}", " ").replace("&nbsp;", " ")
    assert message.startswith(shown)
    assert "\N{FULLWIDTH COMMERCIAL AT}here (!channel" in message.replace("\\", "")
    assert message.replace("\\", "").endswith("me@home.example")


async def test_p11_apprise_follows_no_redirect_even_if_the_address_says_so(listener):
    listener.status, listener.headers = 307, {"location": listener.url(path="/elsewhere")}

    why = await deliver(Service(listener.url("json") + "?redirect=yes", private=True), ALERT)

    assert why == "apprise could not deliver it"
    assert {path for path, _ in listener.got} == {"/hook/secret-path"}


async def test_p11_an_address_that_apprise_does_not_know_is_said():
    assert await deliver(Service("nosuch://x"), ALERT) == "apprise doesn't support this address"


def test_k23_no_part_of_an_address_that_may_be_secret_is_in_a_name():
    assert Webhook("https://user:pass@hooks.example/T0/secret?k=v").name == "https://hooks.example"
    assert Service("slack://TokenA/TokenB").name == "slack://***"


# --- the desktop ---


@pytest.fixture
def desktop(tmp_path):
    """A notify-send that writes down what it is given."""

    def make(name="notify-send", text='printf "%s\\n" "$@" >"$HOME/said"; env >"$HOME/env"'):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
        path = f".:bin:{program.parent}:/usr/bin:/bin"
        return find_desktop({"PATH": path, "HOME": str(tmp_path), "OPENAI_API_KEY": "canary"})

    return make


async def test_u4_the_desktop_is_told_by_its_own_program(desktop, tmp_path):
    """Words are arguments: nothing in them is markup, an option or a command. K23: no key."""
    alert = Alert(
        level=Level.ERROR,
        title="-t1 failed; touch x",
        text='<b>bold</b> & $(touch y) "z"',
        run=RunId("t1"),
        at=NOON,
    )

    assert await deliver(desktop(), alert) == ""

    assert (tmp_path / "said").read_text().splitlines() == [
        "--app-name=allstop",
        "--urgency=normal",
        "--",
        "-t1 failed; touch x",
        '(b)bold(/b) + $(touch y) "z"',
    ]
    assert "canary" not in (tmp_path / "env").read_text()


async def test_u4_on_a_mac_the_words_are_arguments_of_a_script(desktop, tmp_path):
    assert await deliver(desktop("osascript"), ALERT) == ""

    assert (tmp_path / "said").read_text().splitlines()[-2:] == [ALERT.title, ALERT.text]


async def test_u4_a_desktop_program_that_fails_is_said(desktop):
    assert await deliver(desktop(text="exit 3"), ALERT) == "notify-send ended with code 3"


def test_u4_no_program_is_taken_from_the_folder_one_happens_to_be_in(tmp_path, monkeypatch):
    program = tmp_path / "notify-send"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)

    assert find_desktop({"PATH": f".::{tmp_path.name}"}) is None
    assert find_desktop({}) is None
    assert find_desktop({"PATH": f".:{tmp_path}"}) is not None


# --- the bell ---


async def test_u4_the_bell_rings_for_what_matters():
    terminal = io.StringIO()
    levels = [Level.INFO, Level.NEEDS_YOU, Level.ERROR, Level.DONE, Level.STOPPED]

    for level in levels:
        await Bell(terminal).tell(Alert(level=level, title="x", run=RunId("t1"), at=NOON))

    assert terminal.getvalue() == "\a" * 4


# --- the post ---


class Kept:
    """Keeps what it is told; may be slow, fail or break."""

    def __init__(self, name="kept", why="", wait_s=0.0, error=None):
        self.name = name
        self.told = []
        self._why, self._wait_s, self._error = why, wait_s, error

    async def tell(self, alert):
        await anyio.sleep(self._wait_s)
        if self._error:
            raise self._error
        self.told.append(alert.title)
        return self._why


def alert(number):
    return Alert(level=Level.ERROR, title=f"t{number}", run=RunId("x"), at=NOON)


def make_delivery(channels, tmp_path, shown=None, clock=None):
    show = shown.append if shown is not None else lambda line: None
    return Delivery(
        lambda: channels, tmp_path / "logs" / "notify.log", clock=clock or Noon(), show=show
    )


async def test_p11_one_that_hangs_keeps_nobody_waiting_neither_others_nor_the_end(tmp_path):
    slow, quick = Kept("slow", wait_s=3600), Kept("quick")
    async with make_delivery([slow, quick], tmp_path) as delivery:
        delivery.tell(alert(1))
        delivery.tell(alert(2))

    assert (slow.told, quick.told) == ([], ["t1", "t2"])


async def test_p11_a_failure_is_logged_and_shown_once(tmp_path):
    shown = []
    places = [Kept("one", why="it is full"), Kept("two", error=ValueError("sk-canary-secret"))]

    async with make_delivery(places, tmp_path, shown) as delivery:
        for number in range(4):
            delivery.tell(alert(number))

    log = (tmp_path / "logs" / "notify.log").read_text()
    assert sorted(shown) == ["notify one: it is full", "notify two: delivery failed (ValueError)"]
    assert len(log.splitlines()) == 2
    assert "canary" not in log


async def test_p11_after_a_flood_one_message_speaks_of_the_rest(tmp_path):
    kept = Kept()

    async with make_delivery([kept], tmp_path) as delivery:
        for number in range(MAX_ALERTS + 12):
            delivery.tell(alert(number))

    assert kept.told == [*(f"t{number}" for number in range(MAX_ALERTS)), "… and 12 more"]


class Later:
    """A clock by which the minute is nearly over when it is next asked."""

    def __init__(self):
        self.time = NOON

    def now(self):
        return self.time


async def test_p11_the_rest_is_told_as_soon_as_there_is_room(tmp_path):
    kept, clock = Kept(), Later()

    async with make_delivery([kept], tmp_path, clock=clock) as delivery:
        for number in range(MAX_ALERTS):
            delivery.tell(alert(number))
        clock.time += timedelta(seconds=59.9)
        delivery.tell(alert(98))
        delivery.tell(alert(99))
        with anyio.fail_after(5):
            while len(kept.told) <= MAX_ALERTS:
                await anyio.sleep(0.01)

        assert kept.told[MAX_ALERTS:] == ["… and 2 more"]


async def test_p11_a_place_that_takes_nothing_does_not_fill_the_memory(tmp_path):
    shown = []
    slow = Kept("slow", wait_s=3600)

    async with make_delivery([slow], tmp_path, shown) as delivery:
        for number in range(MAX_WAITING * 3):
            stop = Alert(level=Level.STOPPED, title=f"{number}", run=RunId("x"), at=NOON)
            delivery.tell(stop)

    assert shown == [f"notify slow: not sent: {MAX_WAITING} others are waiting"]
