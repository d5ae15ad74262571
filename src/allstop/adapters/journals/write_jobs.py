"""Appends to a journal on PostgreSQL, encoded for the function that writes them."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

import msgspec

from allstop.core.daily_budget import reserved_by, spent
from allstop.core.events import CallReserved, Closed, Event, MoveEnded, MoveStarted, Noted, Opened
from allstop.core.ids import RunId, WriteId
from allstop.core.moves import ModelCall, TakeTurn
from allstop.core.run import usage_of_call
from allstop.ports import Cursor, Entry, Room, StoreBrokenError, StoreTroubleError

_encode = msgspec.json.Encoder().encode


class Job(msgspec.Struct, eq=False):
    """One append that waits for its commit."""

    entries: tuple[Entry, ...]
    bodies: list[bytes]
    expect: Cursor | None
    write: WriteId
    is_kept: bool  # the id is the writer's own, and is never forgotten
    claim: tuple[RunId, int] | None
    error: Exception | None = None
    is_done: bool = False

    @staticmethod
    def of(
        entries: tuple[Entry, ...],
        expect: Cursor | None,
        write: WriteId | None,
        claim: tuple[RunId, int] | None,
    ) -> Job:
        """An encoding error concerns only this append."""
        bodies = [_encode(entry.event) for entry in entries]
        is_kept = write is not None and not write.startswith(OWN)
        write = write or WriteId(f"{OWN}{uuid.uuid4()}")
        return Job(entries, bodies, expect, write, is_kept, claim)

    def fail(self, error: StoreTroubleError | StoreBrokenError) -> None:
        if isinstance(error, StoreTroubleError):  # each writer repeats its own write
            error = type(error)(error.message, error.hint)
            error.write = self.write
        self.error = error


OWN = "own:"
"""Begins an id that the journal made, so that it can repeat a write whose answer was lost."""


def encode_jobs(batch: Sequence[Job]) -> tuple[str, list[bytes]]:
    """The jobs as JSON, and the encoded events of all."""
    jobs = [_job(job) for job in batch]
    return _encode(jobs).decode(), [body for job in batch for body in job.bodies]


def _job(job: Job) -> dict[str, object]:
    found: dict[str, object] = {
        "write": job.write,
        "kept": job.is_kept,
        "entries": [_entry(entry.run, entry.event) for entry in job.entries],
    }
    if job.expect is not None:
        expect = job.expect
        found |= {"run": expect.run, "seq": expect.seq, "helm": expect.helm}
        if expect.rooms:
            found["rooms"] = [_room(room) for room in expect.rooms]
        elif expect.place is not None:
            found["place"] = expect.place
    if job.claim is not None:
        found["claim"], found["epoch"] = job.claim
    return found


def _room(room: Room) -> dict[str, object]:
    cap, asked = room.cap, room.asked
    return {
        "since": room.since,
        "above": room.above,
        "turns": cap.turns,
        "tokens": cap.tokens,
        "cost": cap.cost_microusd,
        "asked_turns": asked.turns,
        "asked_tokens": asked.tokens,
        "asked_cost": asked.cost_microusd,
    }


def _entry(run: RunId, event: Event) -> dict[str, object]:
    kind, parent = (event.kind, event.parent) if isinstance(event, Opened) else ("", None)
    entry: dict[str, object] = {
        "run": run,
        "kind": kind,
        "parent": parent,
        "at": event.at,
        "closed": isinstance(event, Closed),
    }
    match event:
        case MoveStarted(move=TakeTurn()):
            amount, is_over = reserved_by(event), False
        case MoveEnded():
            amount, is_over = spent(event.result), True
        case CallReserved():
            call = {"number": event.number, "tokens": event.tokens, "cost": event.cost_microusd}
            entry["turn"] = {"reserved": call}
            return entry
        case Noted() if calls := [_call(item.call) for item in event.items if item.call]:
            entry["turn"] = {"settled": calls}
            return entry
        case _:
            return entry
    entry["turn"] = {
        "move": event.id,
        "ended": is_over,
        "turns": amount.turns,
        "tokens": amount.tokens,
        "cost": amount.cost_microusd,
    }
    return entry


def _call(call: ModelCall) -> dict[str, object]:
    used = usage_of_call(call)
    return {"number": call.number, "tokens": used.tokens, "cost": used.cost_microusd}
