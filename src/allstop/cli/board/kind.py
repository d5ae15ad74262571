"""The kind `board` in the terminal: resumes the board, or one of its tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allstop.cli.terminal_kind import TerminalKind

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.app.runs.status import RunRecord
    from allstop.app.supervisor import RunKind


class BoardTerminal(TerminalKind):
    async def resume(
        self, project: Project, recorded: RunRecord, kind: RunKind, *, as_json: bool
    ) -> int:
        """Drive the board; to resume a task, start no other one."""
        from allstop.app.board.board_spec import board_spec
        from allstop.app.board.commands import read
        from allstop.cli.board.run_board import run_board
        from allstop.core.ids import BOARD, label_of

        known = await read(project)
        is_all = recorded.run == BOARD
        only = [] if is_all else [label_of(recorded.run)]
        spec = board_spec(project, mode=known.state.chosen, only=None if is_all else only)
        return await run_board(
            project, spec, lambda state: [], only=only, known=known, as_json=as_json
        )
