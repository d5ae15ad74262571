"""Records of a journal as lines of text or JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from allstop.cli.output import echo, print_json_line

if TYPE_CHECKING:
    from allstop.ports import Record
    from allstop.views.log import Line


def as_text(line: Line) -> str:
    local = line.at.astimezone()
    return f"{local:%H:%M:%S}  {line.mark} {line.text}"


def print_records(records: Iterable[Record], *, as_json: bool) -> None:
    from allstop.views.log import lines

    for record in records:
        if as_json:
            event = msgspec.to_builtins(record.event)
            entry = {"run": record.run, "seq": record.seq, **event} | {"run": record.run}
            print_json_line(entry)
        else:
            for line in lines(record.event):
                echo(as_text(line))
