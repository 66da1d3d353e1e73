"""A span and a log event as any exporter sends them. Ids are hexadecimal, moments nanoseconds since 1970 (UTC)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentcore.values import quickly_made

Attributes = Mapping[str, Any]


@quickly_made
@dataclass(frozen=True, slots=True)
class SpanEvent:
    """An event on a span, or a log event that names the span."""

    name: str
    attributes: Attributes


@quickly_made
@dataclass(frozen=True, slots=True)
class Span:
    """`parent` is empty for the first span of a trace. `failed` and `message` are its status. `dropped`: how many
    attributes its SDK dropped at a limit."""

    trace: str
    id: str
    parent: str
    name: str
    start: int
    end: int
    scope: str = ""  #: the instrumentation's name
    version: str = ""
    service: str = ""
    attributes: Attributes = field(default_factory=dict)
    events: tuple[SpanEvent, ...] = ()
    failed: bool = False
    message: str = ""
    dropped: int = 0


@quickly_made
@dataclass(frozen=True, slots=True)
class LogEvent:
    """A log record that belongs to a span. `at`: 0 where it is not told, or was stored by an earlier release."""

    trace: str
    span: str
    name: str
    attributes: Attributes
    at: int = 0
