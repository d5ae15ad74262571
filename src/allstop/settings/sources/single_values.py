"""Settings given one at a time, by environment variables or flags."""

from collections.abc import Iterable

from msgspec import Struct

from allstop.settings.key_path import Document, KeyPath, put
from allstop.settings.origins import Flag, Origin, Variable, describe_origin
from allstop.settings.problems import Fault, Problem, locate
from allstop.settings.sources.layers import Layer, merged
from allstop.settings.validation import check


class GivenValue(Struct, frozen=True, kw_only=True):
    origin: Variable | Flag
    key: tuple[str, ...]
    value: object


def values_layer(given: Iterable[GivenValue], problems: Iterable[Problem]) -> Layer:
    """Validate each value alone, so that one problem can't hide another."""
    documents: list[Document] = []
    origins: dict[KeyPath, Origin] = {}
    found = list(problems)
    faulty: set[KeyPath] = set()
    for each in given:
        document: Document = {}
        put(document, each.key, each.value)
        checked = check(document)
        documents.append(checked.document)
        found.extend(locate(fault, each.origin) for fault in checked.faults)
        faulty |= {fault.path for fault in checked.faults}
        if each.key in origins:
            found.append(_given_twice(each, origins[each.key]))
        origins |= {each.key[:length]: each.origin for length in range(1, len(each.key) + 1)}
    return Layer(
        document=merged(documents),
        origins=origins,
        problems=tuple(found),
        faulty=frozenset(faulty),
    )


def _given_twice(each: GivenValue, first: Origin) -> Problem:
    message = f"duplicates {describe_origin(first)}; remove one of them"
    return locate(Fault(each.key, message), each.origin)
