"""The event stream: each event once and in order, across reconnects and restarts."""

import itertools
import socket

import pytest

from support.control_room import texts
from support.person import wait_for


def _is(text):
    return lambda event: event.kind == "log" and event.data["text"].endswith(text)


def _adds(number):
    return _is(f"adds T{number}")


def test_what_another_process_writes_is_heard(room):
    with room.listen() as stream:
        room.person.allstop("add", "one")

        heard = stream.until(lambda event: event.kind == "task")

    assert texts(heard) == ["board opened: the board", "user: adds T1"]
    kinds = {event.kind: event.data for event in heard}
    assert kinds["hold"]["hold"] == "running"
    assert kinds["task"]["id"] == "T1"
    assert kinds["task"]["status"] == "pending"


def test_a_log_event_has_the_fields_that_were_promised(room):
    with room.listen("?kinds=log") as stream:
        room.person.allstop("add", "one")
        event = stream.until(_adds(1))[-1].data

    assert set(event) == {"run", "seq", "at", "mark", "text", "type"}
    assert (event["run"], event["seq"], event["type"]) == ("board", 2, "commanded")


def test_only_what_is_wanted_is_heard(room):
    with room.listen("?kinds=task") as tasks, room.listen("?run=elsewhere&kinds=log") as none:
        room.do("board", "add_task", title="one")
        room.do("all", "pause")
        room.do("board", "add_task", title="two")

        assert [tasks.next().data["id"] for _ in range(2)] == ["T1", "T2"]
        # of the other nothing has come; the end of the stream is the next thing it hears
        room.close()
        assert none.next() is None


def test_who_asks_for_the_head_of_the_stream_does_not_listen(still_room):
    asked = (
        f"HEAD /api/v1/stream HTTP/1.1\r\nHost: {still_room.host}\r\n"
        f"Authorization: Bearer {still_room.token}\r\nConnection: close\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", still_room.port), timeout=10) as connection:
        connection.sendall(asked.encode())
        said = b""
        while more := connection.recv(65536):  # to the end, which comes
            said += more

    assert said.startswith(b"HTTP/1.1 200")
    assert b"text/event-stream" in said


@pytest.mark.parametrize("query", ["?kinds=nonsense", "?after=nonsense", "?other=1"])
def test_a_wish_that_makes_no_sense_is_refused(still_room, query):
    answer = still_room.get(f"/stream{query}")

    assert answer.status == 422


def test_a_reconnect_misses_nothing_and_repeats_nothing(room):
    ids, last = [], None
    for round_ in range(4):
        with room.listen("?kinds=log", last) as stream:
            room.do("board", "add_task", title=f"a{round_}")
            room.do("board", "add_task", title=f"b{round_}")
            heard = stream.until(_adds(2 * round_ + 1))  # and goes away before the second
            last = stream.last
        ids += texts(heard)
    with room.listen("?kinds=log", last) as stream:
        ids += texts(stream.until(_adds(8)))

    assert ids == [
        "board opened: the board",
        *(f"user: adds T{number}" for number in range(1, 9)),
    ]


def test_nothing_is_lost_over_kill_and_restart(room):
    """The record is the stream: what was written while nobody served is heard too."""
    heard, last = [], None
    for number in range(1, 4):
        with room.listen("?kinds=log", last) as stream:
            room.do("board", "add_task", title=f"t{number}")
            heard += texts(stream.until(_adds(3 * number - 2)))
            room.do("board", "add_task", title=f"u{number}")
            room.kill()
            last = stream.last
        room.person.allstop("add", f"v{number}")
        room.open()
    with room.listen("?kinds=log", last) as stream:
        heard += texts(stream.until(_adds(9)))

    assert heard == [
        "board opened: the board",
        *(f"user: adds T{number}" for number in range(1, 10)),
    ]


def test_after_a_restart_a_returning_listener_is_told_to_fetch_views_again(room):
    room.do("board", "add_task", title="one")
    with room.listen() as stream:
        stream.next()
        last = stream.last
    room.close()
    room.open()

    with room.listen("", last) as stream:
        first = stream.next()

    assert (first.kind, first.data) == ("reset", {"lost": False})


