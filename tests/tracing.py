"""What tests have processes set up for their spans: `tracing_setup="tests.tracing:in_memory"`."""

import json
import os
from collections.abc import Sequence

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

SPANS = InMemorySpanExporter()


def in_memory() -> None:
    """Keep every span of this process in `SPANS`."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(SPANS))
    trace.set_tracer_provider(provider)


def to_file() -> None:
    """Append every span of this process to the file that `HINDSIGHT_TEST_SPANS` names."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(_File(os.environ["HINDSIGHT_TEST_SPANS"])))
    trace.set_tracer_provider(provider)


class _File(SpanExporter):
    def __init__(self, path: str) -> None:
        self._path = path

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        with open(self._path, "a", encoding="utf-8") as file:  # noqa: PTH123 - one short write
            for span in spans:
                told = {"name": span.name, "attributes": dict(span.attributes or {})}
                file.write(json.dumps(told) + "\n")
        return SpanExportResult.SUCCESS
