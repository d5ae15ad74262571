"""K22: the server with TLS; without it, only this machine can connect."""

import http.client
import re
import socket
import ssl
import subprocess

import pytest

from support.person import at_home

LINK = re.compile(r"once: https://127\.0\.0\.1:(\d+)(/\?key=\S+)")


@pytest.fixture
def person(tmp_path):
    person = at_home(tmp_path)
    yield person
    person.close()


@pytest.fixture
def certificate(tmp_path):
    """For this machine by its loopback address, as people make one for a small network."""
    key, file = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "2", "-subj", "/CN=allstop", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", key, "-out", file],
        check=True,
        capture_output=True,
    )  # fmt: skip
    return file, key


def _up(person, *settings):
    flags = [word for setting in settings for word in ("--set", setting)]
    process = person.start(*flags, "up", "--port", "0", "--no-open")
    said = ""
    while not (found := LINK.search(said)):
        line = process.stdout.readline()
        assert line, f"it ended: {said}"
        said += line
    return int(found[1]), found[2]


def test_k22_it_is_served_by_tls_to_other_machines_too(person, certificate):
    file, key = certificate
    settings = ("server.host=0.0.0.0", f"server.tls_cert={file}", f"server.tls_key={key}")

    port, link = _up(person, *settings)

    trusting = ssl.create_default_context(cafile=file)
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=20, context=trusting)
    connection.request("GET", link, headers={"Accept": "text/html"})
    answer = connection.getresponse()
    answer.read()
    cookie = answer.headers["set-cookie"]
    assert answer.status == 303
    assert "Secure" in cookie
    assert "HttpOnly" in cookie
    connection.request("GET", "/api/v1/healthz", headers={"Cookie": cookie.partition(";")[0]})
    assert connection.getresponse().status == 200
    connection.close()


def test_k22_a_client_without_tls_gets_no_response(person, certificate):
    file, key = certificate
    port, _ = _up(person, f"server.tls_cert={file}", f"server.tls_key={key}")

    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        try:
            said = connection.recv(65536)
        except ConnectionResetError:
            said = b""

    assert b"HTTP/" not in said


def test_k22_without_tls_it_refuses_to_be_reached_by_others(person):
    said = person.refuses("--set", "server.host=0.0.0.0", "up", "--port", "0", "--no-open")

    assert "TLS is not set up" in said
    assert "tls_cert" in said


def test_k22_a_second_up_gets_a_link_from_one_with_a_certificate_of_its_own(person, certificate):
    file, key = certificate
    flags = ["--set", f"server.tls_cert={file}", "--set", f"server.tls_key={key}"]
    port, _ = _up(person, *flags[1::2])

    said = person.allstop(*flags, "up", "--no-open")

    assert re.search(rf"once: https://127\.0\.0\.1:{port}/\?key=\S+", said)


def test_k22_a_certificate_that_is_not_the_one_in_the_settings_is_told_in_words(
    person, certificate
):
    """The token is not sent to somebody who may be another."""
    file, key = certificate
    _up(person, f"server.tls_cert={file}", f"server.tls_key={key}")

    said = person.refuses("up", "--no-open")

    assert "refused a link" in said
    assert "certificate" in said


@pytest.mark.parametrize(
    ("settings", "host", "is_secure"),
    [
        ((), "127.0.0.1:{port}", False),
        (('server.hosts=["control.example"]',), "127.0.0.1:{port}", False),
        (('server.hosts=["control.example"]',), "control.example", True),
        (("server.behind_proxy=true",), "127.0.0.1:{port}", True),
    ],
)
def test_k22_behind_a_proxy_with_tls_the_cookie_goes_by_tls_only(person, settings, host, is_secure):
    flags = [word for setting in settings for word in ("--set", setting)]
    process = person.start(*flags, "up", "--port", "0", "--no-open")
    port, link = re.search(r"http://127\.0\.0\.1:(\d+)(/\?key=\S+)", _line(process)).groups()

    connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=20)
    connection.request("GET", link, headers={"Host": host.format(port=port)})
    answer = connection.getresponse()
    connection.close()

    assert answer.status == 303
    assert ("Secure" in answer.headers["set-cookie"]) is is_secure


def _line(process):
    while "once: " not in (line := process.stdout.readline()):
        assert line, "it ended"
    return line
