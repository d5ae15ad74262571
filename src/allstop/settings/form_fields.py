"""Form fields: the input control of each setting on the page."""

from enum import StrEnum

from msgspec import inspect

from allstop.settings.schema import bare
from allstop.settings.value_types import choices


class Form(StrEnum):
    SWITCH = "switch"
    CHOICE = "choice"
    NUMBER = "number"
    TEXT = "text"
    LINES = "lines"  # a list of strings
    TABLES = "tables"  # any other value, as JSON


def form_of(kind: inspect.Type) -> Form:
    match bare(kind):
        case inspect.BoolType():
            return Form.SWITCH
        case inspect.EnumType():
            return Form.CHOICE
        case inspect.IntType() | inspect.FloatType():
            return Form.NUMBER
        case inspect.StrType():
            return Form.TEXT
        case inspect.VarTupleType(item_type=item) if not isinstance(bare(item), inspect.StructType):
            return Form.LINES
        case _:
            return Form.TABLES


def choices_of(kind: inspect.Type) -> tuple[str, ...]:
    match bare(kind):
        case inspect.EnumType(cls=cls):
            return choices(cls)
        case _:
            return ()
