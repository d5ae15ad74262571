"""The processes of a fleet in their database: who they are, their last sign of life, their drain."""

from __future__ import annotations

from collections.abc import Sequence

from allstop.views.machines import ProcessRow

FUNCTIONS = """
alter table allstop.processes add column left_at timestamptz;

create or replace function allstop.leave(me uuid) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
    delete from allstop.claims where process = me;
    update allstop.processes set left_at = now() where id = me;
    select pg_notify('allstop', 'claims');
$$;
"""

KNOWN = """
select id::text, host, pid, worker, command, since,
    extract(epoch from now() - seen_at)::float8, extract(epoch from lease)::float8,
    drained_by, about
from allstop.processes where left_at is null and seen_at > now() - interval '1 hour'
order by worker, host, since
"""

DRAINED = "select p.drained_by, s.oldest from allstop.processes p, allstop.store s where p.id = %s"
"""Also the oldest version of the tables whose programs may use the store."""

UPGRADED = "an upgrade of the store"
"""Who drains a program that is too old for the store."""


def row_of(row: Sequence[object]) -> ProcessRow:
    """A row of KNOWN."""
    import msgspec

    return msgspec.convert(dict(zip(ProcessRow.__struct_fields__, row, strict=True)), ProcessRow)
