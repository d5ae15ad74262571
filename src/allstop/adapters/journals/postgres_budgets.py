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
