"""Which convention tells what a span is, and what it is."""

import re

from dashboard.ingest.conventions.attributes import first
from dashboard.ingest.conventions.content import haystack, vercel
from dashboard.ingest.conventions.convention import Convention, Kind
from dashboard.ingest.conventions.spans import Attributes, Span
from dashboard.ingest.conventions.tables import (
    CONVENTIONS,
    GENAI,
    NO_CALLS,
    NOT_TURNS,
    OF_EVENT,
    OLDER_CALL,
    OLDER_MODEL,
)
from dashboard.ingest.conventions.vendor_tables import HAYSTACK, MASTRA

#: A span that Logfire sends while another is under way; the other follows with its own id.
_PENDING = "pending_span"
_COMPONENT = "haystack.component.run"
#: How a span of a call is named by OpenTelemetry's conventions, and whose spans of failed calls hold nothing else.
_NAMED = re.compile(r"(chat|text_completion|generate_content) (\S+)")
_NAME_ONLY = "openlit."
_TOLD_BY = tuple((name, convention) for convention in CONVENTIONS for name in convention.told_by)


def is_about_a_model(span: Span) -> bool:
    """Whether anything of it is kept beside its place in the trace."""
    return kind_of(span) is not None


def kind_of(span: Span) -> tuple[Convention, Kind] | None:
    """Which convention tells what the span is."""
    attributes = span.attributes
    if attributes.get("logfire.span_type") == _PENDING or span.name.endswith(NO_CALLS):
        return None
    if span.scope == OF_EVENT[0] and OF_EVENT[1] in attributes:
        return None
    for name, convention in _TOLD_BY:
        if name in attributes and span.scope.startswith(convention.scope):
            kind = convention.kinds.get(str(attributes[name] or "").strip('"').casefold())  # MLflow writes JSON
            if kind is not None:
                return convention, kind
            if convention.scope:  # of its other spans, the name of the agent stands in another of these attributes
                return None
    if not attributes:
        return (GENAI, Kind.CALL) if named_in(span) else None
    if not MASTRA.kinds.keys().isdisjoint(attributes):
        return _of_mastra(attributes)
    if (kind := HAYSTACK.kinds.get(span.name)) is not None:
        is_told = span.name != _COMPONENT or haystack.is_generator(span)
        return (HAYSTACK, kind) if is_told else None
    operation = str(attributes.get("gen_ai.operation.name") or "").casefold()
    if operation in NOT_TURNS or first(attributes, OLDER_MODEL) is None:
        return None
    is_call = first(attributes, OLDER_CALL) is not None or any(
        event.name.startswith("gen_ai.") for event in span.events
    )
    return (GENAI, Kind.CALL) if is_call else None


def named_in(span: Span) -> Attributes:
    """What the name of a failed call's span tells, where the instrumentation writes attributes for an answer only."""
    is_told = span.failed and not span.attributes and span.scope.startswith(_NAME_ONLY)
    found = _NAMED.fullmatch(span.name) if is_told else None
    return {} if found is None else {
        "gen_ai.operation.name": found[1],
        "gen_ai.request.model": found[2],
        "gen_ai.provider.name": span.scope.rpartition(".")[2],
    }  # fmt: skip


def _of_mastra(attributes: Attributes) -> tuple[Convention, Kind] | None:
    """A piece of a stream is told of only where it is a tool call: a text stands whole on the span of its call."""
    kind = next(kind for name, kind in MASTRA.kinds.items() if name in attributes)
    is_told = kind is not Kind.ASKED or vercel.asked_in_piece(attributes) is not None
    return (MASTRA, kind) if is_told else None
