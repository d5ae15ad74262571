"""Runs a program to its end, keeping only the last part of its output."""

import codecs
from collections import deque

import anyio

from allstop.ports import Child, Launch, Launcher, Live, Progress, Stream

KEPT_BYTES = 64 * 1024

_decoder = codecs.getincrementaldecoder("utf-8")

PIPE_BYTES = 4000
"""An empty pipe takes this much without a reader: the smallest pipe has one page of 4,096 bytes."""


class Tail:
    """The last bytes of a stream of any length."""

    def __init__(self, most: int = KEPT_BYTES) -> None:
        self._most = most
        self._chunks: deque[bytes] = deque()
        self._kept = 0
        self._seen = 0

    def add(self, data: bytes) -> None:
        self._chunks.append(data)
        self._kept += len(data)
        self._seen += len(data)
        while self._kept - len(self._chunks[0]) >= self._most:
            self._kept -= len(self._chunks.popleft())

    def text(self) -> str:
        kept = b"".join(self._chunks)[-self._most :]
        text = kept.decode(errors="replace")
        gone = self._seen - len(kept)
        return f"[… {gone:,} bytes …]\n{text}" if gone else text


async def run_to_end(
    launcher: Launcher,
    launch: Launch,
    stdin: bytes,
    out: Tail,
    live: Progress,
    err: Tail | None = None,
) -> int:
    """Run a program and return its exit code. Standard error goes to `err`, or else to `out`."""
    async with launcher.launch(launch) as child:
        if len(stdin) <= PIPE_BYTES:
            await _feed(child, stdin)
            return await _read_output(child, out, err or out, live)
        async with anyio.create_task_group() as group:
            group.start_soon(_feed, child, stdin)
            code = await _read_output(child, out, err or out, live)
            group.cancel_scope.cancel()  # it ended without reading all input
    return code


async def _feed(child: Child, stdin: bytes) -> None:
    await child.send(stdin)
    await child.close_input()


async def _read_output(child: Child, out: Tail, err: Tail, live: Progress) -> int:
    out_decoder, err_decoder = _decoder("replace"), _decoder("replace")
    while (chunk := await child.receive()) is not None:
        tail, decoder = (out, out_decoder) if chunk.stream is Stream.OUT else (err, err_decoder)
        tail.add(chunk.data)
        live(Live("output", decoder.decode(chunk.data)))
    return (await child.wait()).code
