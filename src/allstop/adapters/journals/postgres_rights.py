"""Rights in a journal's database: the functions by which others write, and roles with few rights."""

FUNCTIONS = """
alter table allstop.processes add column drained_by text not null default '';

alter function allstop.append(uuid, jsonb, bytea[])
    security definer set search_path = pg_catalog, pg_temp;
alter function allstop.claim(uuid, text, uuid)
    security definer set search_path = pg_catalog, pg_temp;
alter function allstop.release(uuid, text, bigint)
    security definer set search_path = pg_catalog, pg_temp;

create function allstop.register(
    me uuid, its_host text, its_world text, its_pid integer, its_start text, its_worker text,
    its_command text, at timestamptz, lease_s double precision, facts jsonb
) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
    insert into allstop.processes
        (id, host, world, pid, started, worker, command, since, seen_at, lease, about)
        values (me, its_host, its_world, its_pid, its_start, its_worker, its_command, at,
            now(), make_interval(secs => lease_s), facts)
    on conflict (id) do update
        set seen_at = now(), lease = excluded.lease, about = excluded.about;
$$;

create function allstop.leave(me uuid) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
    delete from allstop.claims where process = me;
$$;

create function allstop.drain(which uuid, who text) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
    update allstop.processes set drained_by = who where id = which;
    select pg_notify('allstop', 'drain');
$$;

create function allstop.prune() returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
    delete from allstop.writes where made_at < now() - interval '1 day';
    delete from allstop.processes p where seen_at < now() - interval '7 days'
        and not exists (select from allstop.claims c where c.process = p.id);
$$;

create function allstop.name_repository(name text) returns void
language sql security definer set search_path = pg_catalog, pg_temp as $$
    update allstop.store set repository = name where repository = '';
$$;
"""
"""Whoever may call these can add to the record, but can't change or remove any of it.

They run with the rights of their owner. The functions that only these call don't.
"""

ROLES_SQL = """\
-- Roles with few rights for the database that this runs in. Run it as a superuser, before or after
-- the tables are made, and again after an upgrade. It can run any number of times.
--
--   PREFIX_owner   makes and upgrades the tables: allstop fleet init
--   PREFIX_worker  for workers and control rooms: adds to the record, never changes or removes any
--   PREFIX_reader  reads the record: allstop status, log, list, usage
--
-- None has a password. Give each machine a login of its own, which can be taken back alone:
--
--   create role "build-1" login in role "PREFIX_worker";
--   \\password build-1
begin;

do $roles$
declare
    each text;
begin
    foreach each in array array['PREFIX_owner', 'PREFIX_worker', 'PREFIX_reader'] loop
        if not exists (select from pg_roles where rolname = each) then
            execute format('create role %I', each);
        end if;
        execute format('revoke all on database %I from public', current_database());
        execute format('grant connect on database %I to %I', current_database(), each);
    end loop;
    execute format('grant create on database %I to "PREFIX_owner"', current_database());
end
$roles$;
alter role "PREFIX_owner" login;
revoke create on schema public from public;

create schema if not exists allstop;
alter schema allstop owner to "PREFIX_owner";
-- the queue by which runs are handed out: workers may change it, because the record is elsewhere
create schema if not exists allstop_queue;
alter schema allstop_queue owner to "PREFIX_owner";
do $owner$
declare
    ours regnamespace[] := array['allstop', 'allstop_queue'];
    each record;
begin
    for each in
        select format('alter table %s owner to "PREFIX_owner"', c.oid::regclass) as change
            from pg_class c where c.relnamespace = any(ours) and c.relkind = 'r'
        union all
        select format('alter sequence %s owner to "PREFIX_owner"', c.oid::regclass)
            from pg_class c where c.relnamespace = any(ours) and c.relkind = 'S'
                and not exists (select from pg_depend d
                    where d.objid = c.oid and d.deptype in ('i', 'a'))
        union all
        select format('alter type %s owner to "PREFIX_owner"', t.oid::regtype)
            from pg_type t where t.typnamespace = any(ours) and t.typtype = 'e'
        union all
        select format('alter function %s owner to "PREFIX_owner"', p.oid::regprocedure)
            from pg_proc p where p.pronamespace = any(ours)
    loop
        execute each.change;
    end loop;
end
$owner$;

revoke all on schema allstop from public;
grant usage on schema allstop to "PREFIX_worker", "PREFIX_reader";
revoke all on all tables in schema allstop from public;
revoke all on all functions in schema allstop from public;
grant select on all tables in schema allstop to "PREFIX_worker", "PREFIX_reader";
grant execute on all functions in schema allstop to "PREFIX_worker";
-- the same for what later versions add
alter default privileges for role "PREFIX_owner" revoke execute on functions from public;
alter default privileges for role "PREFIX_owner" in schema allstop
    grant execute on functions to "PREFIX_worker";
alter default privileges for role "PREFIX_owner" in schema allstop
    grant select on tables to "PREFIX_worker", "PREFIX_reader";

revoke all on schema allstop_queue from public;
grant usage on schema allstop_queue to "PREFIX_worker", "PREFIX_reader";
revoke all on all tables in schema allstop_queue from public;
revoke all on all functions in schema allstop_queue from public;
grant select on all tables in schema allstop_queue to "PREFIX_reader";
grant select, insert, update, delete on all tables in schema allstop_queue to "PREFIX_worker";
grant usage on all sequences in schema allstop_queue to "PREFIX_worker";
grant execute on all functions in schema allstop_queue to "PREFIX_worker";
alter default privileges for role "PREFIX_owner" in schema allstop_queue
    grant select on tables to "PREFIX_reader";
alter default privileges for role "PREFIX_owner" in schema allstop_queue
    grant select, insert, update, delete on tables to "PREFIX_worker";
alter default privileges for role "PREFIX_owner" in schema allstop_queue
    grant usage on sequences to "PREFIX_worker";
alter default privileges for role "PREFIX_owner" in schema allstop_queue
    grant execute on functions to "PREFIX_worker";
commit;
"""


def roles_sql(prefix: str) -> str:
    """The SQL that makes the roles; their names begin with the prefix."""
    return ROLES_SQL.replace("PREFIX", prefix)
