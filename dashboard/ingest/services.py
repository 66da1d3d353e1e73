"""What a request brought, kept and made turns of: in one transaction, so that nothing is ever half stored."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from itertools import islice
from uuid import UUID

import structlog
from django.db import transaction
from django.utils import timezone

from agentcore.number_format import seconds
from agentcore.policy import Policy
from dashboard.agents.policies import draft_policy
from dashboard.agents.schema_validation.judge_overload import JudgingSpent
from dashboard.agents.schema_validation.validator import REQUEST_SECONDS, violations
from dashboard.agents.selectors import project_default
from dashboard.gateway.recording.complete_turns import TurnStore
from dashboard.ingest import piece_rows, span_store
from dashboard.ingest.assembly.call_dedup import MOST_TELLING
from dashboard.ingest.assembly.shared_answers import without_doubles
from dashboard.ingest.assembly.tool_call_spans import with_tool_call_spans
from dashboard.ingest.assembly.trace import TraceTurn, turns_of
from dashboard.ingest.conventions.spans import LogEvent, Span
from dashboard.ingest.models import NO_SENDER
from dashboard.ingest.piece_rows import rows_of
from dashboard.ingest.refusals import refusals_note
from dashboard.ingest.span_store import Changed, Trace
from dashboard.ingest.turn_store import turns_hold, turns_put
from dashboard.ingest.wire.bodies import ParsedBody

log = structlog.get_logger(__name__)

#: Pieces of traces that are worked on in some two seconds: those that came, and those that were there of these traces.
SMALL = 2_000

#: Traces whose turns are made before they are written. Postgres writes them while the next ones are made. To hold all
#: turns of a large request would take much memory, and Python's garbage collector, which stops all threads, would look
#: through them again and again.
TRACES_AT_ONCE = 64

UNREAD = "A span or log record about a model could not be read. It is stored, but missing from its turn."
COSTLY = (
    f"Checking the JSON Schemas of one request's traces takes more than {seconds(REQUEST_SECONDS)} of processor time. "
    "These spans are stored, but their traces have no turns until a further span of them arrives. Send fewer traces in "
    "one request, or make the schemas of tools and answers simpler."
)
FULL = f"A trace may have at most {span_store.MOST_OF_TRACE:,} spans. Further spans are not accepted."


@dataclass(frozen=True, slots=True)
class Outcome:
    """`written`: ids of the turns that were stored, or stored anew; `let_go`: spans that are not about a model;
    `unread`: spans and log records that are kept and could not be read, which `refused` counts too."""

    written: Sequence[UUID] = ()
    let_go: int = 0
    unread: int = 0
    refused: Mapping[str, int] = field(default_factory=dict)


class LargeError(Exception):
    """More work than the caller allowed; nothing was stored."""


class _SharedError(Exception):
    """Other traces have answers of these too, and must be held as well; nothing was stored."""


@transaction.atomic
def ingest(
    *, project_id: UUID, taken: ParsedBody, by: int | None, sender: UUID = NO_SENDER, most: int | None = None
) -> Outcome:
    """Keep what was taken, and let the turns of its traces be what they now come to.

    `sender`: who may add to these traces; the same traces of another sender are others, and are left as they are.
    `most`: pieces that may be worked on; beyond it `LargeError` is raised. `taken.refused` is added to where a trace
    has too many spans. Whatever is raised, nothing is stored.
    """
    names = {span.trace for span in taken.spans} | {record.trace for record in taken.logs}
    traces = set(map(UUID, names))
    if not traces:
        refusals_note(project_id, sender, taken.refused, at=timezone.now())
        return Outcome(refused=taken.refused)
    try:
        with transaction.atomic():
            return _ingest(project_id, taken, by, sender, most, traces)
    except _SharedError:
        return _ingest(project_id, taken, by, sender, most, traces, hold_all=True)


def _ingest(
    project_id: UUID,
    taken: ParsedBody,
    by: int | None,
    sender: UUID,
    most: int | None,
    traces: Set[UUID],
    *,
    hold_all: bool = False,
) -> Outcome:
    """`hold_all`: no other request of the sender is worked on beside it."""
    rows = rows_of(taken)
    told = {row.answer for row in rows if row.answer is not None}
    span_store.hold(project_id, sender, traces, told, alone=hold_all)
    held = span_store.counts(project_id, sender, sorted(traces))
    if most is not None and taken.count + sum(held.values()) > most:
        raise LargeError
    if _bound(taken, sorted(traces), held):
        rows = rows_of(taken)
    now = timezone.now()
    shared = _sharing(project_id, sender, held, taken.count)
    changed = span_store.put(project_id, sender, rows, now, traces - held.keys())
    shared |= _sharing(project_id, sender, changed.grown | changed.whole.keys(), taken.count)
    if shared and not hold_all:
        raise _SharedError
    if shared and most is not None and sum(span_store.counts(project_id, sender, sorted(shared)).values()) > most:
        raise LargeError
    if len(again := {*changed.grown, *changed.whole, *shared}) > TRACES_AT_ONCE:
        turns_hold(project_id, sender, again)
    written, unread, costly = _put(project_id, sender, _traces(project_id, sender, changed, shared), by, now)
    let_go = sum(row.is_let_go for row in rows)
    beyond, lacking = _unread(taken, costly), _unread(taken, unread)
    taken.refuse(COSTLY, beyond)
    taken.refuse(UNREAD, lacking)
    refusals_note(project_id, sender, taken.refused, at=now)
    return Outcome(written, let_go, lacking + beyond, taken.refused)


def _put(
    project_id: UUID, sender: UUID, traces: Iterator[Trace], by: int | None, now: datetime
) -> tuple[list[UUID], set[tuple[str, str]], set[tuple[str, str]]]:
    """Write the turns of these traces: their ids; then the spans, by trace and id, that could not be read, and those
    that would have taken too long."""
    written, unread, costly = list[UUID](), set[tuple[str, str]](), set[tuple[str, str]]()
    name = _name(project_id, sender)
    with TurnStore() as store:
        while batch := list(islice(traces, TRACES_AT_ONCE)):
            written += turns_put(project_id, sender, _made(batch, name), store, by=by, at=now)
            for trace in batch:
                (costly if trace.costly else unread).update((trace.id.hex, span) for span in trace.unread)
    return written, unread, costly


def _made(traces: Iterable[Trace], name: str) -> dict[UUID, list[TraceTurn]]:
    """The turns of each trace whose turns can be made. `name`: of its sender."""
    made = ((trace.id, _turns(trace, name)) for trace in traces)
    return {trace_id: turns for trace_id, turns in made if turns is not None}


def _sharing(project_id: UUID, sender: UUID, traces: Iterable[UUID], added: int) -> set[UUID]:
    """Traces that tell of the same answers, and so have their turns from one another. `added`: pieces that are new."""
    found = piece_rows.sharing(project_id, sender, traces, MOST_TELLING + added) if traces else {}
    return set(found).union(*found.values())


def _traces(project_id: UUID, sender: UUID, changed: Changed, shared: Set[UUID]) -> Iterator[Trace]:
    """The traces whose turns are to be made anew. `shared`: of these, each call is told in one."""
    yield from span_store.get(project_id, sender, changed.without(shared))
    if not shared:
        return
    around = shared | _sharing(project_id, sender, shared, 0)
    found = {trace.id: trace for trace in span_store.get(project_id, sender, Changed(around))}
    whole = {trace.id: with_tool_call_spans(trace.seen, trace.parents) for trace in found.values() if not trace.unread}
    answers = {(trace.id, span): answer for trace in found.values() for span, answer in trace.answers.items()}
    for trace_id, seen in without_doubles(whole, answers).items():
        found[trace_id].seen = seen
    yield from (trace for trace in found.values() if trace.id in shared)


def _unread(taken: ParsedBody, unread: Set[tuple[str, str]]) -> int:
    """How many of a request's spans and log records are of spans that could not be read."""
    if not unread:
        return 0
    told = [(span.trace, span.id) for span in taken.spans] + [(record.trace, record.span) for record in taken.logs]
    return sum((UUID(trace).hex, span.lower()) in unread for trace, span in told)


