"""Of many queries some are asked at once, and those that take too long keep no others from their answers."""

import pytest
from django.db import DataError, connection
from django.db.models import F, FloatField, Func, QuerySet, Value
from django.test.utils import CaptureQueriesContext

from dashboard.policies.backtests import batched_queries as module
from dashboard.policies.backtests.batched_queries import AT_ONCE, rows_of_each
from dashboard.turns.models import Turn
from tests.dashboard.timeline.populations import make_turn

pytestmark = pytest.mark.django_db(transaction=True)


def turns(seconds: float = 0.0) -> QuerySet[Turn]:
    """Each has its tokens, the newest first; takes so long."""
    slept = Func(Value(seconds), function="pg_sleep", template="(%(function)s(%(expressions)s)::text || '1')::float")
    return Turn.objects.annotate(slept=Func(slept, function="abs", output_field=FloatField())).order_by("-id")


def test_each_query_has_its_rows_in_order_for_any_batch_size():
    made = [make_turn(tokens=n) for n in range(3)]
    wanted = [[(turn.id,) for turn in reversed(made)] if n % 2 else [] for n in range(2 * AT_ONCE + 1)]
    queries = [Turn.objects.filter(tokens__gte=0 if n % 2 else 99).order_by("-id")[:3] for n in range(len(wanted))]
    with CaptureQueriesContext(connection) as asked:
        assert rows_of_each(queries, ["id"]) == wanted
    assert sum("turns_turn" in query["sql"] for query in asked) == 3
    assert rows_of_each([], ["id"]) == []


@pytest.mark.parametrize("slow", [0, AT_ONCE - 1])
def test_a_statement_that_times_out_fails_alone(slow: int):
    make_turn()
    queries = [turns(9.0 if n == slow else 0.0)[:3] for n in range(AT_ONCE + 1)]
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = '300ms'")
    try:
        found = rows_of_each(queries, ["slept"])
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET statement_timeout")
    assert found == [None] * AT_ONCE + [[(1.0,)]]


def test_any_other_error_is_raised():
    make_turn()
    with pytest.raises(DataError):
        rows_of_each([Turn.objects.annotate(wrong=Value(1) / (F("tokens") * 0))[:1]], ["wrong"])


def test_no_further_statement_starts_after_the_total_time(monkeypatch: pytest.MonkeyPatch):
    make_turn()
    monkeypatch.setattr(module, "PATIENCE", 0.2)
    found = rows_of_each([turns(0.3 if n == 0 else 0.0)[:3] for n in range(AT_ONCE + 1)], ["slept"])
    assert found == [[(1.0,)]] * AT_ONCE + [None]
