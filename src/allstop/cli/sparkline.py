"""A row of numbers as one line of blocks."""

from collections.abc import Sequence

BLOCKS = "▁▂▃▄▅▆▇█"
UNKNOWN = "·"


def sparkline(values: Sequence[float | None], most: int) -> str:
    """The last `most` values; the largest is a full block, an unknown one a dot."""
    shown = values[-most:]
    top = max((value for value in shown if value is not None), default=0)
    return "".join(UNKNOWN if value is None else _block(value, top) for value in shown)


def _block(value: float, top: float) -> str:
    return BLOCKS[min(len(BLOCKS) - 1, int(value / top * len(BLOCKS)))] if top else BLOCKS[0]
