"""G10: which hosts a rule allows, by name and port, and what else is no host."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.policy.allowed_hosts import (
    RULE_PATTERN,
    Place,
    is_allowed,
    missing_rule,
    named_without_proxy,
    parse_place,
)
from support.cases import for_each

RULES = ("files.example", "*.cdn.example", "git.example:8443")


@pytest.mark.parametrize(
    ("authority", "allowed"),
    [
        ("files.example:443", True),
        ("FILES.Example.:443", True),
        ("files.example:80", False),
        ("files.example:22", False),
        ("a.files.example:443", False),
        ("notfiles.example:443", False),
        ("files.example.evil.example:443", False),
        ("a.cdn.example:443", True),
        ("a.b.cdn.example:443", True),
        ("cdn.example:443", False),
        ("acdn.example:443", False),
        ("git.example:8443", True),
        ("git.example:443", False),
    ],
)
def test_g10_a_rule_allows_a_name_and_a_port(authority, allowed):
    assert is_allowed(parse_place(authority), RULES) is allowed


@for_each(
    "authority",
    [
        "127.0.0.1:443", "2130706433:443", "0x7f.0x1:443", "0177.1:443", "127.1:443", "[::1]:443",
        "::1:443", "localhost:443", "example:443", "files.example", "files.example:", ":443",
        "files.example:0", "files.example:65536", "files.example:+443", "files.example:44\uff13",
        "files.example:443 ", "files.example:443/", "user@files.example:443", "files..example:443",
        ".files.example:443", "files.example..:443", "-a.example:443", "a-.example:443", "*.example:443",
        "files.exämple:443", "files.example\r\n:443", "files.example%00:443", "a" * 64 + ".example:443",
        ".".join(["a" * 60] * 5) + ".example:443", "files.1:443", "1.2.3.4.:443",
    ],
)  # fmt: skip
def test_g10_anything_else_is_no_host(authority):
    assert parse_place(authority) is None


@given(st.text(max_size=40))
def test_g10_what_is_taken_for_a_host_is_only_letters_and_digits(text):
    place = parse_place(text)

    assert place is None or re.fullmatch(r"[a-z0-9.-]+", place.host)


@pytest.mark.parametrize(
    ("rule", "is_valid"),
    [
        ("files.example", True),
        ("*.files.example", True),
        ("files.example:8443", True),
        ("*", False),
        ("*.example", False),
        ("files.*.example", False),
        ("10.0.0.1", False),
        ("https://files.example", False),
        ("files.example/x", False),
        ("files.example\n", False),
        ("localhost", False),
    ],
)
def test_g10_a_rule_is_a_name_with_a_dot(rule, is_valid):
    assert bool(re.search(RULE_PATTERN, rule)) is is_valid


def test_g10_a_refusal_says_what_to_add():
    said = missing_rule(Place("files.example", 443), "verification")

    assert said == (
        'files.example could not be reached: add "files.example" to hosts in [verification]'
        " of allstop.toml"
    )
    assert 'add "files.example:8443"' in missing_rule(Place("files.example", 8443), "sandbox")


def test_g10_a_program_that_uses_no_proxy_is_told_apart():
    assert "HTTPS_PROXY" in named_without_proxy("files.example", RULES, "sandbox")
    assert "add" in named_without_proxy("other.example", RULES, "sandbox")
