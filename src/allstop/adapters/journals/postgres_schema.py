"""The tables and functions of a journal on PostgreSQL, and their versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allstop.adapters.journals import postgres_budgets, postgres_processes, postgres_rights
from allstop.ports import StoreBrokenError

if TYPE_CHECKING:
    import psycopg

LOCK = 0x616C6C73
"""The advisory lock that makes all writes come one after the other.

Without it a reader could see position 8 before 7, and never look for 7 again.
"""

_TABLES = """
create schema if not exists allstop;
create table allstop.store (
    one boolean primary key default true check (one),
    id uuid not null default gen_random_uuid(),
    version integer not null,
    oldest integer not null,
    repository text not null default ''
);
create table allstop.runs (
    id bigint generated always as identity primary key,
    run text collate "C" not null unique,
    kind text not null,
    parent text,
    opened_at timestamptz not null,
    seq bigint not null,
    pos bigint not null,
    closed boolean not null default false
);
create table allstop.events (
    pos bigint primary key,
    run bigint not null references allstop.runs,
    seq bigint not null,
    event bytea not null,
    unique (run, seq)
);
create table allstop.writes (id text primary key, made_at timestamptz);
create table allstop.processes (
    id uuid primary key,
    host text not null,
    world text not null,
    pid integer not null,
    started text not null,
    worker text not null,
    command text not null,
    since timestamptz not null,
    seen_at timestamptz not null,
    lease interval not null,
    last_pos bigint not null default 0,
    about jsonb not null default '{}'
);
create sequence allstop.epochs;
create table allstop.claims (
    run text collate "C" primary key,
    process uuid not null references allstop.processes,
    epoch bigint not null,
    since timestamptz not null
);
create table allstop.turns (
    run text collate "C" not null,
    move bigint not null,
    began_at timestamptz not null,
    is_open boolean not null default true,
    turns bigint not null,
    tokens bigint not null,
    cost bigint not null,
    primary key (run, move)
);
create index on allstop.turns (began_at);
"""

_APPEND = """
create function allstop.append(me uuid, jobs jsonb, bodies bytea[]) returns jsonb
language plpgsql as $$
declare
    job jsonb;
    entry jsonb;
    verdict text;
    verdicts text[] := '{}';
    written jsonb := '{}';
    before_job jsonb;
    before_pos bigint;
    first bigint;
    place bigint;
    number bigint;
    row_id bigint;
    body integer := 0;
    job_body integer;
begin
    perform pg_advisory_xact_lock(LOCK);
    select coalesce(max(pos), 0) into place from allstop.events;
    first := place + 1;
    for job in select value from jsonb_array_elements(jobs) loop
        job_body := body;
        body := body + jsonb_array_length(job -> 'entries');
        verdict := allstop.verdict(me, job);
        if verdict = 'ok' then
            before_job := written;
            before_pos := place;
            begin
                for entry in select value from jsonb_array_elements(job -> 'entries') loop
                    job_body := job_body + 1;
                    place := place + 1;
                    update allstop.runs
                        set seq = seq + 1, pos = place,
                            closed = closed or (entry ->> 'closed')::boolean
                        where run = entry ->> 'run' returning id, seq into row_id, number;
                    if not found then
                        insert into allstop.runs (run, kind, parent, opened_at, seq, pos, closed)
                            values (entry ->> 'run', entry ->> 'kind', entry ->> 'parent',
                                (entry ->> 'at')::timestamptz, 1, place,
                                (entry ->> 'closed')::boolean)
                            returning id, seq into row_id, number;
                    end if;
                    insert into allstop.events values (place, row_id, number, bodies[job_body]);
                    written := written || jsonb_build_object(entry ->> 'run', number);
                    if entry ? 'turn' then
                        perform allstop.note_turn(
                            entry ->> 'run', (entry ->> 'at')::timestamptz, entry -> 'turn');
                    end if;
                end loop;
                if job ? 'rooms' then
                    perform allstop.check_room(value) from jsonb_array_elements(job -> 'rooms');
                end if;
                insert into allstop.writes values (job ->> 'write',
                    case when (job ->> 'kept')::boolean then null else now() end);
            exception when sqlstate 'AS001' then
                verdict := 'no room';
                written := before_job;
                place := before_pos;
            end;
        end if;
        verdicts := verdicts || verdict;
    end loop;
    if place >= first then
        update allstop.processes set last_pos = place, seen_at = now() where id = me;
        perform pg_notify('allstop', me::text);
    end if;
    return jsonb_build_object(
        'first', first, 'last', place, 'verdicts', to_jsonb(verdicts), 'written', written);
