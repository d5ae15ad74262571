"""Imports tasks from other programs' files, and exports Allstop's tasks."""

from allstop.adapters.exchange.allstop_export import source_of
from allstop.adapters.exchange.file_errors import ImportFileError
from allstop.adapters.exchange.formats import FORMATS, Format, read_tasks, write_tasks

__all__ = ["FORMATS", "Format", "ImportFileError", "read_tasks", "source_of", "write_tasks"]
