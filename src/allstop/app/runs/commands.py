"""Commands to runs: sending them, and building the answers to an agent's asks."""

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
from allstop.core.ids import HELM, RunId
from allstop.core.run import RunState
from allstop.engine.send import send_command
from allstop.ports import Entry, is_driven

if TYPE_CHECKING:
    from allstop.app.project import Project


class CommandEffect(NamedTuple):
    driven: bool
    deferred: str = ""  # when it takes effect if no process drives the run
    stopped: bool = False  # by an Allstop, which overrides all other brakes until it is lifted


async def find_ask(project: Project, name: str, ask: str | None = None) -> Ask:
    """An unanswered ask of a run's agent: the one of that name, or the oldest.

    `name` is a run or a task, or RUN:ASK as in the inbox.

    Raises AllstopError if there is no such ask.
    """
    run, named = await split_run_and_ask(project, name)
    ask = ask or named or None
    recorded = await record_of(project, run)
    asks = runs.fold(recorded.pilot, recorded.events).asks
    if not asks:
        hint = "`allstop status` shows what waits for you"
        raise AllstopError(f"{run} asks nothing", hint, code="no_open_ask")
    if ask is None:
        return next(iter(asks.values()))
    if ask not in asks:
        hint = f"it has: {', '.join(asks)}"
        raise AllstopError(f"{run} has no question {ask!r}", hint, code="ask_unknown")
    return asks[ask]


async def split_run_and_ask(project: Project, name: str) -> tuple[str, str]:
    """Split RUN or RUN:ASK; a room's run has a colon in its own name."""
    run, _, ask = name.rpartition(":")
    if not run or (project.has_store and await project.journal.read(RunId(name))):
        return name, ""
    return run, ask


async def refuse_if_stopped(project: Project) -> None:
    """Raises AllstopError while an Allstop for everything is in force."""
    if await is_stopped(project):
        raise allstop_in_force()


def allstop_in_force() -> AllstopError:
    return AllstopError("Allstop is in force", "`allstop resume` lifts it", code="allstop_in_force")


async def is_stopped(project: Project) -> bool:
    stopped = project.has_store and (await helm_of(project)).hold is Hold.STOPPED
    return stopped or StopFile(project.folder / "STOP").exists()


def build_permit(ask: Ask, *, session: bool = False) -> Permit:
    """The command that allows the ask; with `session`, also later identical ones.

    Raises AllstopError if it is a question, or can't be allowed for the session.
    """
    if ask.questions:
        raise AllstopError(
            "this is a question, not a request for permission",
            'answer it: allstop answer RUN "…"',
            code="ask_needs_answer",
        )
    why = _why_only_once(ask) if session else ""
    if why:
        message = f"this can be allowed once only: {why}"
        raise AllstopError(message, "allow it without --session", code="ask_once_only")
    return Permit(ask=ask.id, allow=True, session=session)


def _why_only_once(ask: Ask) -> str:
    from allstop.policy.policy import not_coverable_reason

    if ask.kind != "command":
        return "" if ask.kind == "edit" else "a later one might do something else"
    return not_coverable_reason(ask.argv) if ask.argv else "it uses shell syntax"


async def build_answer(project: Project, name: str, texts: tuple[str, ...]) -> Command:
    """The command that answers a run's agent.

    A tool's questions are answered while the agent waits. Without such questions, the texts
    become the agent's next prompt.

    Raises AllstopError if the texts don't fit the questions, or the agent asks for permission.
    """
    run, ask = await split_run_and_ask(project, name)
    recorded = await record_of(project, run)
    asks = runs.fold(recorded.pilot, recorded.events).asks
    found = asks.get(ask) if ask else next(iter(asks.values()), None)
    if found is None and not ask:
        return Answer(text="\n".join(texts))
    found = found or await find_ask(project, run, ask)
    if not found.questions:
        hint = f"`allstop allow {name}` or `allstop deny {name}`"
        raise AllstopError(f"{run} asks for permission", hint, code="ask_needs_permission")
    answers = match_answers(found, texts)
    if isinstance(answers, str):
        hint = "give one TEXT for each question, in their order"
        raise AllstopError(answers, hint, code="answers_do_not_fit")
    return Permit(ask=found.id, allow=True, answers=answers)


def parse_reply(ask: Ask, line: str) -> Permit | None:
    """The answer in a line typed at the terminal; None if it is none."""
    if not ask.questions:
        if line.lower() in ("y", "yes", "n", "no"):
            return Permit(ask=ask.id, allow=line.lower().startswith("y"))
        return None
    texts = tuple(line.split(";")) if len(ask.questions) > 1 else (line,)
    answers = match_answers(ask, texts)
    return None if isinstance(answers, str) else Permit(ask=ask.id, allow=True, answers=answers)


async def deliver_command(
    project: Project, run: str | None, command: Command, by: str = "user"
) -> CommandEffect:
    """Send a command to a run and the runs below it; None sends it to all runs.

    Raises AllstopError if there is no such run, or it is over.
    """
    if run is None:
        commanded = Commanded(at=project.clock.now(), command=command, by=by)
        await project.journal.append(Entry(HELM, commanded))
        stopped = (await helm_of(project)).hold is Hold.STOPPED
        return CommandEffect(driven=bool(project.journal.holders()), stopped=stopped)
    name, state = await _find_open(project, run)
    await send_command(project.journal, project.clock, name, command, by)
    driven = is_driven(name, project.journal.holders())
    kind = project.kinds[state.opened.kind]
    deferred = "" if driven else kind.takes_effect(run, name, state)
    return CommandEffect(driven=driven, deferred=deferred, stopped=state.hold is Hold.STOPPED)


async def find_open_run(project: Project, name: str) -> RunId:
    """The run of that name, or a task's latest.

    Raises AllstopError if there is no such run, or it is over.
    """
    return (await _find_open(project, name))[0]


async def _find_open(project: Project, name: str) -> tuple[RunId, RunState[Any]]:
    recorded = await record_of(project, name)
    state = runs.fold(recorded.pilot, recorded.events)
    if state.closed is not None:
        message = f"{name} is over: {state.closed.outcome}"
        raise AllstopError(message, f"see `allstop log {name}`", code="run_over")
    return recorded.run, state
