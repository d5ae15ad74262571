"""Holds of accounts: after a limit, no run of this user calls the account until the hold ends.

A provider's limit applies to the account, not to one task. The holds are kept in one file, so that
other processes and a restart see them. A held turn fails at once with the time at which the hold
ends; the pilots then wait or use another agent, as after any limit.
"""

import os
import tempfile
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
from msgspec import Struct

from allstop.core.moves import Failed, FailureKind, TurnDone
from allstop.core.text import one_line
from allstop.ports import Abilities, Agent, Clock, Turn, Watch

FILE_NAME = "account_holds.json"
FIRST = timedelta(minutes=1)
MOST = timedelta(minutes=30)
"""The first and the longest hold if the provider gave no time; it doubles each time."""

REASON_CHARS = 300
_HOLDING = frozenset({FailureKind.RATE_LIMITED, FailureKind.USAGE_LIMITED, FailureKind.BILLING})


class Hold(Struct, frozen=True, kw_only=True, omit_defaults=True):
    until: datetime
    kind: FailureKind
    reason: str = ""
    said: bool = True  # the provider gave the time
    times: int = 1  # holds in a row for which it gave none
    run: str = ""  # the run that met the limit; without a given time, it may try earlier


class AccountHolds:
    def __init__(self, file: Path, clock: Clock) -> None:
        self._file = file
        self._clock = clock
        self._holds: dict[str, Hold] = {}

    def failure(self, account: str, run: str) -> Failed | None:
        """The failure of a turn that the account can't take now."""
        hold = self._read().get(account)
        if hold is None or hold.until <= self._clock.now():
            return None
        if not hold.said and hold.run == run:
            return None
        message = f"its account is held: {hold.reason}"
        return Failed(kind=hold.kind, message=message, retry_at=hold.until)

    def settle(self, account: str, run: str, result: TurnDone | Failed) -> None:
        """Hold the account after a limit; release it after a turn that went well."""
        holds = dict(self._read())
        before = holds.pop(account, None)
        if isinstance(result, TurnDone):
            is_over = before is not None and (not before.said or before.until <= self._clock.now())
            if is_over:
                self._write(holds)
        elif (hold := self._hold(run, result, before)) is not None:
            self._write({**holds, account: hold})

    def _hold(self, run: str, failed: Failed, before: Hold | None) -> Hold | None:
        now, until, times = self._clock.now(), failed.retry_at, 1
        if failed.kind not in _HOLDING:
            return None
        reason = one_line(failed.message, REASON_CHARS)
        if until is not None and until > now:
            return Hold(until=until, kind=failed.kind, reason=reason, run=run)
        if failed.guessed or failed.kind is FailureKind.BILLING:
            return None  # a person acts, or it may be no limit at all
        if before is not None and before.until > now and before.run != run:
            return None  # another run has met the same limit
        if before is not None and not before.said:
            times = before.times + 1
        span = min(FIRST * 2 ** min(times - 1, 10), MOST)
        return Hold(
            until=now + span, kind=failed.kind, reason=reason, said=False, times=times, run=run
        )

    def _read(self) -> Mapping[str, Hold]:
        try:
            stored = msgspec.json.decode(self._file.read_bytes(), type=dict[str, Hold])
        except (OSError, msgspec.DecodeError):
            return self._holds
        self._holds = stored
        return stored

    def _write(self, holds: Mapping[str, Hold]) -> None:
        """Replace the file as a whole; if that fails, the holds apply to this process only."""
        now = self._clock.now()
        self._holds = {name: hold for name, hold in holds.items() if hold.until > now - MOST}
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self._file.parent, prefix=FILE_NAME)
            with os.fdopen(handle, "wb") as file:
                file.write(msgspec.json.encode(self._holds))
            Path(name).replace(self._file)
        except OSError:
            return


class HeldAgent:
    """An agent whose turns respect the hold of its account."""

    def __init__(self, agent: Agent, holds: AccountHolds, account: str) -> None:
        self._agent = agent
        self._holds = holds
        self._account = account

    @property
    def abilities(self) -> Abilities:
        return self._agent.abilities

    async def take_turn(self, turn: Turn, watch: Watch) -> TurnDone | Failed:
        if (held := self._holds.failure(self._account, turn.run)) is not None:
            return held
        result = await self._agent.take_turn(turn, watch)
        self._holds.settle(self._account, turn.run, result)
        return result

    async def close(self) -> None:
        await self._agent.close()
