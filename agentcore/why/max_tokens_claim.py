"""The number that a verdict names for `max_tokens`, and the data it rests on: each call with its cap and its usage."""

from collections.abc import Iterator

from agentcore.events import ModelResponded
from agentcore.number_format import count, number
from agentcore.replay.certainty import Certainty
from agentcore.replay.record_spans import Span
from agentcore.snapshot_parts import Spent
from agentcore.sufficient_max_tokens import END_AT_MOST, enough_for_one_call, writes_on
from agentcore.why.tree import Fact, Kind, Node

_TOKENS = "completion tokens"


def claim_of(spans: tuple[Span, ...]) -> tuple[Node, ...]:
    """The claim that one larger call would have been enough; nothing where the verdict names no number."""
    last = spans[-1]
    known = last.after
    completed = known.end is not None and known.end.terminal_reason == "completed"
    least = enough_for_one_call(known) if last.known and completed and known.spent.continuations else None
    if least is None:
        return ()
    facts = (
        Fact("certainty", Certainty.CERTAIN.value),
        Fact("max_tokens", least, _TOKENS),
        Fact("calls", 1),
        Fact("ceiling", known.asked.ceiling),
    )
    words = f"certain: one call with max_tokens ≥ {number(least)} would have been enough"
    return (Node(Kind.CLAIM, "max_tokens", words, facts, tuple(_grounds(spans))),)


def _grounds(spans: tuple[Span, ...]) -> Iterator[Node]:
    """Each call, their sum, and what else had to hold."""
    known = spans[-1].after
    calls = tuple(_calls(spans))
    yield from _inherited(known.inherited)
    yield from calls
    spent = known.spent
    facts = (Fact("output_tokens", spent.output_tokens, _TOKENS), Fact("estimated", spent.estimated))
    yield Node(Kind.INPUT, "usage", f"{number(spent.output_tokens)} completion tokens in all, as reported", facts)
    words = f"{count(END_AT_MOST, 'token')} for the end of the answer, which some servers count and do not report"
    yield Node(Kind.INPUT, "end", words, (Fact("tokens", END_AT_MOST, _TOKENS),))
    how = "prefill" if writes_on(known) else "the provider's own token"
    words = f"{count(spent.continuations, 'continuation')} from the very words before, by {how}"
    yield Node(Kind.INPUT, "exact", words, (Fact("continuations", spent.continuations), Fact("by", how)))
    facts = (Fact("failures", spent.total_failures), Fact("iterations", max(1, known.iteration)))
    yield Node(Kind.INPUT, "alone", "no call failed, and there was one iteration", facts)


def _inherited(spent: Spent | None) -> Iterator[Node]:
    """The calls before a fork began, of which the fork's own history has the sums alone."""
    if spent is not None and spent.attempts:
        words = f"{count(spent.attempts, 'call')} before the fork: {number(spent.output_tokens)} completion tokens"
        facts = (Fact("attempts", spent.attempts), Fact("used", spent.output_tokens, _TOKENS))
        yield Node(Kind.INPUT, "inherited", words, facts)


def _calls(spans: tuple[Span, ...]) -> Iterator[Node]:
    for span in spans:
        call = span.before.call
        if isinstance(span.record.event, ModelResponded) and call is not None:
            used = span.after.spent.output_tokens - span.before.spent.output_tokens  # without a prefill's echo
            yield _call(span, used, call.max_tokens, whole=span is spans[-1])


def _call(span: Span, used: int, cap: int, *, whole: bool) -> Node:
    """One call; `number` is the transition at which its answer was taken in."""
    attempt = span.before.spent.attempts
    of = f"call {attempt} used {number(used)} of max_tokens {number(cap)}"
    facts = (
        Fact("attempt", attempt),
        Fact("seq", span.record.seq),
        Fact("number", span.first),
        Fact("used", used, _TOKENS),
        Fact("limit", cap, _TOKENS),
        Fact("ended_by_itself", whole),
    )
    return Node(Kind.INPUT, "call", f"{of}, and {'ended by itself' if whole else 'was cut there'}", facts)
