"""G10: a tunnel to an allowed host carries no connection to another host at the same address."""

import ssl
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.policy.tls_server_name import MAX_HELLO_BYTES, OtherHostError, ServerNameCheck
from support.cases import for_each
from support.tls_hello import hello_for


def passed(data, host="files.example", piece=None):
    check = ServerNameCheck(host)
    step = piece or len(data)
    return b"".join(check.feed(data[at : at + step]) for at in range(0, len(data), step))


def in_records(data, size):
    """The same message in several records."""
    pieces = [data[at : at + size] for at in range(5, len(data), size)]
    return b"".join(b"\x16\x03\x01" + len(each).to_bytes(2, "big") + each for each in pieces)


@for_each("newest", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_g10_a_connection_for_the_allowed_host_passes_as_it_is(newest):
    sent = hello_for("files.example", newest=newest) + b"more"
    other_case = sent.replace(b"files.example", b"FILES.example")

    assert [passed(sent, piece=size) for size in (None, 1, 7)] == [sent] * 3
    assert passed(other_case) == other_case


def test_g10_a_connection_in_several_records_is_read():
    sent = in_records(hello_for("files.example"), 30)

    assert passed(sent) == sent
    with pytest.raises(OtherHostError, match=r"for evil\.example"):
        passed(in_records(hello_for("evil.example"), 30), piece=1)


@for_each(
    "data",
    [
        hello_for("evil.example"),
        hello_for("www.files.example"),
        hello_for(None),  # none is named
        hello_for("files.example").replace(b"files.example", b"files\0example"),
        b"\x16\x03\x01\x00\x05\x02\x00\x00\x01\x00",  # no greeting
        b"\x16\x03\x01\x00\x04\x01\x00\x00\x00",  # an empty one
        b"\x16\x03\x01\x00\x00" * MAX_HELLO_BYTES,  # one that never ends
        b"\x16\x03\x01\x00\x02\x01\x00\x17\x03\x03\x00\x00",  # one that breaks off
    ],
)
def test_g10_a_connection_for_another_host_or_none_is_refused(data):
    for piece in (None, 1000):
        with pytest.raises(OtherHostError):
            passed(data, piece=piece)


def test_g10_other_protocols_pass():
    sent = b"SSH-2.0-client\r\n" + hello_for("evil.example")

    assert passed(sent, piece=3) == sent


@given(st.binary(max_size=300), st.integers(0, 300), st.integers(1, 50))
def test_g10_no_bytes_break_the_reader(noise, at, piece):
    """G10: what passes is what was sent, or it is refused."""
    real = hello_for("files.example")
    sent = real[:at] + noise + real[at:]
    with suppress(OtherHostError):
        assert sent.startswith(passed(sent, piece=piece))
