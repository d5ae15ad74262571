"""Sends spans to a collector by OTLP over HTTP, from a background thread."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import IdGenerator

from allstop import __version__
from allstop.views.trace_spans import Span, digest

TIMEOUT_S = 5.0
LARGEST_LOG = 256 * 1024

Send = Callable[[Span], None]


@contextmanager
def sending(endpoint: str | None, log: Path) -> Iterator[Send]:
    """Yield a function that queues spans; at the end, wait up to 5 s for the rest.

    Errors are written to `log` and disturb nobody.
    """
    own_attributes = {"service.name": "allstop", "service.version": __version__}
    ids = _NamedIds()
    with _logging_to(log):
        provider = TracerProvider(
            resource=Resource(own_attributes).merge(_environment_resource()),
            id_generator=ids,
            shutdown_on_exit=False,
        )
        traces_url = _traces_url(endpoint) if endpoint else None
        exporter = OTLPSpanExporter(endpoint=traces_url, timeout=TIMEOUT_S)
        provider.add_span_processor(BatchSpanProcessor(exporter))
        try:
            yield lambda span: _send(provider, ids, span)
        finally:
            shutdown = threading.Thread(target=provider.shutdown, name="traces", daemon=True)
            shutdown.start()
            shutdown.join(TIMEOUT_S)


class _NamedIds(IdGenerator):
    """Ids are derived, not random: a span has the same id in every process."""

    def __init__(self) -> None:
        self.trace = 0
        self.span = 0

    def generate_trace_id(self) -> int:
        return self.trace

    def generate_span_id(self) -> int:
        return self.span


def _environment_resource() -> Resource:
    """Return OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES, which override our own names."""
    found = Resource.create().attributes
    is_made_up = str(found.get("service.name", "")).startswith("unknown_service")
    return Resource({k: v for k, v in found.items() if not (is_made_up and k == "service.name")})


def _traces_url(endpoint: str) -> str:
    """Add the path, as for the variable OTEL_EXPORTER_OTLP_ENDPOINT."""
    return endpoint.rstrip("/").removesuffix("/v1/traces") + "/v1/traces"


def _send(provider: TracerProvider, ids: _NamedIds, span: Span) -> None:
    ids.trace, ids.span = digest(span.trace, 16), digest(f"{span.trace} {span.key}", 8)
    parent_context = Context()
    if span.parent:
        parent_context = trace.set_span_in_context(
            trace.NonRecordingSpan(_parent(span)), parent_context
        )
    started = provider.get_tracer("allstop", __version__).start_span(
        span.name,
        context=parent_context,
        kind=trace.SpanKind.CLIENT if span.is_call else trace.SpanKind.INTERNAL,
        attributes=span.attributes,
        start_time=_nanoseconds(span.began),
    )
    for mark in span.events:
        started.add_event(mark.name, mark.attributes, _nanoseconds(mark.at))
    if span.error:
        started.set_status(trace.Status(trace.StatusCode.ERROR, span.error))
    started.end(_nanoseconds(span.ended))


def _parent(span: Span) -> trace.SpanContext:
    return trace.SpanContext(
        trace_id=digest(span.trace, 16),
        span_id=digest(f"{span.trace} {span.parent}", 8),
        is_remote=False,
        trace_flags=trace.TraceFlags(trace.TraceFlags.SAMPLED),
    )


def _nanoseconds(at: datetime) -> int:
    return int(at.timestamp() * 1_000_000) * 1000


@contextmanager
def _logging_to(path: Path) -> Iterator[None]:
    """Log to a file; the default handler would write over the terminal's display."""
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