end
$$;

create function allstop.verdict(me uuid, job jsonb) returns text
language plpgsql as $$
declare
    asked text := job ->> 'run';
begin
    if exists (select from allstop.writes where id = job ->> 'write') then
        return 'again';
    end if;
    if asked is null then
        return 'ok';
    end if;
    if job ? 'claim' and not exists (
        select from allstop.claims where run = job ->> 'claim'
            and process = me and epoch = (job ->> 'epoch')::bigint
    ) then
        return 'claim lost';
    end if;
    if (job ->> 'seq')::bigint
            <> coalesce((select seq from allstop.runs where run = asked), 0)
        or (job ->> 'helm')::bigint
            <> coalesce((select seq from allstop.runs where run = 'helm'), 0)
        or exists (select from allstop.processes
            where last_pos > (job ->> 'place')::bigint and id <> me)
    then
        return 'stale';
    end if;
    return 'ok';
end
$$;

create function allstop.note_turn(name text, at timestamptz, turn jsonb) returns void
language plpgsql as $$
begin
    if (turn ->> 'ended')::boolean then
        update allstop.turns set is_open = false, turns = (turn ->> 'turns')::bigint,
                tokens = (turn ->> 'tokens')::bigint, cost = (turn ->> 'cost')::bigint
            where run = name and move = (turn ->> 'move')::bigint;
    else
        insert into allstop.turns values (name, (turn ->> 'move')::bigint, at, true,
            (turn ->> 'turns')::bigint, (turn ->> 'tokens')::bigint, (turn ->> 'cost')::bigint);
    end if;
end
$$;

create function allstop.check_room(room jsonb) returns void
language plpgsql as $$
declare
    scope text := room ->> 'scope';
    used record;
begin
    select coalesce(sum(t.turns), 0) as turns, coalesce(sum(t.tokens), 0) as tokens,
            coalesce(sum(t.cost), 0) as cost
        into used from allstop.turns t
        where (room ->> 'since' is null or t.began_at >= (room ->> 'since')::timestamptz)
            and (scope is null or t.run = scope or starts_with(t.run, scope || '/'));
    if used.turns > (room ->> 'turns')::bigint or used.tokens > (room ->> 'tokens')::bigint
        or used.cost > (room ->> 'cost')::bigint
        or used.turns - (room ->> 'asked_turns')::bigint >= (room ->> 'turns')::bigint
        or used.tokens - (room ->> 'asked_tokens')::bigint >= (room ->> 'tokens')::bigint
        or used.cost - (room ->> 'asked_cost')::bigint >= (room ->> 'cost')::bigint
    then
        raise exception 'no room' using errcode = 'AS001';
    end if;
end
$$;
""".replace("LOCK", str(LOCK))

_CLAIM = """
create function allstop.claim(me uuid, name text, gone uuid) returns bigint
language plpgsql as $$
declare
    given bigint;
begin
    perform pg_advisory_xact_lock(LOCK);
    insert into allstop.claims values (name, me, nextval('allstop.epochs'), now())
        on conflict (run) do update
            set process = excluded.process, epoch = excluded.epoch, since = excluded.since
            where claims.process = gone or not exists (
                select from allstop.processes p
                    where p.id = claims.process and p.seen_at + p.lease > now())
        returning epoch into given;
    if given is not null then
        perform pg_notify('allstop', 'claims');
    end if;
    return given;
