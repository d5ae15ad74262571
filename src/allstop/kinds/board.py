"""The board as a kind of run."""

from allstop.board.board_pilot import BoardPilot, BoardState
from allstop.core.run import RunState
from allstop.views.kind import Kind


class BoardKind(Kind):
    pilot = BoardPilot()
    is_endless = True

    def board(self, state: RunState[BoardState]) -> BoardState:
        return state.pilot
