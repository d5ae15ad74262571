"""What people can do to something that exists, by the names of the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import asdict

from allstop.app.agents.registry import task_agents
from allstop.app.board import commands as boards
from allstop.app.board.cleanup import check_rollback, discard_work_and_branch
from allstop.app.board.remedies import Clean, clean, raise_limits
from allstop.app.board.review_comments import Comment, comment
from allstop.app.raise_limits import Limit, is_run, raise_run
from allstop.app.rooms import threads
from allstop.app.runs.commands import (
    build_answer,
    build_permit,
    deliver_command,
    find_ask,
    split_run_and_ask,
)
from allstop.app.stop.abort import abort
from allstop.app.stop.allstop import lift
from allstop.app.stop.one_run import stop_run
from allstop.board.task_commands import is_merged
from allstop.core import commands
from allstop.core.board_specs import Mode
from allstop.core.errors import AllstopError
from allstop.core.helm import Hold
from allstop.core.ids import BOARD, AgentName, RunId
from allstop.core.tasks import Changes, NewTask

if TYPE_CHECKING:
    from allstop.app.supervisor import Supervisor

ALL = "all"
"""In the place of a run's name: everything."""

Text: TypeAlias = Annotated[str, Meta(min_length=1, max_length=100_000)]


class _Action(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="command"):
    pass


# --- brakes, of one run or of all ---


class Pause(_Action, frozen=True, tag="pause"):
    """No new turn; the current one ends in peace."""


class Resume(_Action, frozen=True, tag="resume"):
    """Lift a pause, a freeze or an Allstop, and drive the run if nobody does."""


class Freeze(_Action, frozen=True, tag="freeze"):
    """Stop processes where they are."""


class Thaw(_Action, frozen=True, tag="thaw"):
    """Let frozen processes go on."""


class Stop(_Action, frozen=True, tag="stop"):
    """Allstop: it ends now."""


class Abort(_Action, frozen=True, tag="abort"):
    """End it for good; what it made is kept."""


# --- words ---


class Say(_Action, frozen=True, tag="say"):
    """Say something; an agent hears it at once or at its next turn. In a room, what can be typed there."""

    text: Text


class Answer(_Action, frozen=True, tag="answer"):
    """What an agent wanted to know; with several questions asked together, a text for each."""

    texts: Annotated[tuple[Text, ...], Meta(min_length=1)]


class Allow(_Action, frozen=True, tag="allow"):
    """Let an agent do what it asks to do: the oldest question, or the one that is named."""

    ask: str | None = None
    session: bool = False  # also the very same again


class Deny(_Action, frozen=True, tag="deny"):
    """Don't let it; it is told so and goes on."""

    ask: str | None = None
    message: str = ""


class Cancel(_Action, frozen=True, tag="cancel"):
    """End a room's session: the Stop button of Collaborate."""


# --- tasks ---


class Retry(_Action, frozen=True, tag="retry"):
    """Try a task again that failed, timed out or was blocked; its workspace is kept."""

    text: str = ""


class Skip(_Action, frozen=True, tag="skip"):
    """Go on as if a task were done."""


class Approve(_Action, frozen=True, tag="approve"):
    """Merge work that waits for review, or whose merge failed."""


class Redo(_Action, frozen=True, tag="redo"):
    """Send work that waits for review back to the agent, with a comment."""

    text: Text


class Reject(_Action, frozen=True, tag="reject"):
    """Cancel a task whose work waits for review; the work is kept."""


class Assign(_Action, frozen=True, tag="assign"):
    """Start this one next, whatever the mode; by this agent, if one is named."""

    agent: str | None = None


class Pin(_Action, frozen=True, tag="pin"):
    """Put a task in front of all scores, or take it back."""

    on: bool = True


class RollBack(_Action, frozen=True, tag="rollback"):
    """Take a task's work out of the target branch, or throw away what isn't merged."""


class EditTask(_Action, frozen=True, tag="edit_task"):
    """Change what is said of a task."""

    changes: Changes


class RemoveTask(_Action, frozen=True, tag="remove_task"):
    """Take a task off the board; its record and its work stay."""


class Split(_Action, frozen=True, tag="split"):
    """Put smaller tasks in the place of one."""

    titles: Annotated[tuple[Text, ...], Meta(min_length=1)]


# --- the board ---


class AddTask(_Action, frozen=True, tag="add_task"):
    """A new task; its id is made up where it has none."""

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


class Order(_Action, frozen=True, tag="order"):
    """Put tasks in front of all scores, in this order."""

    tasks: Annotated[tuple[str, ...], Meta(min_length=1, max_length=1000)]


class SetMode(_Action, frozen=True, tag="mode"):
    """Who picks tasks: the loop, or people."""

    mode: Literal["autopilot", "semi"]


