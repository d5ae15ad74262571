"""Carries out a person's command on a run, a task, the board, or everything.

Most commands are those of the journal (`core.commands`). The requests defined here become such
commands only once the current state is known: `allow`, for example, needs the agent's question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, Union, get_args

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import asdict, replace

from allstop.app.agents.registry import task_agents
from allstop.app.board import commands as boards
from allstop.app.board import sprints
from allstop.app.board.cleanup import check_rollback, discard_work_and_branch
from allstop.app.board.remedies import Clean, clean, raise_limits
from allstop.app.board.review_comments import Comment, comment
from allstop.app.raise_limits import Limit, names_run, raise_run
from allstop.app.rooms import threads
from allstop.app.runs.commands import (
    build_answer,
    build_permit,
    deliver_command,
    find_ask,
    split_run_and_ask,
)
from allstop.app.stop.abort import abort
from allstop.app.stop.everything import lift
from allstop.app.stop.stop import stop
from allstop.board.board_pilot import NAMING
from allstop.board.task_commands import is_merged
from allstop.core import commands
from allstop.core.errors import AllstopError
from allstop.core.helm import Hold
from allstop.core.ids import BOARD, RunId, label_of
from allstop.core.tasks import Changes, NewTask

if TYPE_CHECKING:
    from allstop.app.supervisor import Supervisor

ALL = "all"
"""Stands for everything in place of a run's name."""

Text: TypeAlias = Annotated[str, Meta(min_length=1, max_length=100_000)]
Many: TypeAlias = Annotated[tuple[str, ...], Meta(min_length=1, max_length=1000)]


class _Request(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="command"):
    pass


class Answer(_Request, frozen=True, tag="answer"):
    """Answers an agent; several questions asked together get one text each."""

    texts: Annotated[tuple[Text, ...], Meta(min_length=1)]


class Allow(_Request, frozen=True, tag="allow"):
    """Allows a request of an agent: the oldest one, or `ask`."""

    ask: str | None = None
    session: bool = False  # also identical requests later


class Deny(_Request, frozen=True, tag="deny"):
    """Denies a request of an agent: the oldest one, or `ask`. The agent continues."""

    ask: str | None = None
    message: str = ""


class Cancel(_Request, frozen=True, tag="cancel"):
    """Ends a room's session: the Stop button of Collaborate."""


class Split(_Request, frozen=True, tag="split"):
    """Replaces a task by smaller ones."""

    titles: Annotated[tuple[Text, ...], Meta(min_length=1)]


class AddTask(_Request, frozen=True, tag="add_task"):
    """Adds a task; without an id it gets the next free one."""

    title: Text
    id: str = ""
    body: str = ""
    operation: str = ""
    needs: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    priority: int = 0
    agent: str | None = None
    iterations: int | None = None
    minutes: float | None = None
    stuck_after: int | None = None
    may_change: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()


Request: TypeAlias = Answer | Allow | Deny | Cancel | Split | AddTask | Limit | Clean | Comment
Action: TypeAlias = commands.Command | Request


class Done(Struct, frozen=True, kw_only=True):
    """The result of an action."""

    run: str
    driven: bool = True  # a process acts on it now
    note: str = ""
    tasks: tuple[str, ...] = ()  # the tasks that were added


# --- bodies of HTTP requests ---

OVER_HTTP: tuple[type[commands.Command], ...] = (
    commands.Pause, commands.Resume, commands.Freeze, commands.Thaw, commands.Allstop,
    commands.Abort, commands.Say, commands.Retry, commands.Skip, commands.Approve, commands.Redo,
    commands.Reject, commands.Assign, commands.Pin, commands.RollBack, commands.EditTask,
    commands.RemoveTask, commands.Order, commands.SetMode, commands.PauseSprint,
    commands.ResumeSprint, commands.CancelSprint,
)  # fmt: skip
"""The journal's commands that HTTP takes as they are."""

_HTTP_NAMES = {commands.Allstop: "stop", commands.RollBack: "rollback", commands.SetMode: "mode"}
_NOT_IN_BODIES = ("task", "remarks")
"""The path names the task, and `comment` sends remarks."""


def _body(command: type[commands.Command]) -> type[Struct]:
    """The command as a body: without its task, and with limits on the sizes of required fields."""
    sized = {str: Text, tuple[str, ...]: Many}
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for field in msgspec.structs.fields(command):
        if field.name in _NOT_IN_BODIES:
            continue
        if field.required:
            fields.append((field.name, sized.get(field.type, field.type)))
        else:
            fields.append((field.name, field.type, field.default))
    return msgspec.defstruct(
        command.__name__,
        fields,
        bases=(_Request,),
        namespace={"__doc__": command.__doc__},
        module=__name__,
        frozen=True,
        kw_only=True,
        tag=_HTTP_NAMES.get(command) or str(command.__struct_config__.tag),
    )


