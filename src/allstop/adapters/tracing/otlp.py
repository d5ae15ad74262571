"""Spans on their way to a collector, by OTLP over HTTP, from a thread that nobody waits for."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)

from allstop import __version__
from allstop.views.trace_spans import Span, digest

TIMEOUT_S = 5.0
LARGEST_LOG = 256 * 1024

Send = Callable[[Span], None]


@contextmanager
def sending(endpoint: str | None, log: Path) -> Iterator[Send]:
    """What it is given is sent by and by; at the end what is left is waited for, 5 s at most.

    What goes wrong is written to `log`: nobody who works is disturbed by it.
    """
    named = {"service.name": "allstop", "service.version": __version__}
    ids = _NamedIds()
    with _logging_to(log):
        provider = TracerProvider(
            resource=Resource(named).merge(_of_environment()),
            id_generator=ids,
            shutdown_on_exit=False,
        )
        where = _for_traces(endpoint) if endpoint else None
        exporter = OTLPSpanExporter(endpoint=where, timeout=TIMEOUT_S)
        provider.add_span_processor(BatchSpanProcessor(exporter))
        try:
            yield lambda span: _send(provider, ids, span)
        finally:
            last = threading.Thread(target=provider.shutdown, name="traces", daemon=True)
            last.start()
            last.join(TIMEOUT_S)


class _NamedIds(IdGenerator):
    """Ids are given, not drawn: the same span has the same one whoever tells of it."""

    def __init__(self) -> None:
        self.trace = 0
        self.span = 0

    def generate_trace_id(self) -> int:
        return self.trace

    def generate_span_id(self) -> int:
        return self.span


def _of_environment() -> Resource:
    """What OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say, which wins over our own names."""
    found = Resource.create().attributes
    is_made_up = str(found.get("service.name", "")).startswith("unknown_service")
    return Resource({k: v for k, v in found.items() if not (is_made_up and k == "service.name")})


def _for_traces(endpoint: str) -> str:
    """As the variable OTEL_EXPORTER_OTLP_ENDPOINT is read: the path is added."""
    return endpoint.rstrip("/").removesuffix("/v1/traces") + "/v1/traces"


def _send(provider: TracerProvider, ids: _NamedIds, span: Span) -> None:
    ids.trace, ids.span = digest(span.trace, 16), digest(f"{span.trace} {span.key}", 8)
    around = Context()
    if span.parent:
        around = set_span_in_context(NonRecordingSpan(_parent(span)), around)
    made = provider.get_tracer("allstop", __version__).start_span(
        span.name,
        context=around,
        kind=SpanKind.CLIENT if span.is_call else SpanKind.INTERNAL,
        attributes=span.attributes,
        start_time=_nanoseconds(span.began),
    )
    for mark in span.marks:
        made.add_event(mark.name, mark.attributes, _nanoseconds(mark.at))
    if span.error:
        made.set_status(Status(StatusCode.ERROR, span.error))
    made.end(_nanoseconds(span.ended))


def _parent(span: Span) -> SpanContext:
    return SpanContext(
        trace_id=digest(span.trace, 16),
        span_id=digest(f"{span.trace} {span.parent}", 8),
        is_remote=False,
        trace_flags=TraceFlags(TraceFlags.SAMPLED),
    )


def _nanoseconds(at: datetime) -> int:
    return int(at.timestamp() * 1_000_000) * 1000


@contextmanager
def _logging_to(path: Path) -> Iterator[None]:
    """It would write to the terminal otherwise, over whatever is shown there."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handler = RotatingFileHandler(path, maxBytes=LARGEST_LOG, backupCount=1, delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger = logging.getLogger("opentelemetry")
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        handler.close()
