"""The settings in force here: defaults, the person's file, the repository's, variables, flags."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct, convert, to_builtins

from allstop.settings.consistency import disagreements, unavailable
from allstop.settings.files.settings_file import parse, read_file
from allstop.settings.key_path import Document, dotted, table_at
from allstop.settings.model import Settings
from allstop.settings.origins import Origin, RepositoryFile, UserFile
from allstop.settings.problems import Problem, SettingsError, locate
from allstop.settings.repository_trust.accepted import is_trusted
from allstop.settings.repository_trust.sensitive import sensitive_part
from allstop.settings.repository_trust.withheld import Kept, Sides, Untrusted, withhold
from allstop.settings.schema import leaves, root
from allstop.settings.sources.environment import Environment
from allstop.settings.sources.flags import flags_layer
from allstop.settings.sources.layers import Layer, file_layer, merged, origin_of
from allstop.settings.sources.variables import variables_layer

FILE_NAME = "allstop.toml"


class Loaded(Struct, frozen=True, kw_only=True):
    settings: Settings
    origins: Mapping[str, Origin]
    """Of every key with a value of its own, by its dotted name."""
    notes: tuple[str, ...] = ()
    uncounted: str = ""
    """The one of them that says that something in the checkout's file does not count."""
    untrusted: tuple[Untrusted, ...] = ()
    """What the repository's file asks for and doesn't get."""
    asked: Document = {}
    """The sensitive part of the repository's file: what there is to trust."""


class Layers(Struct, frozen=True, kw_only=True):
    """From the weakest to the strongest."""

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
    """Raises SettingsError with everything that is wrong.

    `committed` is the repository's file as the target branch has it; without it the file of the
    working copy counts.
    """
    layers = _layers(environment, repository, committed, flags or {})
    if problems := _in_order(_problems(layers.all())):
        raise SettingsError(problems)
    if repository is None:
        return _loaded(_there(layers.all()), ())
    asked = sensitive_part(layers.project.document)
    kept = _kept(environment, repository, layers)
    in_force = (layers.user, kept.layer, layers.variables, layers.flags)
    return _loaded(_there(in_force), kept.untrusted, asked)


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
    """Nothing is reported that only follows from another problem."""
    for layer in layers:
        yield from layer.problems
    if not all(layer.is_complete for layer in layers):
        return
    faulty = {path[:2] for layer in layers for path in layer.faulty}
    for fault in disagreements(merged(layer.document for layer in layers)):
        if fault.path[:2] not in faulty:
            yield locate(fault, origin_of(layers, fault.path))


def _there(in_force: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """The same, unless they want what is named and does not exist: nothing else may take its place."""
    document = merged(layer.document for layer in in_force)
    faults = unavailable(document)
    if problems := _in_order(locate(each, origin_of(in_force, each.path)) for each in faults):
        raise SettingsError(problems)
    return in_force


def _in_order(problems: Iterable[Problem]) -> list[Problem]:
    """File by file, as they were met, and from top to bottom."""
    by_file: dict[str, list[Problem]] = {}
    for problem in problems:
        by_file.setdefault(problem.file, []).append(problem)
    return [
        problem
        for file in by_file.values()
        for problem in sorted(file, key=lambda problem: problem.line or 0)
    ]


def _kept(environment: Environment, repository: Path, layers: Layers) -> Kept:
    if is_trusted(environment.trust_file, repository, layers.project.document):
        return Kept(layer=layers.project, untrusted=())
    return withhold(
        Sides(
            asked=layers.project,
            weaker=(layers.user,),
            stronger=(layers.variables, layers.flags),
            home=environment.home,
            repository=repository,
        )
    )


def _loaded(
    layers: tuple[Layer, ...], untrusted: tuple[Untrusted, ...], asked: Document | None = None
) -> Loaded:
    settings = convert(merged(layer.document for layer in layers), Settings)
    paths = leaves(to_builtins(settings), root())
    return Loaded(
        settings=settings,
        origins={dotted(path): origin_of(layers, path) for path in paths},
        notes=tuple(_notes(settings, untrusted)),
        untrusted=untrusted,
        asked=asked or {},
    )


def _notes(settings: Settings, untrusted: tuple[Untrusted, ...]) -> Iterator[str]:
    if untrusted:
        keys = ", ".join(each.key for each in untrusted)
        yield f"{FILE_NAME} asks for what needs your trust, so it is not in force: {keys}. Run `allstop trust` to see and accept it."
    if settings.loop.agent and settings.loop.agent == settings.loop.fallback:
        yield "loop.fallback is loop.agent itself: there is nothing to fall back to."
    unset = Settings()
    if settings.sprint != unset.sprint or settings.budget.sprint != unset.budget.sprint:
        yield "there are no sprints yet: nothing reads [sprint] or [budget.sprint]."
    gate = settings.verification
    if gate.mutation:
        yield "no lines are broken on purpose yet: nothing reads [verification] mutation."
    if any(check.report for check in gate.commands):
        yield "commands are judged by their exit codes alone: nothing reads `report` yet."