_COMMANDS = {_body(command): command for command in OVER_HTTP}

Body: Any = Union[*_COMMANDS, *get_args(Request)]


def action_in(body: Struct, run: str) -> Action:
    """The action that a body asks for on a run or task."""
    command = _COMMANDS.get(type(body))
    if command is None:
        return body  # type: ignore[return-value]  # one of the requests
    task: dict[str, Any] = {"task": run} if "task" in command.__struct_fields__ else {}
    return command(**asdict(body), **task)


# --- carrying out ---


async def do(supervisor: Supervisor, run: str, action: Action, by: str) -> Done:  # noqa: C901 - a case for each
    """Carry out an action on a run, a task or `ALL`.

    Raises AllstopError if it can't be done now.
    """
    project = supervisor.project
    match action:
        case commands.Allstop() | commands.Resume() if run == ALL:
            return await _everything(supervisor, action, by)
        case commands.Allstop():
            return await _stop(supervisor, run, by)
        case commands.Resume():
            return Done(run=await supervisor.resume(run, by))
        case commands.Abort():
            return await _abort(supervisor, run, by)
        case commands.Pause() | commands.Freeze() | commands.Thaw():
            effect = await deliver_command(project, None if run == ALL else run, action, by)
            return Done(run=run, driven=effect.driven)
        case commands.Say(text=text):
            return await _say(supervisor, run, text, by)
        case Cancel():
            heard = await threads.cancel(project, _thread(run))
            return Done(run=run, note=heard.note)
        case Comment():
            return await _comment(supervisor, run, action, by)
        case Answer() | Allow() | Deny():
            return await _reply(supervisor, run, action, by)
        case AddTask():
            return await _add(supervisor, action)
        case commands.PauseSprint() | commands.ResumeSprint() | commands.CancelSprint():
            return await _steer_sprint(supervisor, run, action)
        case commands.SetMode() | commands.Order():
            await boards.send_commands(project, lambda state: [action])
            return Done(run=BOARD, driven=supervisor.drives(BOARD))
        case Split(titles=titles):
            made = await boards.split(project, run, titles)
            return Done(run=run, tasks=tuple(made), driven=supervisor.drives(BOARD))
        case commands.RollBack():
            return await _roll_back(supervisor, run)
        case Clean():
            return Done(run=run, note=_kept_as(await clean(project, run)))
        case Limit(iterations=UnsetType()) if await names_run(project, run):
            return await _raise(supervisor, run, action, by)
        case Limit(times=float(times)):
            note = await raise_limits(project, run, times)
            return Done(run=run, driven=supervisor.drives(BOARD), note=note)
        case Limit():
            return await _tell_board(supervisor, run, _limit(run, action))
        case commands.Approve() | commands.Reject() | commands.Skip() | commands.Retry() if (
            went_on := await supervisor.command(run, action, by)
        ):
            return Done(run=went_on)
        case commands.Retry(text=text) if text:
            return await _tell_board(
                supervisor, run, replace(action, text=f"A person says: {text}")
            )
        case _:
            return await _tell_board(supervisor, run, action)


async def _everything(
    supervisor: Supervisor, action: commands.Allstop | commands.Resume, by: str
) -> Done:
    if isinstance(action, commands.Resume):
        lifted = await lift(supervisor.project, by)
        return Done(run=ALL, note="nothing was held" if lifted is Hold.NONE else "")
    stopped = await supervisor.allstop(by)
    return Done(run=ALL, note=f"done after {stopped.receipt.took_ms:.0f} ms")


async def _stop(supervisor: Supervisor, run: str, by: str) -> Done:
    stopped = await stop(supervisor.project, by, run)
    return Done(run=run, driven=stopped.driven, note=stopped.note)


async def _steer_sprint(supervisor: Supervisor, run: str, command: commands.SprintCommand) -> Done:
    """Pause, resume or cancel a sprint: `run` is the board, or the sprint's own name."""
    await sprints.steer(supervisor.project, command, "" if run in (BOARD, ALL) else run)
    if isinstance(command, commands.ResumeSprint):
        async with supervisor.lock:
            if not supervisor.is_driven(BOARD):
                await supervisor.drive_board_for(None)
    return Done(run=BOARD, driven=supervisor.is_driven(BOARD))


