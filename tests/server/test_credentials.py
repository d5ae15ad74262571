"""K22: the token, sign-in keys that work once, and the cookie."""

import stat

import pytest

from allstop.app.project import FOLDER
from allstop.core.errors import AllstopError
from allstop.server.access.admission import Request, allowed_names, cookies
from allstop.server.access.credentials import KEY_MINUTES, OneTimeKeys, Token, load_or_create_token
from allstop.server.access.listen_address import check_tls
from allstop.settings.model.machine import Server
from support.control_room import ControlRoom

PAGE = {"Accept": "text/html,*/*", "Authorization": None}


def test_trust_1_the_token_has_128_bits_and_is_kept_for_oneself(tmp_path):
    token = load_or_create_token(tmp_path / "state" / "token")

    assert len(token.text) >= 43  # 256 bits
    assert stat.S_IMODE((tmp_path / "state" / "token").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
    assert load_or_create_token(tmp_path / "state" / "token").text == token.text


def test_a_token_that_others_could_read_is_replaced(tmp_path):
    before = load_or_create_token(tmp_path / "token").text
    (tmp_path / "token").chmod(0o644)

    after = load_or_create_token(tmp_path / "token").text

    assert after != before


@pytest.mark.parametrize("text", ["", "short", "\xff" * 40])
def test_nobody_gets_in_by_a_token_that_is_none(tmp_path, text):
    (tmp_path / "token").write_text(text, encoding="latin-1")
    token = Token(tmp_path / "token")

    assert not token.is_token(text)
    assert not token.is_token("")
    assert not token.is_cookie(token.cookie)


def test_a_changed_token_counts_at_once(tmp_path):
    token = load_or_create_token(tmp_path / "token")
    old, old_cookie = token.text, token.cookie
    (tmp_path / "new").write_text("B" * 43 + "\n")
    (tmp_path / "new").replace(tmp_path / "token")

    assert token.is_token("B" * 43)
    assert not token.is_token(old)
    assert not token.is_cookie(old_cookie)


def test_for_listeners_a_changed_token_counts_at_the_next_batch(tmp_path):
    token = load_or_create_token(tmp_path / "token")
    old = token.text_at(1)
    (tmp_path / "new").write_text("B" * 43 + "\n")
    (tmp_path / "new").replace(tmp_path / "token")

    assert token.text_at(1) == old
    assert token.text_at(2) == "B" * 43


def test_a_listener_with_the_new_token_stays(tmp_path):
    token = load_or_create_token(tmp_path / "token")
    token.text_at(1)
    (tmp_path / "new").write_text("B" * 43 + "\n")
    (tmp_path / "new").replace(tmp_path / "token")

    assert token.text == token.text_at(1) == "B" * 43


def test_a_key_opens_the_door_once():
    keys = OneTimeKeys()
    key, other = keys.make(), keys.make()

    assert not keys.use("wrong")
    assert keys.use(key)
    assert not keys.use(key)
    assert keys.use(other)


def test_several_cookies_may_have_one_name():
    request = Request("GET", "/", "", [("cookie", "a=1; b=2"), ("cookie", "a=3")])

    assert cookies(request, "a") == ["1", "3"]
    assert cookies(request, "b") == ["2"]


def test_a_browser_leaves_the_usual_port_away():
    assert "localhost" in allowed_names(["localhost"], 80).hosts
    assert "https://localhost" in allowed_names(["localhost"], 443, "https").origins
    assert "localhost" not in allowed_names(["localhost"], 7373).hosts


@pytest.mark.parametrize(
    "settings",
    [
        Server(host="0.0.0.0"),
        Server(host="::"),
        Server(host="192.168.1.2"),
        Server(host="example.org"),
        Server(host="0.0.0.0", tls_cert="cert.pem"),
        Server(host="0.0.0.0", tls_cert="/nowhere/cert.pem", tls_key="/nowhere/key.pem"),
    ],
)
def test_trust_11_other_machines_are_not_let_near_without_tls(settings):
    with pytest.raises(AllstopError):
        check_tls(settings)


@pytest.mark.parametrize(
    "settings",
    [
        Server(),
        Server(host="localhost"),
        Server(host="::1"),
        Server(host="0.0.0.0", behind_proxy=True),
    ],
)
def test_trust_11_loopback_and_what_a_proxy_covers_are_fine(settings):
    check_tls(settings)


def test_trust_11_up_says_so_and_does_not_listen(tmp_path):
    from support.person import at_home

    person = at_home(tmp_path)

    said = person.refuses("--set", "server.host=0.0.0.0", "up", "--port", "0")

    assert "TLS is not set up" in said
    assert "behind_proxy" in said
    person.close()


class TestLink:
    def test_trust_1_the_link_gives_a_cookie_once_and_its_address_is_left(self, room):
        path = room.link.removeprefix(f"http://{room.host}")

        first = room.ask("GET", path, headers=PAGE)
        again = room.ask("GET", path, headers=PAGE)

        assert first.status == 303
        assert first.headers["location"] == "/"
        cookie = first.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert room.token.lower() not in cookie
        assert first.headers["referrer-policy"] == "no-referrer"
        assert again.status == 401
        assert b"allstop up --open" in again.body
        assert "set-cookie" not in again.headers

    def test_the_cookie_opens_every_door_for_our_own_page(self, room):
        cookie = self._let_in(room)
        own = {"Cookie": cookie, "Authorization": None, "Origin": f"http://{room.host}"}

        assert room.ask("GET", "/", headers={**own, "Accept": "text/html"}).status == 200
        assert room.get("/runs", headers=own).status == 200
        assert room.post("/runs/all/commands", {"command": "pause"}, headers=own).status == 200

    def test_trust_3_with_the_cookie_alone_a_change_needs_our_own_origin(self, room):
        cookie = self._let_in(room)

        without = room.post("/allstop", headers={"Cookie": cookie, "Authorization": None})
        foreign = {"Cookie": cookie, "Authorization": None, "Origin": "http://evil.example"}

        assert (without.status, without.error) == (403, "no_origin")
        assert room.post("/allstop", headers=foreign).status == 403
        assert room.read("/hold")["hold"] == "running"

    def test_a_browser_that_looks_ahead_does_not_use_the_key_up(self, room):
        path = room.link.removeprefix(f"http://{room.host}")

        ahead = room.ask("GET", path, headers={**PAGE, "Sec-Purpose": "prefetch"})

        assert ahead.status == 401
        assert room.ask("GET", path, headers=PAGE).status == 303

    def test_a_new_token_shuts_everybody_out_and_ends_their_streams(self, room):
        cookie = self._let_in(room)
        token = room.person.repository / FOLDER / "token"
        with room.listen() as stream:
            stream.next()

            token.write_text("C" * 43 + "\n")

            headers = {"Cookie": cookie, "Authorization": None}
            assert room.ask("GET", "/", headers=headers).status == 401
            room.person.allstop("add", "something")  # makes the stream speak
            assert stream.next() is None
        assert room.get("/runs").status == 200  # with the new one

    def test_another_up_prints_a_new_link_to_the_one_that_is_open(self, room):
        said = room.person.allstop("up", "--no-open")

        assert f"http://{room.host}/?key=" in said
        path = said.split(f"http://{room.host}")[-1].split()[0]
        assert room.ask("GET", path, headers=PAGE).status == 303

    def test_status_says_where_the_control_room_is(self, room):
        assert f"http://{room.host}" in room.person.allstop("status")
        room.close()
        assert "control room" not in room.person.allstop("status")

    def test_trust_1_neither_the_key_nor_the_token_is_in_any_log(self, room):
        key = room.link.partition("key=")[2]
        room.ask("GET", f"/?key={key}", headers=PAGE)
        room.get("/nowhere")
        room.close()

        for file in (room.person.repository / FOLDER / "logs").rglob("*"):
            assert key not in file.read_text()
            assert room.token not in file.read_text()

    def _let_in(self, room):
        path = room.link.removeprefix(f"http://{room.host}")
        return room.ask("GET", path, headers=PAGE).headers["set-cookie"].partition(";")[0]


def test_a_port_that_is_taken_is_said(room, tmp_path):
    from support.person import at_home

    other = at_home(tmp_path / "other")

    said = other.refuses("up", "--port", str(room.port))

    assert f"another program listens on 127.0.0.1 port {room.port}" in said
    assert "--port 0" in said
    other.close()


def test_the_room_can_be_opened_again_after_a_kill(room):
    room.kill()

    room.open()

    assert isinstance(room, ControlRoom)
    assert room.read("/healthz")["hold"] == "running"


def test_k22_a_sign_in_link_works_for_some_minutes_only():
    now = 0.0
    keys = OneTimeKeys(lambda: now)
    first, second = keys.make(), keys.make()
    now = KEY_MINUTES * 60 - 1
    assert keys.use(first)
    now += 2
    assert not keys.use(second)
