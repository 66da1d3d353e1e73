"""`manage.py bench what-if`: the column that a moving slider asks for, of a turn of ten attempts: p50 and p95.

The turn is stored in the configured database inside a transaction that is taken back. In the same run stand the bare
what-if of the core, the whole page, and a sweep.
"""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from django.db import transaction
from django.test import RequestFactory

from agentcore import serial
from agentcore.events import Event, ModelResponded, Setup, Started
from agentcore.machine.advance import advance
from agentcore.messages import ChatResponse, Message, Role, TokenUsage
from agentcore.policy import Limits, Policy
from agentcore.reasons import NormalizedStopReason
from agentcore.replay import Record, Recording, what_if
from agentcore.snapshot import Snapshot
from dashboard.agents.selectors import project_default
from dashboard.bench.measurements import percentiles
from dashboard.replay import views
from dashboard.replay.sweep_service import turn_sweep
from dashboard.turns import models
from dashboard.turns.projection import project

ATTEMPTS = 10
RUNS = 200  #: of what is quick
_WORDS = ("agent", "stops", "because", "limit", "budget", "answer", "token", "while", "every", "reason", "waits", "for")
_POLICY = Policy(limits=Limits(max_continuations=20, max_total_completion_tokens=100_000), max_tokens=400)


def rows() -> Iterator[str]:
    """Each figure as a line: p50 and p95 in milliseconds."""
    recording = _recording()
    with transaction.atomic():
        turn = _stored(recording)
        yield from _measured(turn, recording)
        transaction.set_rollback(True)


def _measured(turn: models.Turn, recording: Recording) -> Iterator[str]:
    numbers = (350 + n for n in range(10_000_000))
    yield _line("bare what-if of the core", RUNS, lambda: _bare(recording, next(numbers)))
    yield _line("what-if column, as a slider asks", RUNS, lambda: _column(turn, next(numbers) % 900 + 100))
    yield _line("whole replay page", RUNS // 4, lambda: _page(turn))
    yield _line("sweep of max_tokens, 40 values", RUNS // 20, lambda: _sweep(turn))


def _line(what: str, runs: int, work: Callable[[], object]) -> str:
    work()
    times, spent = [], []
    for _ in range(runs):
        began, busy = time.perf_counter(), time.process_time()
        work()
        times.append(1000 * (time.perf_counter() - began))
        spent.append(1000 * (time.process_time() - busy))
    told = (f"p50 {p50:7.1f} p95 {p95:7.1f} ms" for p50, p95 in (percentiles(times), percentiles(spent)))
    return f"{what:<34} {'   of processor time '.join(told)}   ({runs} times)"


def _bare(recording: Recording, max_tokens: int) -> None:
    what_if(recording, Policy(limits=_POLICY.limits, max_tokens=max_tokens))


def _column(turn: models.Turn, max_tokens: int) -> None:
    request = RequestFactory().get("/", {"max_tokens": max_tokens}, headers={"HX-Target": "what-if"})
    assert views.page(request, turn.id).status_code == 200, "the benchmark's own turn is shown"


def _page(turn: models.Turn) -> None:
    assert views.page(RequestFactory().get("/"), turn.id).status_code == 200, "the benchmark's own turn is shown"


def _sweep(turn: models.Turn) -> None:
    turn_sweep(turn=turn, name="max_tokens", values=range(50, 2_050, 50), overrides={})


def _events() -> Iterator[Event]:
    """A turn of ten attempts of 400 tokens: cut nine times, then whole."""
    setup = Setup("turn", "openai", "gpt-4o", 400)
    yield Started(0.0, setup, (Message(Role.USER, "Why do agents stop?"),))
    for n in range(1, ATTEMPTS + 1):
        last = n == ATTEMPTS
        text = _prose(n)
        reason = NormalizedStopReason.END_TURN if last else NormalizedStopReason.MAX_TOKENS
        usage = TokenUsage(400 * n, 300 if last else 400)
        yield ModelResponded(float(n), ChatResponse(text, usage=usage, stop_reason=reason, raw_stop_reason="length"))


def _prose(n: int) -> str:
    """About 1,600 characters that do not repeat themselves: words by a small generator."""
    seed, words = n, []
    for _ in range(300):
        seed = (seed * 1_103_515_245 + 12_345) % 2**31
        words.append(_WORDS[seed // 65_536 % len(_WORDS)])
    return " ".join(words) + " "


def _recording() -> Recording:
    snapshot, records = Snapshot(), []
    for seq, event in enumerate(_events(), start=1):
        step = advance(snapshot, event, _POLICY)
        records.append(Record.of(seq, event, step))
        snapshot = step.snapshot
    return Recording(_POLICY, Snapshot(), tuple(records), final=snapshot)


def _stored(recording: Recording) -> models.Turn:
    now, final = datetime.now(UTC), recording.final
    assert final is not None, "the benchmark's own recording has an end"
    columns = project(final, seq=len(recording.records), started_at=now, at=now)
    turn = models.Turn(project=project_default(), agent_name="bench", provider="openai", policy=serial.to_json(_POLICY))
    for name, value in {**columns, "input_text": "Why do agents stop?"}.items():
        setattr(turn, name, value)
    turn.save(force_insert=True)
    for record in recording.records:
        models.Record.objects.create(
            turn_id=turn.id,
            seq=record.seq,
            at=now,
            event=serial.event_to_json(record.event),
            transitions=list(record.transitions),
            command=record.command,
            observed=list(record.observed),
            core_version="bench",
        )
    return turn
