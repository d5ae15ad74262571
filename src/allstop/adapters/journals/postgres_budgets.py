"""Counts turns and their model calls in rows, so that writers share a budget without conflicts."""

FUNCTIONS = """
alter table allstop.turns add column own boolean not null default false;
update allstop.turns set own = tokens > 0 where is_open;
create table allstop.calls (
    run text collate "C" not null,
    number bigint not null,
    tokens bigint not null,
    cost bigint not null,
    primary key (run, number)
);

create or replace function allstop.note_turn(name text, at timestamptz, turn jsonb) returns void
language plpgsql as $$
begin
    if turn ? 'reserved' then
        perform allstop.reserve_call(name, turn -> 'reserved');
    elsif turn ? 'settled' then
        perform allstop.settle_call(name, value) from jsonb_array_elements(turn -> 'settled');
    elsif (turn ->> 'ended')::boolean then
        delete from allstop.calls where run = name;
        update allstop.turns set is_open = false, turns = (turn ->> 'turns')::bigint,
                tokens = (turn ->> 'tokens')::bigint, cost = (turn ->> 'cost')::bigint
            where run = name and is_open;
    else
        delete from allstop.calls where run = name;
        delete from allstop.turns where run = name and is_open;
        insert into allstop.turns (run, move, began_at, turns, tokens, cost, own)
            values (name, (turn ->> 'move')::bigint, at, (turn ->> 'turns')::bigint,
                (turn ->> 'tokens')::bigint, (turn ->> 'cost')::bigint,
                (turn ->> 'tokens')::bigint > 0);
    end if;
end
$$;

create function allstop.reserve_call(name text, call jsonb) returns void
language plpgsql as $$
begin
    update allstop.turns set tokens = tokens + (call ->> 'tokens')::bigint,
            cost = cost + (call ->> 'cost')::bigint
        where run = name and is_open and not own;
    if found then
        insert into allstop.calls values (name, (call ->> 'number')::bigint,
            (call ->> 'tokens')::bigint, (call ->> 'cost')::bigint);
    end if;
end
$$;

create function allstop.settle_call(name text, call jsonb) returns void
language plpgsql as $$
declare
    was allstop.calls;
begin
    delete from allstop.calls where run = name and number = (call ->> 'number')::bigint
        returning * into was;
    update allstop.turns
        set tokens = tokens + (call ->> 'tokens')::bigint - coalesce(was.tokens, 0),
            cost = cost + (call ->> 'cost')::bigint - coalesce(was.cost, 0)
        where run = name and is_open and not own;
end
$$;
"""

USED_BELOW = """
create table allstop.used_below (
    run text collate "C" primary key,
    turns bigint not null,
    tokens bigint not null,
    cost bigint not null
);
insert into allstop.used_below
    select array_to_string(parts[1:depth], '/'), sum(turns), sum(tokens), sum(cost)
    from (select string_to_array(run, '/') as parts, turns, tokens, cost from allstop.turns) t,
        generate_series(1, array_length(parts, 1) - 1) as depth
    group by 1;
create index on allstop.turns (run) where is_open;

-- a turn, and what it uses, counts for every run above its own
create function allstop.count_turn() returns trigger
language plpgsql as $$
declare
    above text := coalesce(new.run, old.run);
    more_turns bigint := coalesce(new.turns, 0) - coalesce(old.turns, 0);
    more_tokens bigint := coalesce(new.tokens, 0) - coalesce(old.tokens, 0);
    more_cost bigint := coalesce(new.cost, 0) - coalesce(old.cost, 0);
begin
    while position('/' in above) > 0 loop
        above := regexp_replace(above, '/[^/]*$', '');
        insert into allstop.used_below as u values (above, more_turns, more_tokens, more_cost)
            on conflict (run) do update set turns = u.turns + excluded.turns,
                tokens = u.tokens + excluded.tokens, cost = u.cost + excluded.cost;
    end loop;
    return null;
end
$$;
create trigger count_turn after insert or update or delete on allstop.turns
    for each row execute function allstop.count_turn();

create or replace function allstop.check_room(room jsonb) returns void
language plpgsql as $$
declare
    used record;
begin
    if room ->> 'since' is null then
        select u.turns, u.tokens, u.cost into used
            from allstop.used_below u where u.run = room ->> 'above';
    else
        select coalesce(sum(t.turns), 0) as turns, coalesce(sum(t.tokens), 0) as tokens,
                coalesce(sum(t.cost), 0) as cost
            into used from allstop.turns t where t.began_at >= (room ->> 'since')::timestamptz;
    end if;
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
"""
