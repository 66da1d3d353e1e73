"""What must hold of every turn, however often its workers were killed. A violation is a sentence."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from uuid import UUID

from django.db import connection

from agentcore.replay import verify
from dashboard.bench.chaos.population import Kind
from dashboard.live.models import CallSlot
from dashboard.turns.history import partial_of, position_of, rebuilt_columns, recording_of
from dashboard.turns.models import UNFINISHED, Attempt, Turn
from dashboard.turns.record_reader import last_record, records_of


def violations(kinds: Mapping[UUID, Kind], runs: Path) -> list[str]:
    """All of them, of all turns."""
    ran = Counter(tuple(line.split()) for line in runs.read_text().splitlines())
    turns = Turn.objects.in_bulk(list(kinds))
    found = [f"{turns[id_]}: {wrong}" for id_, kind in kinds.items() for wrong in _of(turns[id_], kind, ran)]
    return [*found, *_left_over()]


def _of(turn: Turn, kind: Kind, ran: Mapping[tuple[str, ...], int]) -> Iterator[str]:
    if turn.status in UNFINISHED or turn.status == "interrupted":
        last = last_record(turn.id)
        since = f", its last record {last.seq} of {last.at:%H:%M:%S}" if last else ""
        yield f"it is {turn.status} in {turn.state}{since}: {_told(turn)} {turn.error_message}"
        return
    yield from _history(turn)
    yield from _text(turn, kind)
    yield from _attempts(turn)
    yield from _tools(turn, kind, ran)


def _history(turn: Turn) -> Iterator[str]:
    seqs = [record.seq for record in records_of(turn.id)]
    if seqs != list(range(1, turn.last_seq + 1)):
        yield f"its records are {seqs}, and its row knows {turn.last_seq}"
    if not verify(recording_of(turn)).verified:
        yield "its history does not verify"
    rebuilt = rebuilt_columns(turn)
    wrong = sorted(name for name, value in rebuilt.items() if getattr(turn, name) != value)
    if wrong:
        yield f"its row says otherwise than its history: {', '.join(wrong)}"


def _text(turn: Turn, kind: Kind) -> Iterator[str]:
    if turn.status != "completed":
        yield f"it is {turn.status} and not completed: {turn.verdict}"
    if kind.says is not None and kind.says not in (turn.output_text, position_of(turn).snapshot.answer.without_repeats):
        yield f"its text has {len(turn.output_text)} characters of {len(kind.says)}: {_told(turn)}"


def _told(turn: Turn) -> str:
    """Its calls, each with the characters it said and the error it had."""
    calls = Attempt.objects.filter(turn_id=turn.id).order_by("index").values_list("kind", "text", "error__kind")
    return "; ".join(f"{kind} {len(text)}{f' {error}' if error else ''}" for kind, text, error in calls)


def _attempts(turn: Turn) -> Iterator[str]:
    """Each call has ended, and what is kept of its bytes is what was recorded of it."""
    for attempt in Attempt.objects.filter(turn_id=turn.id):
        if attempt.duration_ms is None:
            yield f"attempt {attempt.index} has no end"
        came = partial_of(turn, attempt) if attempt.status_code in (None, 200) else None
        if came is not None and came.text != attempt.text:
            yield f"attempt {attempt.index} has kept other words than it recorded"


def _tools(turn: Turn, kind: Kind, ran: Mapping[tuple[str, ...], int]) -> Iterator[str]:
    runs = ran.get(("stamp", str(turn.id)), 0)
    if runs > 1:
        yield f"its tool ran {runs} times"
    if "stamp" in kind.tools and runs == 0 and "interrupted" not in _results(turn):
        yield "its tool never ran, and nothing says so"


def _results(turn: Turn) -> str:
    """What the model was told of the tools, as text."""
    events = (record.event for record in records_of(turn.id))
    return " ".join(result["content"] for event in events for result in event.get("results", ()))


def _left_over() -> Iterator[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT status, task_name, args FROM procrastinate_jobs")
        jobs = cursor.fetchall()
    for status, task, given in jobs:
        yield f"a job is left: {status} {task} {given}"
    if slots := CallSlot.objects.filter(released_at=None).count():
        yield f"{slots} slots are left"