Brake: TypeAlias = Pause | Freeze | Thaw | Abort
OfTask: TypeAlias = (
    Retry | Skip | Approve | Redo | Reject | Assign | Limit | Pin | EditTask | RemoveTask
)
Action: TypeAlias = (
    Brake | Resume | Stop | Say | Answer | Allow | Deny | Cancel | Comment
    | OfTask | RollBack | Clean | Split | AddTask | Order | SetMode
)  # fmt: skip


class Done(Struct, frozen=True, kw_only=True):
    """What came of it."""

    run: str
    driven: bool = True  # somebody acts on it now
    note: str = ""
    tasks: tuple[str, ...] = ()  # that were made


async def do(supervisor: Supervisor, run: str, action: Action, by: str) -> Done:  # noqa: C901 - a case for each
    """Carry it out.

    Raises:
        AllstopError: it makes no sense now; the message says why.
    """
    project = supervisor.project
    match action:
        case Stop() | Resume() if run == ALL:
            return await _everything(supervisor, action, by)
        case Stop():
            return await _stop(supervisor, run, by)
        case Resume():
            return Done(run=await supervisor.resume(run, by))
        case Pause() | Freeze() | Thaw() | Abort():
            return await _brake(supervisor, run, action, by)
        case Say(text=text) if (note := await _said_its_own_way(supervisor, run, text)) is not None:
            return Done(run=run, note=note)
        case Say(text=text) if commands.is_allstop(text):
            return await _stop(supervisor, run, by)
        case Cancel():
            heard = await threads.cancel(project, _thread(run))
            return Done(run=run, note=heard.note)
        case Comment():
            return await _comment(supervisor, run, action, by)
        case Say() | Answer() | Allow() | Deny():
            return await _speak(supervisor, run, action, by)
        case AddTask():
            return await _add(supervisor, action)
        case SetMode(mode=mode):
            await boards.send_commands(project, lambda state: [commands.SetMode(mode=Mode(mode))])
            return Done(run=BOARD, driven=supervisor.drives(BOARD))
        case Order(tasks=tasks):
            await boards.send_commands(project, lambda state: [commands.Order(tasks=tasks)])
            return Done(run=BOARD, driven=supervisor.drives(BOARD))
        case Split(titles=titles):
            made = await boards.split(project, run, titles)
            return Done(run=run, tasks=tuple(made), driven=supervisor.drives(BOARD))
        case RollBack():
            return await _roll_back(supervisor, run)
        case Clean():
            return Done(run=run, note=_kept_as(await clean(project, run)))
        case Limit(iterations=UnsetType()) if await is_run(project, run):
            return await _raise(supervisor, run, action, by)
        case Limit(times=float(times)):
            note = await raise_limits(project, run, times)
            return Done(run=run, driven=supervisor.drives(BOARD), note=note)
        case task_deed:
            _check_agent(supervisor, task_deed)
            return Done(run=run, note=await _tell_board(supervisor, [_order(run, task_deed)]))


async def _said_its_own_way(supervisor: Supervisor, run: str, text: str) -> str | None:
    """Rooms read text as their own input; None sends it to the agent of the run."""
    if threads.thread_of(RunId(run)) is not None:  # a thread may not have been opened yet
        return await supervisor.kinds[threads.PILOT.kind].say(supervisor, RunId(run), text)
    return None


async def _everything(supervisor: Supervisor, action: Stop | Resume, by: str) -> Done:
    if isinstance(action, Resume):
        lifted = await lift(supervisor.project, by)
        return Done(run=ALL, note="nothing was held" if lifted is Hold.NONE else "")
    stopped = await supervisor.allstop(by)
    return Done(run=ALL, note=f"done after {stopped.receipt.took_ms:.0f} ms")


async def _stop(supervisor: Supervisor, run: str, by: str) -> Done:
    stopped = await stop_run(supervisor.project, run, by)
    return Done(run=run, driven=stopped.driven, note=stopped.note)


async def _brake(supervisor: Supervisor, run: str, action: Brake, by: str) -> Done:
    if isinstance(action, Abort) and run == ALL:
        raise AllstopError("everything can't be ended for good", "stop it, or abort runs by name")
    if isinstance(action, Abort):
        aborted = await abort(supervisor.project, run, by, engine=supervisor.engine)
        return Done(run=run, driven=aborted.driven)
    words: dict[type, commands.Command] = {
        Pause: commands.Pause(),
        Freeze: commands.Freeze(),
        Thaw: commands.Thaw(),
    }
    spoken = await deliver_command(
        supervisor.project, None if run == ALL else run, words[type(action)], by
    )
    return Done(run=run, driven=spoken.driven)


