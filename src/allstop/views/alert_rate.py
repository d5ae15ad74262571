"""The rate limit of alerts: at most ten a minute, then one summary of the others."""

from datetime import datetime, timedelta

from msgspec import Struct

from allstop.views.alerts import Alert, Level

MAX_ALERTS = 10
SPAN = timedelta(minutes=1)


class AlertRate(Struct, frozen=True):
    sent: tuple[datetime, ...] = ()  # the latest, oldest first
    left_out: tuple[Alert, ...] = ()


def admit(rate: AlertRate, alert: Alert, now: datetime) -> tuple[AlertRate, bool]:
    """Decide whether an alert may be sent now; a stop always may."""
    recent = tuple(at for at in rate.sent if now - SPAN < at <= now)
    if len(recent) < MAX_ALERTS or alert.level is Level.STOPPED:
        return AlertRate((*recent, now), rate.left_out), True
    return AlertRate(recent, (*rate.left_out, alert)), False


def wait_s(rate: AlertRate, now: datetime) -> float:
    """Return the seconds until another alert may be sent."""
    if len(rate.sent) < MAX_ALERTS:
        return 0.0
    return max(0.0, (rate.sent[-MAX_ALERTS] + SPAN - now).total_seconds())


def summarize_left_out(rate: AlertRate, now: datetime) -> tuple[AlertRate, Alert | None]:
    """Return one alert for all that were left out, and clear them."""
    if not rate.left_out:
        return rate, None
    last = rate.left_out[-1]
    if len(rate.left_out) == 1:
        return AlertRate((*rate.sent, now)), last
    levels = [alert.level for alert in rate.left_out]
    summary = Alert(
        level=max(levels, key=_WEIGHT.index),
        title=f"… and {len(levels)} more",
        text=f"The latest: {last.title}. See: allstop status",
        run=last.run,
        at=now,
    )
    return AlertRate((*rate.sent, now)), summary


_WEIGHT = (Level.INFO, Level.DONE, Level.STOPPED, Level.ERROR, Level.NEEDS_YOU)