def _bound(taken: ParsedBody, traces: Sequence[UUID], held: Mapping[UUID, int]) -> int:
    """Refuse what is beyond the bound of a trace; how much that is. `held`: how many pieces are kept of each."""
    if max(held.values(), default=0) + taken.count <= span_store.MOST_OF_TRACE:
        return 0
    room = Counter({trace.hex: span_store.MOST_OF_TRACE - held.get(trace, 0) for trace in traces})

    def is_taken(one: Span | LogEvent) -> bool:
        room[one.trace] -= 1
        return room[one.trace] >= 0

    before = taken.count
    taken.spans = [span for span in taken.spans if is_taken(span)]
    taken.logs = [record for record in taken.logs if is_taken(record)]
    if refused := before - taken.count:
        taken.refused[FULL] += refused
    return refused


def _name(project_id: UUID, sender: UUID) -> str:
    """What tells a sender's traces in a project from all others: turns have their ids from it.

    A user of tokens is the same sender in each project. In `default` it is the sender alone, as in earlier releases.
    """
    return sender.hex if project_id == project_default().pk else f"{project_id.hex}/{sender.hex}"


def _turns(trace: Trace, name: str) -> list[TraceTurn] | None:
    """The turns of a trace; None, where they cannot be made. `name`: of its sender."""
    if not trace.seen:
        return []
    try:
        unread = len(trace.unread)
        return turns_of(f"{name}/{trace.id.hex}", trace.seen, trace.parents, base_policy(), violations, unread)
    except JudgingSpent:
        log.info("trace_of_costly_schemas", trace=trace.id.hex)
        trace.unread.update(one.span.id for one in trace.seen)
        trace.costly = True
        return None
    except Exception:
        # Whatever a stranger's trace holds, it must not keep the others of its request from being stored.
        log.exception("trace_without_turns", trace=trace.id.hex)
        trace.unread.update(one.span.id for one in trace.seen)
        return None


@cache
def base_policy() -> Policy:
    """The policy of nobody's words."""
    return draft_policy({})
