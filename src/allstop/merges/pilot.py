"""The pilot of one merge: merges work with the target's tip, checks it, moves the branch.

A merge can have a batch: more changes, each merged after the one before. Only the last of these
merge commits is checked, and the branch moves from its tip to that commit at once.
"""

from datetime import datetime, timedelta

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from allstop.core import moves, work_prompts
from allstop.core.board_specs import TARGET_FAILS, MergeSpec
from allstop.core.commands import Resume, Retry
from allstop.core.events import Commanded, Event, MoveEnded
from allstop.core.gate import HELD_OUT, Gate, Integrity
from allstop.core.retries import Backoff
from allstop.core.run import PilotContext
from allstop.core.text import one_line

BUSY_BACKOFF = Backoff(first_s=5.0, factor=2.0, retries=1_000_000)
MAX_BUSY_WAIT = timedelta(seconds=60)
"""The longest wait before a checkout with uncommitted changes is tried again."""

FAILURE_BACKOFF = Backoff(first_s=2.0, factor=3.0, retries=3)


class Added(Struct, frozen=True, gc=False, kw_only=True):
    """A change of the batch, and its merge with the one before."""

    task: str
    merge: moves.Integrated


class MergeState(Struct, frozen=True, gc=False, kw_only=True):
    spec: MergeSpec
    made: moves.Integrated | None = None
    added: tuple[Added, ...] = ()  # the rest of the batch, as far as it could be merged
    tried: int = 0  # how many of the spec's others
    is_full: bool = False  # nothing more is added
    again: tuple[str, ...] = ()  # the checks that failed and are run once more
    checked: bool = False
    landed: bool = False
    busy: int = 0  # how often in a row uncommitted changes were in the way
    failures: int = 0
    wait_until: datetime | None = None
    waits_for: str = ""
    end: moves.Outcome | None = None
    note: str = ""
    news: str = ""  # for the agent whose work conflicts
    facts: dict[str, str] = {}  # about a failed tree, for the queue

    @property
    def takes_more(self) -> bool:
        return self.made is not None and not self.is_full and self.tried < len(self.spec.others)

    @property
    def gate(self) -> Gate:
        return (self.made and self.made.gate) or self.spec.gate


class MergePilot:
    kind = "merge"
    ends_when_stopped = False
    needs_slots = True

    def begin(self, spec: dict[str, object]) -> MergeState:
        return MergeState(spec=msgspec.convert(spec, MergeSpec))

    def evolve(self, state: MergeState, event: Event) -> MergeState:
        match event:
            case MoveEnded(result=result, at=at):
                return _apply_result(replace(state, wait_until=None), result, at)
            case Commanded(command=Retry() | Resume()):
                return replace(state, wait_until=None)
            case _:
                return state

    def undelivered(self, state: MergeState) -> tuple[str, ...]:
        return ()  # it takes no turns

    def next_move(self, state: MergeState, context: PilotContext) -> moves.Move:
        spec, made = state.spec, state.made
        if spec.landed:
            return moves.Finish(outcome=moves.Outcome.DONE, facts={"commit": spec.landed})
        if state.end is not None:
            facts = {"news": state.news, **state.facts}
            return moves.Finish(outcome=state.end, note=state.note, facts=facts)
        if state.wait_until is not None and context.now < state.wait_until:
            is_busy = bool(state.busy)
            return moves.Wait(reason=state.waits_for, until=state.wait_until, for_person=is_busy)
        if made is None and spec.revert:
            return moves.Revert(commit=spec.revert, target=spec.target, message=spec.message)
        if made is None:
            return moves.Integrate(workspace=spec.task, target=spec.target, message=spec.message)
        if state.takes_more:
            other, onto = spec.others[state.tried], _last(state, made).commit
            return moves.Integrate(
                workspace=other.task, target=spec.target, message=other.message, onto=onto
            )
        if not state.checked and _needs_run(state, made):
            return _checks(state, made)
        if not state.landed:
            commit = _last(state, made).commit
            return moves.Land(target=spec.target, tip=made.tip, commit=commit)
        return moves.Finish(outcome=moves.Outcome.DONE, note=state.note, facts=_facts(state, made))


