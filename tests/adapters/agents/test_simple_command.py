"""K18: splitting plain command lines."""

import pytest

from allstop.adapters.agents.simple_command import literal_words


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("make install", ("make", "install")),
        ("grep 'a b' \"c d\"", ("grep", "a b", "c d")),
        ("make; rm -rf /", ()),
        ("echo $HOME", ()),
        ("cat <x", ()),
        ("ls *", ()),
        ("FOO=1 make", ()),
        ("echo `id`", ()),
        ("echo 'open", ()),
        ("a\nb", ()),
        ("", ()),
    ],
)
def test_k18_only_a_plain_command_has_words(command, words):
    """K18: a rule for `make` must not allow shell syntax after it."""
    assert literal_words(command) == words
