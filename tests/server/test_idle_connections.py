"""The protocol disconnects clients that don't read the response."""

import asyncio  # noqa: TID251 - protocols of uvicorn are made of it

import uvicorn
from uvicorn.server import ServerState

from allstop.server.access.idle_connections import WRITE_TIMEOUT_S, TimeoutProtocol


class Timers(asyncio.SelectorEventLoop):
    """Writes down what is to happen later."""

    def __init__(self):
        super().__init__()
        self.due = {}

    def call_later(self, delay, callback, *arguments, context=None):
        timer = super().call_later(10_000, callback, *arguments)
        self.due[delay] = timer
        return timer


class Line(asyncio.Transport):
    def __init__(self):
        super().__init__()
        self.is_cut = False

    def abort(self):
        self.is_cut = True


def _protocol(loop):
    async def nothing(scope, receive, send):
        pass

    config = uvicorn.Config(nothing, log_config=None)
    config.load()
    protocol = TimeoutProtocol(config, ServerState(), {}, _loop=loop)
    line = Line()
    protocol.connection_made(line)
    return protocol, line


def test_q10_who_takes_nothing_for_long_is_let_go():
    loop = Timers()
    protocol, line = _protocol(loop)

    protocol.pause_writing()
    loop.due[WRITE_TIMEOUT_S]._run()

    assert line.is_cut
    loop.close()


def test_q10_who_takes_something_in_time_stays():
    loop = Timers()
    protocol, line = _protocol(loop)

    protocol.pause_writing()
    protocol.resume_writing()

    assert loop.due[WRITE_TIMEOUT_S].cancelled()
    assert not line.is_cut
    loop.close()
