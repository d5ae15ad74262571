"""The failure of a turn that asks a driver without conversations to fork one."""

from allstop.core.moves import Failed, FailureKind

CANNOT_FORK = Failed(
    kind=FailureKind.BAD_REQUEST,
    message="this agent can't fork a conversation: its driver keeps none between turns",
)