def _last(state: MergeState, made: moves.Integrated) -> moves.Integrated:
    """The merge that is checked: it contains all others."""
    return state.added[-1].merge if state.added else made


def _needs_run(state: MergeState, made: moves.Integrated) -> bool:
    return state.gate.has_commands or _has_fatal_protection(made.gate)


def _checks(state: MergeState, made: moves.Integrated) -> moves.RunChecks:
    gate, base = replace(state.gate, mutation=False), made.tip if state.added else ""
    if state.again:
        checks = tuple(check for check in gate.checks if check.name in state.again)
        gate = replace(gate, checks=checks)
    return moves.RunChecks.for_gate(
        gate,
        state.spec.task,
        commit=_last(state, made).commit,
        base=base,
        unreviewed=state.spec.unreviewed,
        may_change=state.spec.may_change,
    )


def _commit(merge: moves.Integrated) -> str:
    """The merge commit; "" if there was nothing to merge."""
    return "" if merge.commit == merge.tip else merge.commit


def _facts(state: MergeState, made: moves.Integrated) -> dict[str, str]:
    landed = " ".join(f"{each.task}={_commit(each.merge)}" for each in state.added)
    return {"commit": _commit(made), **({"landed": landed} if landed else {})}


def _has_fatal_protection(gate: Gate | None) -> bool:
    """Whether a changed protected path fails the gate, so that it must run even without checks."""
    return gate is not None and bool(gate.protected) and gate.strictness is Integrity.FAIL


def _is_verified(spec: MergeSpec, made: moves.Integrated) -> bool:
    """Whether this tree has already passed this gate; the target may have another gate since."""
    if made.commit == made.tip:
        return True
    is_same_gate = made.gate is None or made.gate.fingerprint == spec.verified_by
    return bool(made.tree) and made.tree == spec.verified and is_same_gate


def _apply_result(state: MergeState, result: moves.Result, at: datetime) -> MergeState:
    match result:
        case moves.Integrated() if state.takes_more:
            return _with_added(state, result)
        case moves.Integrated():
            is_known = _is_verified(state.spec, result)
            state = replace(state, made=result, checked=is_known, failures=0)
            is_alone = (is_known and _needs_run(state, result)) or result.sets_rules
            return _if_known_red(replace(state, is_full=is_alone))
        case moves.ChecksDone(passed=True) if not _is_of_this_tree(state, result):
            note = "its checks ran on another tree than the one that would be merged"
            return replace(state, end=moves.Outcome.FAILED, note=note)
        case moves.ChecksDone(passed=True):
            note = f"passed when run again: {', '.join(state.again)}" if state.again else ""
            return replace(state, checked=True, note=note)
        case moves.ChecksDone() if state.made is not None:
            return _failed_checks(state, state.made, result)
        case moves.Landed():
            return replace(state, landed=True)
        case moves.Failed():
            return _failed(state, result, at)
        case _:
            return state


def _is_of_this_tree(state: MergeState, result: moves.ChecksDone) -> bool:
    made = state.made and _last(state, state.made)
    return made is None or result.tree in ("", made.tree)


def _with_added(state: MergeState, merge: moves.Integrated) -> MergeState:
    """The state with one more change; a change of the rules is merged alone."""
    if merge.sets_rules:
        return _if_known_red(replace(state, is_full=True))
    added = Added(task=state.spec.others[state.tried].task, merge=merge)
    return _if_known_red(replace(state, added=(*state.added, added), tried=state.tried + 1))


