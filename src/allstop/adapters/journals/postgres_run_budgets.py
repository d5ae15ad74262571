"""The budgets of runs that other processes drive, as a store on PostgreSQL knows them."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from allstop.core.brakes import Limits
from allstop.core.budget import NOTHING, Account, Amount
from allstop.core.commands import Raise
from allstop.core.events import Commanded, Opened
from allstop.core.ids import RunId

if TYPE_CHECKING:
    from allstop.adapters.journals.postgres_reader import PostgresRecords

_CHANGES = """
select e.seq, e.event from allstop.runs r join allstop.events e on e.run = r.id
where r.run = %s and e.seq > %s and (e.seq = 1 or position('"raise"'::bytea in e.event) > 0)
order by e.seq
"""
"""The events that may have changed a run's limits."""

_USED = """
select '', u.turns, u.tokens, u.cost, 0, 0 from allstop.used_below u where u.run = %s
union all
select t.run, t.turns, t.tokens, t.cost,
    case when t.own then t.tokens else coalesce(
        (select sum(c.tokens)::bigint from allstop.calls c where c.run = t.run), 0) end,
    case when t.own then t.cost else coalesce(
        (select sum(c.cost)::bigint from allstop.calls c where c.run = t.run), 0) end
from allstop.turns t where t.is_open and starts_with(t.run, %s)
"""
"""What is used below a run; then each open turn there, with what is reserved of it."""

_DRIVEN = """
select c.run from allstop.claims c join allstop.processes p on p.id = c.process
where p.seen_at + p.lease > now() and c.run = any(%s)
"""


class PostgresRunBudgets:
    def __init__(self, records: PostgresRecords) -> None:
        self._records = records
        self._known: dict[RunId, tuple[int, Limits]] = {}  # up to which event, and the limits

    async def limits(self, run: RunId) -> Limits:
        after, limits = self._known.get(run, (0, Limits()))
        for seq, event in await self._records.matching(_CHANGES, run, after):
            match event:
                case Opened(limits=newer) | Commanded(command=Raise(limits=newer)):
                    limits = newer
                case _:
                    pass
            after = seq
        self._known[run] = after, limits
        return limits

    async def used_below(self, run: RunId, without: Collection[RunId]) -> Account:
        rows = await self._records.query(_USED, (run, f"{run}/"))
        total, reserved = NOTHING, NOTHING
        runs = [name for name, *_ in rows if name]
        driven = {name for (name,) in await self._records.query(_DRIVEN, (runs,))} if runs else ()
        for name, turns, tokens, cost, reserved_tokens, reserved_cost in rows:
            used = Amount(turns=turns, tokens=tokens, cost_microusd=cost)
            if not name:
                total = total.plus(used)
            elif name in without:
                total = total.minus(used)
            elif name in driven:
                held = Amount(tokens=reserved_tokens, cost_microusd=reserved_cost)
                total, reserved = total.minus(held), reserved.plus(held)
        return Account(spent=total, reserved=reserved)
