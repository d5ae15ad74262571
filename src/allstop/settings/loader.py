"""The loader: merges defaults, user file, repository file, environment variables and flags."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct, convert, to_builtins

from allstop.settings.consistency import inconsistencies
from allstop.settings.files.settings_file import parse, read_file
from allstop.settings.key_path import Document, dotted, is_set, table_at
from allstop.settings.model import Settings
from allstop.settings.origins import Origin, RepositoryFile, UserFile
from allstop.settings.problems import Fault, Problem, SettingsError, locate
from allstop.settings.repository_trust.accepted import is_trusted
from allstop.settings.repository_trust.sensitive import sensitive_part
from allstop.settings.repository_trust.withheld import LayerStack, TrustedLayer, Untrusted, withhold
from allstop.settings.schema import leaves, root
from allstop.settings.sources.environment import Environment
from allstop.settings.sources.flags import flags_layer
from allstop.settings.sources.layers import Layer, file_layer, merged, origin_of
from allstop.settings.sources.variables import variables_layer

FILE_NAME = "allstop.toml"


class Loaded(Struct, frozen=True, kw_only=True):
    settings: Settings
    origins: Mapping[str, Origin]
    """The origin of every key, by its dotted name."""
    notes: tuple[str, ...] = ()
    ignored_note: str = ""
    """The note about changes in the checkout's file that have no effect."""
    untrusted: tuple[Untrusted, ...] = ()
    """Settings of the repository's file that need trust and aren't in force."""
    sensitive: Document = {}
    """The sensitive part of the repository's file, which a person can trust."""


class Layers(Struct, frozen=True, kw_only=True):
    """The layers from the weakest to the strongest."""

    user: Layer
    project: Layer
    variables: Layer
    flags: Layer

    def all(self) -> tuple[Layer, ...]:
        return self.user, self.project, self.variables, self.flags


def load(
    environment: Environment,
    *,
    repository: Path | None = None,
    committed: bytes | None = None,
    flags: Mapping[str, object] | None = None,
) -> Loaded:
    """Load the settings.

    `committed` is the repository's file on the target branch. Without it, the file of the working
    copy is used.

    Raises:
        SettingsError: with all problems.
    """
    layers = _layers(environment, repository, committed, flags or {})
    if problems := _in_order(_problems(layers.all())):
        raise SettingsError(problems)
    if repository is None:
        return _loaded(layers.all(), ())
    sensitive = sensitive_part(layers.project.document)
    trusted = _trusted_layer(environment, repository, layers)
    in_force = (layers.user, trusted.layer, layers.variables, layers.flags)
    return _loaded(in_force, trusted.untrusted, sensitive)


def _layers(
    environment: Environment,
    repository: Path | None,
    committed: bytes | None,
    flags: Mapping[str, object],
) -> Layers:
    user_file = environment.user_file
    user = file_layer(user_file, read_file(user_file), UserFile)
    project = Layer() if repository is None else _project_layer(repository / FILE_NAME, committed)
    agents = (*table_at(user.document, ("agents",)), *table_at(project.document, ("agents",)))
    return Layers(
        user=user,
        project=project,
        variables=variables_layer(environment.variables, agents),
        flags=flags_layer(flags),
    )


def _project_layer(path: Path, committed: bytes | None) -> Layer:
    content = read_file(path) if committed is None else parse(committed)
    return file_layer(path, content, RepositoryFile)


def _problems(layers: tuple[Layer, ...]) -> Iterator[Problem]:
    """All problems, except those that only follow from another problem."""
    for layer in layers:
        yield from layer.problems
        yield from _held_out_in_repository(layer)
    if not all(layer.is_complete for layer in layers):
        return
    faulty = {path[:2] for layer in layers for path in layer.faulty}
    for fault in inconsistencies(merged(layer.document for layer in layers)):
        if fault.path[:2] not in faulty:
            yield locate(fault, origin_of(layers, fault.path))


def _held_out_in_repository(layer: Layer) -> Iterator[Problem]:
    """Agents read the repository's file, so what it names isn't held out."""
    path = ("verification", "held_out")
    if is_set(layer.document, path) and isinstance(layer.origins.get(path), RepositoryFile):
        message = f"{FILE_NAME} can't have it, because agents read that file"
        hint = "put it into your own settings file; `allstop config` shows its path"
        yield locate(Fault(path, message, hint), layer.origins[path])


def _in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Problems grouped by file and sorted by line."""
    by_file: dict[str, list[Problem]] = {}
    for problem in problems:
        by_file.setdefault(problem.file, []).append(problem)
    return [
        problem
        for file in by_file.values()
        for problem in sorted(file, key=lambda problem: problem.line or 0)
    ]


def _trusted_layer(environment: Environment, repository: Path, layers: Layers) -> TrustedLayer:
    if is_trusted(environment.trust_file, repository, layers.project.document):
        return TrustedLayer(layer=layers.project, untrusted=())
    return withhold(
        LayerStack(
            project=layers.project,
            weaker=(layers.user,),
            stronger=(layers.variables, layers.flags),
            home=environment.home,
            repository=repository,
        )
    )


def _loaded(
    layers: tuple[Layer, ...], untrusted: tuple[Untrusted, ...], sensitive: Document | None = None
) -> Loaded:
    settings = convert(merged(layer.document for layer in layers), Settings)
    paths = leaves(to_builtins(settings), root())
    return Loaded(
        settings=settings,
        origins={dotted(path): origin_of(layers, path) for path in paths},
        notes=tuple(_notes(settings, untrusted)),
        untrusted=untrusted,
        sensitive=sensitive or {},
    )


def _notes(settings: Settings, untrusted: tuple[Untrusted, ...]) -> Iterator[str]:
    if untrusted:
        keys = ", ".join(each.key for each in untrusted)
        yield f"These settings of {FILE_NAME} need your trust and aren't in force: {keys}. Run `allstop trust` to see and accept them."
    if settings.loop.agent and settings.loop.agent == settings.loop.fallback:
        yield "loop.fallback is the same agent as loop.agent, so there is no fallback."
    gate = settings.verification
    if any(check.report for check in gate.commands):
        yield "Reports aren't implemented: `report` has no effect, exit codes decide."
