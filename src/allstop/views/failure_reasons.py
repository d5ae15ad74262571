"""Why a move failed: what the program does by itself, what a person can do, and the command."""

from collections.abc import Mapping

from msgspec import Struct

from allstop.core.moves import FailureKind


class FailureReason(Struct, frozen=True, gc=False, kw_only=True):
    kind: FailureKind
    meaning: str
    automatic: str  # what the program does by itself
    person: str  # what a person can do
    command: str  # AGENT and RUN stand for names

    def command_for(self, run: str, agent: str) -> str:
        return self.command.replace("RUN", run).replace("AGENT", agent)


_LIMITED = "Waits until the limit ends, or lets the fallback agent continue."
_RETRIED = (
    "A plan tries the step again as `[retry]` says. A task fails; the board goes on with others."
)
_REPEATED = "Repeats the move when the run continues. It costs no retry."
_BRAKED = "Ends the turn, keeps the work and waits for a person."


def _reason(
    kind: FailureKind, meaning: str, automatic: str, person: str, command: str
) -> FailureReason:
    return FailureReason(
        kind=kind, meaning=meaning, automatic=automatic, person=person, command=command
    )


_ALL = (
    _reason(FailureKind.RATE_LIMITED, "The provider got too many requests.", _LIMITED, "Name another agent, or wait.", "allstop resume RUN"),
    _reason(FailureKind.USAGE_LIMITED, "The account's allowance for this period is used up.", _LIMITED, "Name another agent or account, or wait for the reset.", "allstop resume RUN"),
    _reason(FailureKind.BILLING, "The account has no credit, or reached its spending limit.", "Nothing is tried again. An agent with another account continues, and you are told. Without one a plan or a thread waits for you, a task fails, and a room's session ends.", "Pay or raise the limit with the provider, or name another agent.", "allstop resume RUN"),
    _reason(FailureKind.OVERLOADED, "The provider is overloaded.", _LIMITED, "Name another agent, or wait.", "allstop resume RUN"),
    _reason(FailureKind.AUTH, "The agent is not logged in, or its key is refused.", _RETRIED, "Log in, or set the key.", "allstop agents login AGENT"),
    _reason(FailureKind.CONTEXT, "The conversation no longer fits the model.", _RETRIED, "Split the task or the step.", "allstop log RUN"),
    _reason(FailureKind.NETWORK, "The provider could not be reached.", _RETRIED, "Check the network.", "allstop agents test AGENT"),
    _reason(FailureKind.BAD_REQUEST, "The agent or the model refused the request.", _RETRIED, "Change the text of the task or step, or name another agent.", "allstop log RUN"),
    _reason(FailureKind.UNAVAILABLE, "The agent can't be started.", _RETRIED, "Install the agent or correct its command.", "allstop agents test AGENT"),
    _reason(FailureKind.EXITED, "The agent's program ended with an error.", _RETRIED, "Read the end of its output.", "allstop log RUN"),
    _reason(FailureKind.TIMED_OUT, "The turn took too long.", f"Ends the turn and keeps the work. {_RETRIED}", "Raise the time limit, or split the work.", "allstop limit RUN"),
    _reason(FailureKind.STALLED, "The agent printed nothing for too long.", f"Ends the turn and keeps the work. {_RETRIED}", "Raise `[loop] idle_seconds` if the agent is slow.", "allstop log RUN"),
    _reason(FailureKind.CRASHED, "The agent died.", _RETRIED, "Read the end of its output.", "allstop log RUN"),
    _reason(FailureKind.CANCELLED, "A stop, an abort or a limit cut the move off.", _REPEATED, "Resume the run.", "allstop resume RUN"),
    _reason(FailureKind.DISCARDED, "The result arrived after a stop and does not count.", _REPEATED, "Resume the run.", "allstop resume RUN"),
    _reason(FailureKind.INTERRUPTED, "The process that drove the run died.", _REPEATED, "Resume the run.", "allstop resume RUN"),
    _reason(FailureKind.OUT_OF_BUDGET, "A budget is used up.", "Starts no further turn.", "Raise the budget.", "allstop limit RUN"),
    _reason(FailureKind.OUT_OF_ROOM, "The workspace is too large, or the disk is full.", _BRAKED, "Free disk space, or raise the limit of the workspace.", "allstop clean"),
    _reason(FailureKind.OUT_OF_MEMORY, "The agent's programs exceeded their memory limit.", _BRAKED, "Raise `[limits] memory_mb`, or run fewer agents at a time.", "allstop resume RUN"),
    _reason(FailureKind.CAPPED, "The turn reached its token limit.", "Ends the turn, keeps the work and continues in a new turn.", "Raise the agent's token limit.", "allstop limit RUN"),
    _reason(FailureKind.UNSAFE, "There is no sandbox, and running without one was not allowed.", _RETRIED, "Install what the sandbox needs.", "allstop doctor"),
    _reason(FailureKind.CONFLICT, "The work conflicts with changes on the target branch.", "On the board, the agent resolves the conflict in a new turn. A plan waits for a person.", "Resolve the conflict by hand, or let the agent do it.", "allstop diff RUN"),
    _reason(FailureKind.MOVED, "The target branch has changed meanwhile.", "Merges and checks the work again on the new tip.", "Nothing.", "allstop status"),
    _reason(FailureKind.BUSY, "Uncommitted changes in a checkout are in the way.", "Changes nothing in the checkout and waits.", "Commit or stash the changes.", "git status"),
)  # fmt: skip

FAILURE_REASONS: Mapping[FailureKind, FailureReason] = {each.kind: each for each in _ALL}
"""One entry for each kind of failure, in the order of the enum."""
