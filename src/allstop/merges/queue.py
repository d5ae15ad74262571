"""The merge queue: which changes are merged and checked together, and what has failed so far."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from allstop.core.board_specs import BatchMember, RedTree

T = TypeVar("T")

LARGEST_BATCH = 8
SMALLER_BATCH = 4
LOW_RATE, HIGH_RATE = 0.05, 0.12
"""Up to the low rate of failures a batch is large, up to the high one smaller, else one change."""

COUNTED = 50
"""How many results of a target branch the rate of failures is computed from."""

FEWEST_COUNTED = 20
"""With fewer results the missing ones count as passed, so that one failure isn't a rate of 100 %."""

REMEMBERED_TREES = 20
SHOWN = 10


class ThrownOut(Struct, frozen=True, gc=False, kw_only=True):
    """A change that the queue did not merge."""

    task: str
    at: datetime
    reason: str


class MergeQueue(Struct, frozen=True, gc=False, kw_only=True):
    """What the queue knows beside the changes that wait in it."""

    results: dict[str, tuple[bool, ...]] = {}  # by target: whether the latest changes passed
    limits: dict[str, int] = {}  # by task: the largest batch it may be part of
    red: tuple[RedTree, ...] = ()
    landed: dict[str, str] = {}  # by task: its merge commit on the target, not yet recorded
    batch: tuple[str, ...] = ()  # the tasks of the merge under way
    thrown_out: tuple[ThrownOut, ...] = ()  # the latest last
    split: str = ""  # why the latest batch is merged in smaller ones

    def largest(self, target: str, most: int) -> int:
        """How many changes may be merged and checked together."""
        rate = failure_rate(self.results.get(target, ()))
        if rate <= LOW_RATE:
            return min(LARGEST_BATCH, most)
        return min(SMALLER_BATCH, most) if rate <= HIGH_RATE else 1

    def limit_of(self, task: str) -> int:
        return self.limits.get(task, LARGEST_BATCH)


def failure_rate(results: Sequence[bool]) -> float:
    latest = results[-COUNTED:]
    return latest.count(False) / max(len(latest), FEWEST_COUNTED)


def batch(queue: MergeQueue, waiting: Iterable[str], target: str, most: int) -> tuple[str, ...]:
    """The first of the waiting changes, and those that are merged together with it."""
    found: list[str] = []
    size = queue.largest(target, most)
    for task in waiting:
        size = min(size, queue.limit_of(task))
        if len(found) >= size or (found and task in queue.landed):
            break
        found.append(task)
        if task in queue.landed:
            break
    return tuple(found)


def began(queue: MergeQueue, tasks: Sequence[str]) -> MergeQueue:
    return replace(queue, batch=tuple(tasks))


def merged(queue: MergeQueue, task: str, target: str, facts: dict[str, str]) -> MergeQueue:
    """A change is merged, and with it those that its batch has landed."""
    if task in queue.landed:  # its batch has been counted
        return replace(queue, batch=(), landed=_without(queue.landed, task))
    landed = landed_in(facts)
    counted = _counted(queue, target, *[True] * (1 + len(landed)))
    limits = {name: n for name, n in queue.limits.items() if name not in {task, *landed}}
    split = queue.split if limits else ""
    landed = {**queue.landed, **landed}
    return replace(counted, batch=(), landed=landed, limits=limits, split=split)


def failed_together(queue: MergeQueue, facts: dict[str, str], note: str) -> MergeQueue:
    """A batch failed: its changes are merged in smaller ones."""
    names = facts["batch"].split()
    size = SMALLER_BATCH if len(names) > SMALLER_BATCH else 1
    limits = queue.limits | dict.fromkeys(names, size)
    return replace(_with_red(queue, facts), batch=(), limits=limits, split=note)


def thrown_out(
    queue: MergeQueue, task: str, target: str, facts: dict[str, str], note: str, at: datetime
) -> MergeQueue:
    """A change was not merged: it failed by itself, or it conflicts."""
    counted = _counted(queue, target, False) if facts.get("news") else queue  # noqa: FBT003
    limits = _without(queue.limits, task)
    thrown = (*queue.thrown_out, ThrownOut(task=task, at=at, reason=note))[-SHOWN:]
    split = queue.split if limits else ""
    return replace(
        _with_red(counted, facts), batch=(), limits=limits, thrown_out=thrown, split=split
    )


def ended(queue: MergeQueue, task: str) -> MergeQueue:
    """A merge ended without any result about the change, such as by a person."""
    return replace(queue, batch=(), limits=_without(queue.limits, task))


def batch_members(spec: Mapping[str, object]) -> tuple[BatchMember, ...]:
    """The rest of the batch, from the plain spec of a merge."""
    return msgspec.convert(spec.get("others", ()), tuple[BatchMember, ...])


def has_failed_together(facts: dict[str, str]) -> bool:
    """Whether a merge ended because several changes together failed the checks."""
    return " " in facts.get("batch", "")


def landed_in(facts: dict[str, str]) -> dict[str, str]:
    """The merge commits of the rest of a batch, by task."""
    pairs = (pair.partition("=") for pair in facts.get("landed", "").split())
    return {task: commit for task, _, commit in pairs}


def _with_red(queue: MergeQueue, facts: dict[str, str]) -> MergeQueue:
    if not facts.get("red"):
        return queue
    checks = msgspec.json.decode(facts["again"], type=tuple[str, ...])
    tree = RedTree(tree=facts["red"], gate=facts["gate"], checks=checks)
    return replace(queue, red=(*queue.red, tree)[-REMEMBERED_TREES:])


def _counted(queue: MergeQueue, target: str, *passed: bool) -> MergeQueue:
    latest = (*queue.results.get(target, ()), *passed)[-COUNTED:]
    return replace(queue, results={**queue.results, target: latest})


def _without(mapping: dict[str, T], task: str) -> dict[str, T]:
    return {name: value for name, value in mapping.items() if name != task}
