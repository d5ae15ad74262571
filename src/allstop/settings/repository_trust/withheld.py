"""Withheld settings: the parts of a repository's file that need trust and aren't in force."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct, structs

from allstop.settings.key_path import Document, dotted, is_set, table_at, value_at
from allstop.settings.origins import RepositoryFile, source_of
from allstop.settings.repository_trust.sensitive import SENSITIVE, Request, occurrences
from allstop.settings.schema import default_at, kind_at, merges
from allstop.settings.sources.layers import Layer, merged, origin_of

HINT = "run `allstop trust` to accept it"


class Untrusted(Struct, frozen=True, kw_only=True):
    """A setting in the repository's file that isn't in force."""

    key: str
    file: str
    line: int
    why: str
    hint: str = HINT

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.key}: {self.why} ({self.hint})"


class LayerStack(Struct, frozen=True, kw_only=True):
    """The repository's layer, the weaker and stronger layers, and the folders of this machine."""

    project: Layer
    weaker: tuple[Layer, ...] = ()
    stronger: tuple[Layer, ...] = ()
    home: Path
    repository: Path


class TrustedLayer(Struct, frozen=True, kw_only=True):
    layer: Layer
    untrusted: tuple[Untrusted, ...]


def withhold(stack: LayerStack) -> TrustedLayer:
    """The repository's layer without the settings that need trust."""
    without = merged(layer.document for layer in (*stack.weaker, *stack.stronger))
    withheld = dict(_withheld(stack, without))
    untrusted = [_untrusted(stack, path, why) for path, why in withheld.items()]
    document = _without(stack.project.document, withheld)
    return TrustedLayer(
        layer=structs.replace(stack.project, document=document),
        untrusted=tuple(sorted(untrusted, key=lambda each: (each.line, each.key))),
    )


_MAKES_IT_YOURS = (
    *("driver", "command", "base_url", "api_key_env", "api_key_file", "api_key_command"),
    *("account", "env", "pass_env"),
)


def _withheld(stack: LayerStack, without: Document) -> Iterator[tuple[tuple[str, ...], str]]:
    for sensitive in SENSITIVE:
        for path, value in occurrences(stack.project.document, sensitive.key):
            if _is_overridden(stack, path):
                continue
            if sensitive.needs_trust(_request(stack, without, path, value)):
                yield path, sensitive.why


def _request(stack: LayerStack, without: Document, path: tuple[str, ...], value: object) -> Request:
    agent = path[:2] if path[0] == "agents" else ()
    yours = table_at(without, agent) if agent else {}
    driver = yours.get("driver") or value_at(stack.project.document, (*agent, "driver"))
    return Request(
        value=value,
        without=value_at(without, path, default_at(path)),
        driver=driver if isinstance(driver, str) else None,
        is_yours=any(key in yours for key in _MAKES_IT_YOURS),
        person=without,
        home=stack.home,
        repository=stack.repository,
    )


def _is_overridden(stack: LayerStack, path: tuple[str, ...]) -> bool:
    kind = kind_at(path)
    if kind is None or merges(kind):
        return False
    return any(is_set(each.document, path) for each in stack.stronger)


def _untrusted(stack: LayerStack, key: tuple[str, ...], why: str) -> Untrusted:
    origin = origin_of((stack.project,), key)
    line = origin.line if isinstance(origin, RepositoryFile) else 1
    return Untrusted(key=dotted(key), file=source_of(origin), line=line, why=why)


def _without(document: Document, paths: Iterable[tuple[str, ...]]) -> Document:
    gone = set(paths)

    def copy(table: Document, path: tuple[str, ...]) -> Document:
        return {
            name: copy(value, (*path, name)) if isinstance(value, dict) else value
            for name, value in table.items()
            if (*path, name) not in gone
        }

    return copy(document, ())