def _if_known_red(state: MergeState) -> MergeState:
    """Where this tree has failed before, a batch ends, and one change repeats what failed."""
    if state.takes_more or state.made is None or state.checked:
        return state
    tree, gate = _last(state, state.made).tree, state.gate.fingerprint
    known = next((red for red in state.spec.red if (red.tree, red.gate) == (tree, gate)), None)
    if known is None:
        return state
    if not state.added:
        return replace(state, again=known.checks)
    return _ended_red(state, state.made, ", ".join(known.checks), known.checks, "")


def _failed_checks(
    state: MergeState, made: moves.Integrated, result: moves.ChecksDone
) -> MergeState:
    fatal = [finding.path for finding in result.findings if finding.fatal]
    if not fatal and all(check.confirmed and check.failed_before for check in result.failed):
        return _target_fails(state, result.failed[0])
    left = _not_passed(state, result)
    is_certain = bool(fatal) or any(check.confirmed for check in result.failed)
    if state.spec.edition >= 2 and not is_certain and not state.again:
        return replace(state, again=left)
    names = ", ".join([*(check.name for check in result.failed), *fatal])
    news = work_prompts.failed_merge(result, state.spec.target)
    return _ended_red(state, made, names, left, news)


def _target_fails(state: MergeState, check: moves.CheckResult) -> MergeState:
    """Its failing tests fail on the target in the same way, so the change is not to blame."""
    note = work_prompts.target_failure(check, state.spec.target)
    return replace(state, end=moves.Outcome.BLOCKED, note=note, facts={TARGET_FAILS: check.name})


def _not_passed(state: MergeState, result: moves.ChecksDone) -> tuple[str, ...]:
    """The checks that failed, and those that did not run after these."""
    passed = {check.name for check in result.results if check.passed or not check.required}
    held_out = (HELD_OUT,) if state.gate.held_out else ()
    names = state.again or (*(check.name for check in state.gate.checks), *held_out)
    return tuple(name for name in names if name not in passed)


def _ended_red(
    state: MergeState, made: moves.Integrated, names: str, left: tuple[str, ...], news: str
) -> MergeState:
    target = state.spec.target
    ended = replace(state, end=moves.Outcome.CONFLICT)
    if state.spec.edition < 2:
        return replace(ended, note=f"merged with {target}, it fails: {names}", news=news)
    facts = {
        "red": _last(state, made).tree,
        "gate": state.gate.fingerprint,
        "again": msgspec.json.encode(left).decode(),
        "batch": " ".join([state.spec.task, *(each.task for each in state.added)]),
    }
    if state.added:
        note = f"{1 + len(state.added)} changes together fail: {names}"
        return replace(ended, note=note, facts=facts)
    note = f"merged with {target}, it fails: {names}"
    return replace(ended, note=note, news=news, facts=facts)


def _failed(state: MergeState, failed: moves.Failed, at: datetime) -> MergeState:
    message = one_line(failed.message, 300)
    if failed.kind in moves.RESUMABLE:
        return state  # each git move first checks what is already done
    if failed.kind is moves.FailureKind.MOVED:
        anew = {"made": None, "added": (), "tried": 0, "is_full": False, "again": ()}
        return replace(state, checked=False, **anew)
    if state.takes_more:  # the next batch begins with it, and then it is known why
        return _if_known_red(replace(state, tried=state.tried + 1))
    if failed.kind is moves.FailureKind.CONFLICT:
        return replace(state, end=moves.Outcome.CONFLICT, note=f"conflicts: {message}")
    if failed.kind is moves.FailureKind.BUSY:
        busy = state.busy + 1
        delay = min(BUSY_BACKOFF.delay(min(busy, 8), state.spec.task), MAX_BUSY_WAIT)
        return replace(state, busy=busy, wait_until=at + delay, waits_for=message)
    if state.failures < FAILURE_BACKOFF.retries:
        failures = state.failures + 1
        delay = FAILURE_BACKOFF.delay(failures, state.spec.task)
        return replace(
            state, failures=failures, busy=0, wait_until=at + delay, waits_for="tries again later"
        )
    return replace(state, end=moves.Outcome.FAILED, note=f"{failed.kind}: {message}")