async def _abort(supervisor: Supervisor, run: str, by: str) -> Done:
    if run == ALL:
        raise AllstopError(
            "everything can't be aborted at once",
            "stop everything, or abort runs by name",
            code="abort_needs_run",
        )
    aborted = await abort(supervisor.project, run, by, engine=supervisor.engine)
    return Done(run=run, driven=aborted.driven)


async def _say(supervisor: Supervisor, run: str, text: str, by: str) -> Done:
    note = await supervisor.say(RunId(run), text)
    if note is not None:
        return Done(run=run, note=note)
    if commands.is_allstop(text):
        return await _stop(supervisor, run, by)
    return await _speak(supervisor, run, commands.Say(text=text), by)


async def _reply(supervisor: Supervisor, run: str, action: Answer | Allow | Deny, by: str) -> Done:
    project = supervisor.project
    command: commands.Command
    match action:
        case Answer(texts=texts):
            command = await build_answer(project, run, texts)
        case Allow(ask=ask, session=session):
            command = build_permit(await find_ask(project, run, ask), session=session)
        case Deny(ask=ask, message=message):
            asked = await find_ask(project, run, ask)
            command = commands.Permit(ask=asked.id, allow=False, message=message)
    return await _speak(supervisor, run, command, by)


async def _speak(supervisor: Supervisor, run: str, command: commands.Command, by: str) -> Done:
    name, _ = await split_run_and_ask(supervisor.project, run)
    effect = await deliver_command(supervisor.project, name, command, by)
    return Done(run=name, driven=effect.driven)


async def _raise(supervisor: Supervisor, run: str, action: Limit, by: str) -> Done:
    """Raise a run's limits; the run continues unless a person holds it."""
    done = await raise_run(supervisor.project, run, action.allowance, by)
    if not done.driven and not done.held:
        await supervisor.resume(run, by)
    return Done(run=run, driven=done.driven or not done.held, note=done.note)


async def _comment(supervisor: Supervisor, run: str, action: Comment, by: str) -> Done:
    sent = await comment(supervisor.project, run, action, by)
    if sent.of_board:
        await supervisor.ensure_board_driven(label_of(RunId(run)))
    return Done(run=run, driven=sent.driven, note=sent.note)


# --- the board ---


async def _tell_board(supervisor: Supervisor, task: str, command: commands.Command) -> Done:
    """Give the board a command; the note says why nothing starts all the same."""
    match command:
        case (
            commands.Assign(agent=str(agent)) | commands.EditTask(changes=Changes(agent=str(agent)))
        ):
            task_agents(supervisor.project, agent)
        case _:
            pass
    told = await boards.send_commands(supervisor.project, lambda state: [command])
    named = [task] if isinstance(command, NAMING) else []
    await supervisor.ensure_board_driven(*named)  # lifts the brake of a board that nobody drove
    brake = (
        (await boards.read(supervisor.project)).state.brake_reason if told.state.is_braked else ""
    )
    return Done(
        run=task, note=f"{brake}: the loop waits until you resume the board" if brake else ""
    )


def _limit(task: str, action: Limit) -> commands.EditTask:
    if action.iterations is UNSET and action.minutes is UNSET:
        raise AllstopError(
            "the request names no limit", "name times, iterations or minutes", code="no_limit_named"
        )
    changes = Changes(iterations=action.iterations, minutes=action.minutes)
    return commands.EditTask(task=task, changes=changes)


async def _add(supervisor: Supervisor, action: AddTask) -> Done:
    agent = task_agents(supervisor.project, action.agent)[0] if action.agent else None
    new = NewTask(**{**asdict(action), "agent": agent})
    task = await boards.add(supervisor.project, new, lambda task: ())
    return Done(run=BOARD, tasks=(task.id,), driven=supervisor.drives(BOARD))


async def _roll_back(supervisor: Supervisor, task_id: str) -> Done:
    """The process that drives the board reverts merged work; other work is removed here."""
    task = await check_rollback(supervisor.project, task_id)
    await boards.send_commands(supervisor.project, lambda state: [commands.RollBack(task=task_id)])
    if is_merged(task):
        await supervisor.ensure_board_driven(task_id)
        return Done(run=task_id, note="it is being reverted")
    note = _kept_as(await discard_work_and_branch(supervisor.project, task_id))
    return Done(run=task_id, driven=supervisor.drives(BOARD), note=note)


def _kept_as(ref: str) -> str:
    return f"its work is kept as {ref}" if ref else "it had no work"


def _thread(run: str) -> str:
    thread = threads.thread_of(RunId(run))
    if thread is None:
        raise AllstopError(
            f"{run} is not a room", "cancel ends the session of a room", code="not_a_room"
        )
    return thread
