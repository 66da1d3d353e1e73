"""Small populations of turns for what finds and counts them: few values, so that they come together in every way."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from hypothesis import strategies as st

from dashboard.agents import selectors as agents
from dashboard.platform.ids import first_id_at, new_id
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.models import Turn

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
WORDS = ("rivers", "lakes", "over")

#: Moments that lie in one minute, in one day, in one month, and far apart.
MOMENTS = st.one_of(
    *(
        st.integers(0, most).map(lambda n: NOW - timedelta(milliseconds=n))
        for most in (50_000, 80_000_000, 2_600_000_000)
    ),
    st.integers(0, 900).map(lambda days: NOW - timedelta(days=days)),
)
COLUMNS = st.fixed_dictionaries(
    {
        "status": st.sampled_from(["completed", "partial", "failed"]),
        "stop_reason": st.sampled_from([None, "completed", "retry_limit"]),
        "model_stop_reason": st.sampled_from([None, "end_turn", "max_tokens"]),
        "terminal_reason": st.sampled_from([None, "completed", "budget_exhausted"]),
        "resource": st.sampled_from([None, "max_total_completion_tokens", "max_total_tokens"]),
        "provider": st.sampled_from(["openai", "anthropic"]),
        "model": st.sampled_from(["m1", "m'2\\", "sim-essay"]),
        "agent_name": st.sampled_from(["a", "b"]),
        "error_type": st.sampled_from([None, "tool"]),
        "continuations": st.integers(0, 2),
        "envelope_retries": st.integers(0, 1),
        "input_tokens": st.integers(0, 5),
        "output_tokens": st.integers(0, 300),
        "duration_ms": st.none() | st.integers(0, 5_000),
        "held_ms": st.just(0) | st.integers(0, 5_000),
        "lint": st.lists(st.sampled_from(["output_at_cap", "relabelled", "unclosed_json"]), unique=True, max_size=2),
        "tags": st.lists(st.sampled_from(["seen", "it's\\", "x"]), unique=True, max_size=2),
        "output_text": st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join),
    }
)
POPULATIONS = st.lists(st.tuples(MOMENTS, COLUMNS), max_size=25)


def some(*values: str) -> Any:
    return st.just(()) | st.lists(st.sampled_from(values), unique=True, min_size=1, max_size=2).map(tuple)


def rarely(*values: str) -> Any:
    return st.just(()) | st.just(()) | some(*values)


def bound(most: int) -> Any:
    return st.none() | st.integers(0, most)


FILTERS = st.builds(
    TimelineFilters,
    status=some("completed", "partial"),
    stop_reason=some("completed", "retry_limit"),
    terminal_reason=some("completed", "budget_exhausted"),
    resource=some("max_total_completion_tokens", "max_total_tokens"),
    provider=rarely("openai", "simulator", "stored:openai"),
    model=some("m1", "m'2\\", "sim-essay"),
    agent=some("a", "b"),
    error_type=some("tool"),
    tag=some("seen", "it's\\"),
    has=some("continuation", "envelope_retry"),
    lint=some("output_at_cap", "relabelled"),
    not_status=rarely("completed", "failed"),
    not_stop_reason=rarely("retry_limit"),
    not_provider=rarely("anthropic", "simulator", "stored:openai"),
    not_agent=rarely("a"),
    not_tag=rarely("seen", "it's\\"),
    not_has=rarely("continuation"),
    not_lint=rarely("output_at_cap", "unclosed_json"),
    tokens_from=bound(300),
    tokens_to=bound(300),
    duration_from=bound(5_000),
    duration_to=bound(5_000),
    q=st.sampled_from(["", "", "rivers", "-lakes", '"rivers lakes"', "lakes or over", "!"]),
    since=st.none() | MOMENTS,
    until=st.none() | MOMENTS,
)


@contextmanager
def undone() -> Iterator[None]:
    """What one example stores is gone before the next."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def make_turn(at: datetime | None = None, **columns: Any) -> Turn:
    """A turn made at this moment; of the same moment in no order."""
    turn = _turn(at, columns)
    turn.save(force_insert=True)
    return turn


def make_turns(population: list[tuple[datetime, dict[str, Any]]]) -> list[Turn]:
    return Turn.objects.bulk_create([_turn(at, columns) for at, columns in population])


def _turn(at: datetime | None, columns: dict[str, Any]) -> Turn:
    chance = new_id().int & (1 << 62) - 1
    turn_id = new_id() if at is None else UUID(int=first_id_at(at).int | 7 << 76 | 2 << 62 | chance)
    values = {"agent_name": "a", "provider": "openai", "model": "m", "max_tokens": 60, "id": turn_id}
    held = {"held_ms": min(columns["held_ms"], columns.get("duration_ms") or 0)} if "held_ms" in columns else {}
    return Turn(**{"project": agents.project_default(), **values, **columns, **held})
