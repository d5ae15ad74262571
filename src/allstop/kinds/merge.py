"""A merge as a kind of run."""

from allstop.merges.pilot import MergePilot
from allstop.views.kind import Kind


class MergeKind(Kind):
    pilot = MergePilot()
    waits_as = "merge"
