"""Which labels are frozen: the latest order that covers a label counts."""

from enum import Enum
from typing import NamedTuple, TypeAlias


class Order(Enum):
    FREEZE = "freeze"
    THAW = "thaw"


class LabelOrder(NamedTuple):
    label: str
    order: Order


Orders: TypeAlias = tuple[LabelOrder, ...]


def covers(label: str, other: str) -> bool:
    """A label covers itself and everything below it; the empty label covers all."""
    return not label or other == label or other.startswith(f"{label}/")


def with_order(orders: Orders, added: LabelOrder) -> Orders:
    kept = tuple(order for order in orders if not covers(added.label, order.label))
    if is_frozen(kept, added.label) is (added.order is Order.FREEZE):
        return kept
    return (*kept, added)


def is_frozen(orders: Orders, label: str) -> bool:
    return next(
        (order.order is Order.FREEZE for order in reversed(orders) if covers(order.label, label)),
        False,
    )
