"""Base classes and value types of the settings sections."""

from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from allstop.core import number_bounds
from allstop.policy.allowed_hosts import RULE_PATTERN


class Table(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table that layers merge key by key."""


class Entry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table that a stronger layer replaces as a whole.

    A plain string in place of the table sets the key named by `shorthand`.
    """

    shorthand: ClassVar[str | None] = None


def doc(description: str, *, ge: float | None = None, le: float | None = None) -> Meta:
    """The description of a setting, which people are shown, and the bounds of its value."""
    return Meta(description=description, ge=ge, le=le)


def expecting(description: str, pattern: str) -> Meta:
    """A pattern and the description of it that errors show."""
    return Meta(pattern=pattern, extra={"expected": description})


Count = Annotated[int, Meta(ge=1, le=number_bounds.COUNT)]
Quantity = Annotated[int, Meta(ge=0, le=number_bounds.COUNT)]
Days = Annotated[int, Meta(ge=0, le=36_500)]
Seconds = Annotated[float, Meta(gt=0, le=31_536_000)]
Minutes = Annotated[float, Meta(gt=0, le=number_bounds.MINUTES)]
Milliseconds = Annotated[int, Meta(ge=0, le=86_400_000)]
Dollars = Annotated[float, Meta(gt=0, le=number_bounds.DOLLARS)]
Price = Annotated[float, Meta(ge=0, le=1_000_000)]
Share = Annotated[float, Meta(ge=0, le=1)]
HostRule = Annotated[
    str,
    expecting(
        'a host such as "files.example.com", "*.example.com" or "example.com:8443"', RULE_PATTERN
    ),
]
Text = Annotated[str, Meta(min_length=1, extra={"expected": "a non-empty string"})]

Name = Annotated[
    str,
    expecting(
        "a name of letters, digits, '.', '_' and '-'", r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$(?!\n)"
    ),
]
VariableName = Annotated[
    str, expecting("the name of an environment variable", r"^[A-Za-z_][A-Za-z0-9_]*$(?!\n)")
]
OptionalVariableName = Annotated[
    str,
    expecting(
        "the name of an environment variable, never the key itself",
        r"^(?:[A-Za-z_][A-Za-z0-9_]*)?$(?!\n)",
    ),
]
Branch = Annotated[
    str, expecting("the name of a branch", r"^(?!-)(?!.*\.\.)[^\s~^:?*\[\\\x00-\x1f\x7f]+$(?!\n)")
]
WebAddress = Annotated[
    str,
    expecting("an address that begins with http:// or https://", r"^https?://[^\s/]+\S*$(?!\n)"),
]
StoreAddress = Annotated[
    str, expecting('"sqlite" or "postgresql://…"', r"^(?:sqlite|postgres(?:ql)?://\S+)$(?!\n)")
]
Hours = Annotated[
    str,
    expecting(
        "two times of day such as 22:00-07:00",
        r"^(?:[01]?\d|2[0-3]):[0-5]\d-(?:[01]?\d|2[0-3]):[0-5]\d$(?!\n)",
    ),
]
ZoneName = Annotated[
    str,
    expecting("a time zone such as Europe/Berlin", r"^(?!.*\.\.)[A-Za-z][A-Za-z0-9_+/-]*$(?!\n)"),
]
OwnPath = Annotated[
    str, expecting("a path that begins with / or ~/", r"^(?:~/|/)[^\x00-\x1f]+$(?!\n)")
]
InsidePath = Annotated[
    str,
    expecting(
        "a path or pattern inside the repository, without '..' and not in .git",
        r"^(?![/~])(?!(?:.*/)?\.\.(?:/|$))(?!(?:\./)*\.[gG][iI][tT](?:/|$)).+$(?!\n)",
    ),
]
