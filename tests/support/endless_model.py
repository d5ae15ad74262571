"""Turns of real agents whose model never stops talking: what of it stays in this process."""

from pathlib import Path

from allstop.testing.agent_contract import RecordingWatch

MOST_MB = 50


class Scales(RecordingWatch):
    """Keeps nothing of what is said; weighs this process while it is said."""

    def __init__(self):
        super().__init__()
        self.chars = 0
        self._pieces = 0
        self._before = self._most = weight_mb()

    @property
    def grown_mb(self):
        return self._most - self._before

    def live(self, live):
        self.chars += len(live.text)
        self._pieces += 1
        if self._pieces % 100 == 0:
            self._most = max(self._most, weight_mb())


def weight_mb():
    """Of this process, in memory."""
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.split("\n") if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024
