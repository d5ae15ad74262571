"""What a driver says that keeps no conversations, and is asked for a copy of one."""

from __future__ import annotations

from allstop.core.moves import Failed, FailureKind

NO_COPY = Failed(
    kind=FailureKind.BAD_REQUEST,
    message="it can't copy a conversation: its driver keeps none from turn to turn",
)
