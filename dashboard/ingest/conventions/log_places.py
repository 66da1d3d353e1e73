"""Which span the log events of a trace tell of."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from dashboard.ingest.conventions.convention import Kind
from dashboard.ingest.conventions.span_kinds import kind_of
from dashboard.ingest.conventions.spans import LogEvent, Span

_MESSAGES = "gen_ai."  #: how the names of events begin that are messages of a call
_MOST_BEFORE = 64  #: calls within one span that are looked at, of those that began last before an event


def logs_by_span(spans: Sequence[Span], logs: Iterable[LogEvent]) -> dict[str, list[LogEvent]]:
    """The log events of each span.

    OpenLLMetry writes the answer of a stream once the call's span is not the current one any more, so the event names
    the span around it. It belongs to the call that is under way within that span then, if it is the only one."""
    found: dict[str, list[LogEvent]] = {}
    astray: list[LogEvent] = []
    calls = None
    for log in logs:
        if calls is None:
            calls = [span for span in spans if (told := kind_of(span)) is not None and told[1] is Kind.CALL]
            ids = {span.id for span in calls}
        is_astray = log.span not in ids and log.name.startswith(_MESSAGES)
        (astray if is_astray else found.setdefault(log.span, [])).append(log)
    for log, at in _places(astray, calls or ()):
        found.setdefault(at, []).append(log)
    return found


def _places(logs: Sequence[LogEvent], calls: Iterable[Span]) -> Iterator[tuple[LogEvent, str]]:
    within: dict[str, list[Span]] = {}
    for call in sorted(calls, key=lambda call: (call.start, call.id)) if logs else ():
        within.setdefault(call.parent, []).append(call)
    starts = {span: [call.start for call in its] for span, its in within.items()}
    for log in logs:
        begun = bisect_right(starts.get(log.span, ()), log.at)
        near = within.get(log.span, [])[max(0, begun - _MOST_BEFORE) : begun]
        around = [call.id for call in near if log.at <= call.end]
        yield log, around[0] if len(around) == 1 else log.span
