"""Measures memory during a real agent's turn with an endless answer."""

from pathlib import Path

from allstop.testing.agent_contract import RecordingWatch

MOST_MB = 50


class MemoryMeter(RecordingWatch):
    """A watch that ignores the text and measures this process's memory."""

    def __init__(self):
        super().__init__()
        self.chars = 0
        self._pieces = 0
        self._before = self._most = memory_mb()

    @property
    def grown_mb(self):
        return self._most - self._before

    def live(self, live):
        self.chars += len(live.text)
        self._pieces += 1
        if self._pieces % 100 == 0:
            self._most = max(self._most, memory_mb())


def memory_mb():
    """Resident memory of this process."""
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.split("\n") if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024
