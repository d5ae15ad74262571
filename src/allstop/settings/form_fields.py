"""Form fields: the input control of each setting on the page."""

from enum import StrEnum

from msgspec.inspect import (
    BoolType,
    EnumType,
    FloatType,
    IntType,
    StrType,
    StructType,
    Type,
    VarTupleType,
)

from allstop.settings.schema import bare
from allstop.settings.value_types import choices


class Form(StrEnum):
    SWITCH = "switch"
    CHOICE = "choice"
    NUMBER = "number"
    TEXT = "text"
    LINES = "lines"  # a list of strings
    TABLES = "tables"  # any other value, as JSON


def form_of(kind: Type) -> Form:
    match bare(kind):
        case BoolType():
            return Form.SWITCH
        case EnumType():
            return Form.CHOICE
        case IntType() | FloatType():
            return Form.NUMBER
        case StrType():
            return Form.TEXT
        case VarTupleType(item_type=item) if not isinstance(bare(item), StructType):
            return Form.LINES
        case _:
            return Form.TABLES


def choices_of(kind: Type) -> tuple[str, ...]:
    match bare(kind):
        case EnumType(cls=cls):
            return choices(cls)
        case _:
            return ()
