"""Errors of calls by API."""

from allstop.adapters.agents.provider_errors import TOO_LONG, Fault
from allstop.core.moves import FailureKind


class CallError(Exception):
    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def invalid_reply(why: str) -> CallError:
    """The provider's response is incomplete or not valid."""
    return CallError(Fault(message=why, kind=FailureKind.NETWORK))


def rejected_reply(why: str) -> CallError:
    """The model responded, but not with a usable reply."""
    return CallError(Fault(message=why, kind=FailureKind.BAD_REQUEST))


def redact_key(message: str, key: str) -> str:
    """The message without the key. A very short key is kept: it may be an ordinary word."""
    return message.replace(key, "[the key]") if len(key) > 8 else message


def rejects_parameters(fault: Fault, names: tuple[str, ...]) -> bool:
    """Whether the server says that it doesn't accept one of these parameters."""
    named = any(name in fault.message for name in names)
    return fault.status in (400, 422) and named and not TOO_LONG.search(fault.message)


def is_unknown_path(fault: Fault) -> bool:
    """Whether the server doesn't know the URL; a missing model doesn't count."""
    return fault.status in (404, 405, 501) and not any(
        "model" in words for words in (*fault.codes, fault.message)
    )