def test_an_id_of_another_store_is_told_that_all_is_to_be_fetched_again(room):
    with room.listen("", "999999.0") as stream:
        first = stream.next()
        room.do("board", "add_task", title="one")
        rest = stream.until(_adds(1))

    assert (first.kind, first.data) == ("reset", {"lost": True})
    assert texts(rest)[-1] == "user: adds T1"


def test_words_in_flight_have_no_id_and_are_not_repeated(room):
    with room.listen() as stream:
        room.post("/runs", {"kind": "task", "prompt": "do it"})
        heard = stream.until(lambda event: event.kind == "task" and event.data["status"] == "done")
    live = [event for event in heard if event.kind == "live"]
    assert "I write it." in "".join(event.data["text"] for event in live)
    with room.listen("", heard[0].id) as stream:
        again = stream.until(lambda event: event.kind == "task" and event.data["status"] == "done")

    assert texts(again) == texts(heard)
    ids = [event.id for event in heard if event.kind not in ("live", "reset")]
    assert len(set(ids)) == len(ids)
    assert all(event.id in ids for event in live)  # the id of what came before


def _at_work(room):
    """One task, whose agent thinks for a long time."""
    room.person.script('repeat = true\n[[turn]]\nsteps = [{ say = "I think." }, { sleep = 600 }]\n')
    room.person.commit()
    room.post("/runs", {"kind": "task", "prompt": "think"})
    wait_for(lambda: room.read("/board")["counts"] == {"active": 1}, "it is at work")


def _is_task(status):
    return lambda event: event.kind == "task" and event.data["status"] == status


def _last(events, kind):
    return [event.data for event in events if event.kind == kind][-1]


def test_u1_a_stop_and_its_end_are_told_of_every_task_at_work(room):
    _at_work(room)
    with room.listen("?kinds=task,board") as stream:
        room.post("/allstop")
        stopped = stream.until(_is_task("pending"))
        board = room.read("/board")
        room.do("all", "resume")
        resumed = stream.until(_is_task("active"))
        again = room.read("/board")

    assert _last(stopped, "board")["counts"] == {"pending": 1}
    assert (board["counts"], board["tasks"][0]["status"]) == ({"pending": 1}, "pending")
    assert [task["id"] for task in room.read("/board?status=active")["tasks"]] == ["T1"]
    assert _last(resumed, "board")["counts"] == {"active": 1}
    assert (again["counts"], again["tasks"][0]["status"]) == ({"active": 1}, "active")


def test_200_who_listen_are_let_go_when_it_ends(room):
    """Q10 in part: bench/stream.py has the figures."""
    streams = [room.listen() for _ in range(200)]
    opened = [stream.__enter__() for stream in streams]
    for stream in opened:
        stream.next()
    wait_for(lambda: "allstop_listeners 200" in room.ask("GET", "/metrics").body.decode(), "all")

    code = room.close()

    assert code == 0
    assert [stream.next() for stream in opened] == [None] * 200
    for stream in streams:
        stream.__exit__(None, None, None)


def test_q10_one_who_takes_nothing_of_the_stream_holds_nobody_up_at_the_end(room):
    """Its end is not the one that waits until patience is over."""
    with room.listen("?kinds=task") as stuck, room.listen("?kinds=task") as other:
        for number in range(12):
            room.do("board", "add_task", title=f"t{number}", body="x" * 900_000)
        other.until(lambda event: event.data["id"] == "T12")

        code = room.close()

        assert code == 0
        assert other.next() is None
        del stuck  # it was there all the time
    log = room.person.repository / ".allstop" / "logs" / "server.log"
    assert log.read_text() == ""


def test_ids_grow(room):
    with room.listen() as stream:
        for number in range(5):
            room.do("board", "add_task", title=f"t{number}")
        heard = stream.until(_adds(5))

    places = [tuple(map(int, event.id.split("."))) for event in heard]
    assert all(one <= other for one, other in itertools.pairwise(places))