end
$$;

create function allstop.release(me uuid, name text, given bigint) returns void
language plpgsql as $$
begin
    delete from allstop.claims where run = name and process = me and epoch = given;
    perform pg_notify('allstop', 'claims');
end
$$;
""".replace("LOCK", str(LOCK))


MIGRATIONS: tuple[str, ...] = (
    _TABLES + _APPEND + _CLAIM,
    postgres_rights.FUNCTIONS,
    postgres_budgets.FUNCTIONS,
    postgres_processes.FUNCTIONS,
    postgres_budgets.USED_BELOW,
)
"""Migration N of the list, counted from 1, makes version N. None is ever changed."""

OLDEST = 1
"""The oldest version whose programs can use a store of this version."""


def prepare(connection: psycopg.Connection, repository: str, *, writes: bool) -> None:
    """Check the store's header; create or migrate the tables if they are missing or older.

    The first process that writes names the repository.

    Raises StoreBrokenError if the store is newer than this program, or of another repository, or
    if its tables are older and this user may not change them.
    """
    known = len(MIGRATIONS)
    version, oldest, owner = _header(connection)
    if oldest > known:
        raise StoreBrokenError(
            f"the store has version {version}; this program knows up to {known}",
            "use the newer allstop that wrote it",
            code="store_too_new",
        )
    if version < known:
        if not _may_migrate(connection):
            raise StoreBrokenError(
                f"the tables of the store have version {version}; this program needs {known}"
                if version
                else "the database has no tables of allstop yet",
                "run `allstop fleet init` with the address of the role that owns the tables",
                code="store_needs_init",
            )
        _migrate(connection)
        _, _, owner = _header(connection)
    if repository and not owner and writes:
        connection.execute("select allstop.name_repository(%s)", (repository,))
        _, _, owner = _header(connection)  # another process may have been quicker
    if repository and owner and owner != repository:
        raise StoreBrokenError(
            "the database holds the journal of another repository",
            "give each repository a database of its own",
            code="store_of_another_repository",
        )


def version_of(connection: psycopg.Connection) -> int:
    """The version of the tables; 0 if there are none."""
    return _header(connection)[0]


def _header(connection: psycopg.Connection) -> tuple[int, int, str]:
    """The version, the oldest program that can use it, and the repository; 0 if there is none."""
    # to_regclass could answer from a cache that is older than the lock
    sql = "select from pg_tables where schemaname = 'allstop' and tablename = 'store'"
    if connection.execute(sql).fetchone() is None:
        return 0, 0, ""
    row = connection.execute("select version, oldest, repository from allstop.store").fetchone()
    return (int(row[0]), int(row[1]), str(row[2])) if row else (0, 0, "")


def _may_migrate(connection: psycopg.Connection) -> bool:
    """Whether this user owns the schema, or may create it."""
    row = connection.execute(
        "select case when n.oid is null then has_database_privilege(current_database(), 'create')"
        " else pg_has_role(n.nspowner, 'usage') end"
        " from (select) one left join pg_namespace n on n.nspname = 'allstop'"
    ).fetchone()
    return row is not None and bool(row[0])


def _migrate(connection: psycopg.Connection) -> None:
    with connection.transaction():
        connection.execute("select pg_advisory_xact_lock(%s)", (LOCK,))
        version, _, _ = _header(connection)  # another process may have done it meanwhile
        for script in MIGRATIONS[version:]:
            connection.execute(script.encode())
        if version == 0:
            connection.execute(
                "insert into allstop.store (version, oldest) values (%s, %s)",
                (len(MIGRATIONS), OLDEST),
            )
        elif version < len(MIGRATIONS):
            connection.execute(
                "update allstop.store set version = %s, oldest = greatest(oldest, %s)",
                (len(MIGRATIONS), OLDEST),
            )
