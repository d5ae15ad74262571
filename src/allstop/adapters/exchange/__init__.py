"""Tasks from other programs' files, and Allstop's tasks as files."""

from allstop.adapters.exchange.allstop_export import source_of
from allstop.adapters.exchange.file_errors import ImportFileError
from allstop.adapters.exchange.formats import FORMATS, Format, read_tasks, write_tasks

__all__ = ["FORMATS", "Format", "ImportFileError", "read_tasks", "source_of", "write_tasks"]
