"""Tasks from other programs' files, and Allstop's tasks as files."""

from allstop.adapters.exchange.errors import ImportFileError
from allstop.adapters.exchange.formats import FORMATS, Format, read_tasks, write_tasks
from allstop.adapters.exchange.own import source_of

__all__ = ["FORMATS", "Format", "ImportFileError", "read_tasks", "source_of", "write_tasks"]
