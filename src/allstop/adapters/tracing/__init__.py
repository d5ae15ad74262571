"""Traces for OpenTelemetry, an optional extra; `otlp` is imported only if it is switched on."""

import importlib.util
from contextlib import suppress

MISSING = 'traces need OpenTelemetry: in the clone of Allstop, pipx install --force ".[otel]"'


def is_installed() -> bool:
    with suppress(ModuleNotFoundError):
        return importlib.util.find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    return False
