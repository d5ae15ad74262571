"""The command `verify`: checks the receipt of a verified tree again on this machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from allstop.cli.output import Context, echo, json_option, print_json, run
from allstop.core.text import one_line

if TYPE_CHECKING:
    from allstop.app.board.receipt_check import ReceiptCheck

FILE = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)


@click.command()
@click.argument("receipt", type=FILE)
@json_option
@click.pass_obj
def verify(context: Context, receipt: Path, as_json: bool) -> int:
    """Check the receipt of a verified tree again.

    A receipt says what the gate ran on a tree and what came out; `allstop show --receipt TASK`
    prints it. This repository, or a remote of it, must have the tree. The same commands run again
    on that tree, in the sandbox. It ends with exit code 1 if a result differs; other versions of tools are only shown.

    \b
    Examples:
      allstop show --receipt T3 > T3.json
      allstop verify T3.json
    """
    from allstop.app.board.receipt_check import check_receipt
    from allstop.gate.receipt import decode

    data = sys.stdin.buffer.read() if str(receipt) == "-" else receipt.read_bytes()
    found = decode(data, "standard input" if str(receipt) == "-" else receipt.name)

    def tell(text: str) -> None:
        if not as_json:
            echo(one_line(text, 300))

    with context.project() as project:
        checked = run(lambda: check_receipt(project, found, tell))
    if as_json:
        print_json(checked)
    else:
        _show(checked)
    return 0 if checked.same else 1


def _show(checked: ReceiptCheck) -> None:
    for each in checked.differences:
        sign, colour = ("✗", "red") if each.counts else ("·", None)
        echo(f"{sign} {one_line(str(each), 500)}", fg=colour)
    if checked.same:
        echo(f"✓ Tree {checked.tree[:10]}: every result is the same.", fg="green")
    else:
        echo(f"✗ Tree {checked.tree[:10]}: results differ.", fg="red")