async def _speak(
    supervisor: Supervisor, run: str, action: Say | Answer | Allow | Deny, by: str
) -> Done:
    project = supervisor.project
    command: commands.Command
    match action:
        case Say(text=text):
            command = commands.Say(text=text)
        case Answer(texts=texts):
            command = await build_answer(project, run, texts)
        case Allow(ask=ask, session=session):
            command = build_permit(await find_ask(project, run, ask), session=session)
        case Deny(ask=ask, message=message):
            asked = await find_ask(project, run, ask)
            command = commands.Permit(ask=asked.id, allow=False, message=message)
    name, _ = await split_run_and_ask(project, run)
    spoken = await deliver_command(project, name, command, by)
    return Done(run=name, driven=spoken.driven)


async def _raise(supervisor: Supervisor, run: str, action: Limit, by: str) -> Done:
    """More budget is meant to be used: it goes on, unless a person holds it."""
    done = await raise_run(supervisor.project, run, action.allowance, by)
    if not done.driven and not done.held:
        await supervisor.resume(run, by)
    return Done(run=run, driven=done.driven or not done.held, note=done.note)


async def _comment(supervisor: Supervisor, run: str, action: Comment, by: str) -> Done:
    sent = await comment(supervisor.project, run, action, by)
    if sent.of_board:
        await supervisor.ensure_board_driven()
    return Done(run=run, driven=sent.driven, note=sent.note)


# --- the board's ---


async def _tell_board(supervisor: Supervisor, orders: Sequence[commands.Command]) -> str:
    """Why nothing starts all the same; "" where it does."""
    told = await boards.send_commands(supervisor.project, lambda state: orders)
    await supervisor.ensure_board_driven()  # which lifts the brake of one that nobody drove
    brake = (
        (await boards.read(supervisor.project)).state.brake_reason if told.state.is_braked else ""
    )
    return f"{brake}: the loop waits until you resume the board" if brake else ""


def _order(task: str, action: OfTask) -> commands.TaskCommand:
    match action:
        case Retry(text=text):
            return commands.Retry(task=task, text=f"A person says: {text}" if text else "")
        case Redo(text=text):
            return commands.Redo(task=task, text=text)
        case Assign(agent=agent):
            return commands.Assign(task=task, agent=AgentName(agent) if agent else None)
        case Pin(on=on):
            return commands.Pin(task=task, on=on)
        case EditTask(changes=changes):
            return commands.EditTask(task=task, changes=changes)
        case Limit(iterations=iterations, minutes=minutes):
            if iterations is UNSET and minutes is UNSET:
                raise AllstopError("no limit is named", "times, iterations or minutes")
            changes = Changes(iterations=iterations, minutes=minutes)
            return commands.EditTask(task=task, changes=changes)
        case Skip() | Approve() | Reject() | RemoveTask():
            return _PLAIN[type(action)](task=task)


_PLAIN: dict[
    type, type[commands.Skip | commands.Approve | commands.Reject | commands.RemoveTask]
] = {
    Skip: commands.Skip,
    Approve: commands.Approve,
    Reject: commands.Reject,
    RemoveTask: commands.RemoveTask,
}


def _check_agent(supervisor: Supervisor, action: OfTask) -> None:
    match action:
        case Assign(agent=str(agent)) | EditTask(changes=Changes(agent=str(agent))):
            task_agents(supervisor.project, agent)
        case _:
            pass


async def _add(supervisor: Supervisor, action: AddTask) -> Done:
    agent = task_agents(supervisor.project, action.agent)[0] if action.agent else None
    new = NewTask(**{**asdict(action), "agent": agent})
    task = await boards.add(supervisor.project, new, lambda task: ())
    return Done(run=BOARD, tasks=(task.id,), driven=supervisor.drives(BOARD))


async def _roll_back(supervisor: Supervisor, task_id: str) -> Done:
    """What is merged is reverted by whoever drives the board; what isn't is thrown away here."""
    task = await check_rollback(supervisor.project, task_id)
    await boards.send_commands(supervisor.project, lambda state: [commands.RollBack(task=task_id)])
    if is_merged(task):
        await supervisor.ensure_board_driven()
        return Done(run=task_id, note="it is being reverted")
    note = _kept_as(await discard_work_and_branch(supervisor.project, task_id))
    return Done(run=task_id, driven=supervisor.drives(BOARD), note=note)


def _kept_as(ref: str) -> str:
    return f"its work is kept as {ref}" if ref else "it had no work"


def _thread(run: str) -> str:
    thread = threads.thread_of(RunId(run))
    if thread is None:
        raise AllstopError(f"{run} is no room", "cancel ends the session of a room")
    return thread
