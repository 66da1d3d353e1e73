"""Deduplicates calls reported by several spans, such as a provider's SDK and an instrumentation."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from agentcore.values import replace
from dashboard.ingest.assembly.span_tree import SpanTree
from dashboard.ingest.conventions.content.account_merge import merged, unique
from dashboard.ingest.conventions.observations import ModelCall

MOST_TELLING = 8  #: spans of one call; a trace that says more would be compared with itself for hours
SLACK = 20_000_000  #: nanoseconds by which the clock of a span within another may differ
_OF_SDK = "anthropic.message.stop_reason"  #: which only a provider's own SDK writes
_LOG = "log"  #: what Logfire calls a span for the end of a stream


def as_one(calls: Iterable[ModelCall], places: SpanTree) -> list[ModelCall]:
    """The calls, each once, by when they began."""
    groups: list[list[ModelCall]] = []
    above: dict[str, frozenset[str]] = {}
    for call in sorted(calls, key=_order):
        above[call.span.id] = frozenset(places.above(call.span.id))
        group = next((group for group in _near(groups, call) if any(_same(one, call, above) for one in group)), None)
        if group is None:
            groups.append([call])
        else:
            group.append(call)
    return [one_of(_outer_first(group, above)) if len(group) > 1 else group[0] for group in groups]


def _outer_first(group: Sequence[ModelCall], above: Mapping[str, Collection[str]]) -> list[ModelCall]:
    """The group, those first that no other of its spans is around, whatever their clocks say."""
    spans = {call.span.id for call in group}
    return sorted(group, key=lambda call: (not spans.isdisjoint(above[call.span.id]), *_order(call)))


def _order(call: ModelCall) -> tuple[int, int, str]:
    """What began first; of two at once, the one that lasts longer, so that the outer one comes before the inner."""
    return call.span.start, -call.span.end, call.span.id


def _near(groups: list[list[ModelCall]], call: ModelCall) -> Iterator[list[ModelCall]]:
    """The latest groups: those of calls that could be under way when this one began."""
    for group in reversed(groups[-64:]):
        is_at_once = group[0].span.end + SLACK >= call.span.start or _is_log(call)
        if is_at_once and len(group) < MOST_TELLING:
            yield group


def _is_log(call: ModelCall) -> bool:
    return call.span.attributes.get("logfire.span_type") == _LOG


def _same(outer: ModelCall, inner: ModelCall, above: Mapping[str, Collection[str]]) -> bool:
    """`above`: the spans above each. Where clocks count milliseconds, the span within may begin with the outer one and
    end after it, so that it stands in its place."""
    is_within = outer.span.id in above[inner.span.id] or inner.span.id in above[outer.span.id]
    if outer.model and inner.model and outer.model != inner.model and not is_within:
        return False
    if outer.response_id and inner.response_id:
        apart = outer.span.scope != inner.span.scope or is_within
        return outer.response_id == inner.response_id and apart
    if _is_log(inner) and not _is_log(outer):
        return outer.span.parent == inner.span.parent and not outer.words
    is_beside = outer.span.parent == inner.span.parent and outer.span.scope != inner.span.scope
    ends_first = inner.span.end <= outer.span.end + SLACK
    return (is_within or is_beside) and (ends_first or _is_told_alike(outer, inner))


def _is_told_alike(one: ModelCall, other: ModelCall) -> bool:
    """Whether both tell the same counts and the same stop reason. Of a stream, the span within may end after the outer
    one, which an instrumentation ends with the last piece."""
    reasons = [{word.raw for word in call.words} for call in (one, other)]
    return one.usage is not None and one.usage == other.usage and bool(reasons[0] & reasons[1])


def one_of(group: Sequence[ModelCall]) -> ModelCall:
    """All that is told of one call, which is named by the first. What it used, and why it stopped, the provider's own
    SDK tells best."""
    told_best = sorted(group, key=lambda call: not any(word.source == _OF_SDK for word in call.words))
    whole = group[0]
    return replace(
        whole,
        provider=_first(call.provider for call in group),
        model=_first(call.model for call in group),
        max_tokens=next((call.max_tokens for call in group if call.max_tokens), None),
        stream=any(call.stream for call in group),
        response_id=_first(call.response_id for call in group),
        agent=_first(call.agent for call in group),
        usage=next((call.usage for call in told_best if call.usage is not None), None),
        words=unique(word for call in told_best for word in call.words),
        content=merged(call.content for call in group),
        error=next((call.error for call in group if call.error is not None), None),
        first_token=next((call.first_token for call in group if call.first_token is not None), None),
        spans=tuple(span for call in group for span in call.spans),
        scopes=tuple(dict.fromkeys(scope for call in group for scope in call.scopes)),
        elsewhere=tuple(trace for call in group for trace in call.elsewhere),
    )


def _first(values: Iterable[str]) -> str:
    return next(filter(None, values), "")
