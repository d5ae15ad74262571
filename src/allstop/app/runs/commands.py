"""Telling a run something, whoever drives it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from allstop.adapters.journals.stop_file import StopFile
from allstop.app.runs.status import helm_of, record_of
from allstop.core import run as runs
from allstop.core.asks import Ask, match_answers
from allstop.core.commands import Answer, Command, Permit
from allstop.core.errors import AllstopError
from allstop.core.events import Commanded
from allstop.core.helm import Hold
from allstop.core.ids import HELM, RunId, root_of
from allstop.core.run import RunState
from allstop.engine.send import send_command
from allstop.ports import Entry

if TYPE_CHECKING:
    from allstop.app.project import Project


class CommandEffect(NamedTuple):
    driven: bool
    deferred: str = ""  # what becomes of it where nobody drives the run
    stopped: bool = False  # by an Allstop: no other brake counts until it is lifted


async def find_ask(project: Project, name: str, ask: str | None = None) -> Ask:
    """What a run's agent asks and nobody has answered: the one of that name, or the oldest.

    `name` is a run, a task, or both in one as in the inbox: RUN:ASK.

    Raises:
        AllstopError: there is no such question.
    """
    run, named = await split_run_and_ask(project, name)
    ask = ask or named or None
    recorded = await record_of(project, run)
    asks = runs.fold(recorded.pilot, recorded.events).asks
    if not asks:
        raise AllstopError(f"{run} asks nothing", "`allstop status` shows who waits for what")
    if ask is None:
        return next(iter(asks.values()))
    if ask not in asks:
        raise AllstopError(f"{run} has no question {ask!r}", f"it has: {', '.join(asks)}")
    return asks[ask]


async def split_run_and_ask(project: Project, name: str) -> tuple[str, str]:
    """A run and what it asks, from RUN or RUN:ASK; names of rooms have a colon of their own."""
    run, _, ask = name.rpartition(":")
    if not run or (project.has_store and await project.journal.read(RunId(name))):
        return name, ""
    return run, ask


async def refuse_if_stopped(project: Project) -> None:
    """Raises AllstopError while an Allstop for everything is in force."""
    if await is_stopped(project):
        raise AllstopError("Allstop is in force", "`allstop resume` lifts it")


async def is_stopped(project: Project) -> bool:
    stopped = project.has_store and (await helm_of(project)).hold is Hold.STOPPED
    return stopped or StopFile(project.folder / "STOP").exists()


def build_permit(ask: Ask, *, session: bool = False) -> Permit:
    """The command that allows it; with `session`, also the very same again.

    Raises:
        AllstopError: it can't be allowed so.
    """
    if ask.questions:
        raise AllstopError("this is a question, not a wish", 'answer it: allstop answer RUN "…"')
    why = _why_only_once(ask) if session else ""
    if why:
        raise AllstopError(f"this can be allowed once only: {why}", "allow it without --session")
    return Permit(ask=ask.id, allow=True, session=session)


def _why_only_once(ask: Ask) -> str:
    from allstop.policy.policy import not_coverable_reason

    if ask.kind != "command":
        return "" if ask.kind == "edit" else "nobody can say what it would be next time"
    return not_coverable_reason(ask.argv) if ask.argv else "it is more than plain words"


async def build_answer(project: Project, name: str, texts: tuple[str, ...]) -> Command:
    """The command that answers what is asked there.

    A tool's questions are answered while the agent waits; what it asked at the end of a turn
    becomes its next prompt.

    Raises:
        AllstopError: these are no answers to that.
    """
    run, ask = await split_run_and_ask(project, name)
    recorded = await record_of(project, run)
    asks = runs.fold(recorded.pilot, recorded.events).asks
    put = asks.get(ask) if ask else next(iter(asks.values()), None)
    if put is None and not ask:
        return Answer(text="\n".join(texts))
    put = put or await find_ask(project, run, ask)
    if not put.questions:
        hint = f"`allstop allow {name}` or `allstop deny {name}`"
        raise AllstopError(f"{run} wants to know whether it may do something", hint)
    answers = match_answers(put, texts)
    if isinstance(answers, str):
        raise AllstopError(answers, "one TEXT for each, in their order")
    return Permit(ask=put.id, allow=True, answers=answers)


def parse_reply(ask: Ask, words: str) -> Permit | None:
    """What a person at the terminal means by a line; None where it is no answer."""
    if not ask.questions:
        if words.lower() in ("y", "yes", "n", "no"):
            return Permit(ask=ask.id, allow=words.lower().startswith("y"))
        return None
    texts = tuple(words.split(";")) if len(ask.questions) > 1 else (words,)
    answers = match_answers(ask, texts)
    return None if isinstance(answers, str) else Permit(ask=ask.id, allow=True, answers=answers)


async def deliver_command(
    project: Project, run: str | None, command: Command, by: str = "user"
) -> CommandEffect:
    """To one run and what is below it, or to all.

    Raises:
        AllstopError: there is no such run, or it is over.
    """
    if run is None:
        commanded = Commanded(at=project.clock.now(), command=command, by=by)
        await project.journal.append(Entry(HELM, commanded))
        stopped = (await helm_of(project)).hold is Hold.STOPPED
        return CommandEffect(driven=bool(project.journal.holders()), stopped=stopped)
    name, state = await _find_open(project, run)
    await send_command(project.journal, project.clock, name, command, by)
    driven = root_of(name) in project.journal.holders()
    kind = project.kinds[state.opened.kind]
    deferred = "" if driven else kind.takes_effect(run, name, state)
    return CommandEffect(driven=driven, deferred=deferred, stopped=state.hold is Hold.STOPPED)


async def find_open_run(project: Project, name: str) -> RunId:
    """The run of that name, or a task's latest.

    Raises:
        AllstopError: there is no such run, or it is over.
    """
    return (await _find_open(project, name))[0]


async def _find_open(project: Project, name: str) -> tuple[RunId, RunState[Any]]:
    recorded = await record_of(project, name)
    state = runs.fold(recorded.pilot, recorded.events)
    if state.closed is not None:
        raise AllstopError(f"{name} is over: {state.closed.outcome}", f"see `allstop log {name}`")
    return recorded.run, state
