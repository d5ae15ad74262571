"""The helm reader: folds the commands to all runs, once per process."""

from allstop.core.helm import Helm, steer
from allstop.core.ids import HELM
from allstop.ports import Journal


class HelmReader:
    """The helm's state as this process knows it."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.helm = Helm()
        self.seq = 0

    async def catch_up(self) -> None:
        for record in await self._journal.read(HELM, after=self.seq):
            if record.seq > self.seq:  # a concurrent call may have folded it
                self.helm, self.seq = steer(self.helm, record.event), record.seq
