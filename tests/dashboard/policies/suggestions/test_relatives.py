"""The turns that were asked the same, found without reading more of the others than is compared."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agentcore import serial
from dashboard.policies.suggestions import relatives
from dashboard.policies.suggestions.relatives import relatives_of, settings_changed
from dashboard.replay.rerun_service import turn_rerun
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play

pytestmark = pytest.mark.django_db(transaction=True)


def reruns(turn: Turn, number: int) -> list[Turn]:
    return [turn_rerun(turn=turn, overrides={"max_tokens": 100 + place}) for place in range(number)]


def test_a_turn_without_relatives_needs_one_statement(play: Play, django_assert_num_queries: Any) -> None:
    turn = Turn.objects.get(id=play("sim-essay", max_tokens=60).id)
    with django_assert_num_queries(1):
        assert relatives_of(turn) == []


def test_the_newest_relatives_and_the_original_turn_are_read(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    turn = play("sim-essay", max_tokens=60)
    made = reruns(turn, 5)
    monkeypatch.setattr(relatives, "MOST", 2)
    assert [each.id for each in relatives_of(turn)] == [made[3].id, made[4].id]
    assert [each.id for each in relatives_of(made[0])] == [turn.id, made[3].id, made[4].id]


def test_an_older_completed_re_run_counts_despite_later_truncated_ones(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = play("sim-essay", max_tokens=60)
    made = reruns(turn, 5)
    Turn.objects.filter(id=made[0].id).update(status="completed")
    monkeypatch.setattr(relatives, "MOST", 2)
    assert [each.id for each in relatives_of(turn)] == [made[0].id, made[3].id, made[4].id]


def test_large_columns_are_not_read_and_the_number_of_statements_is_constant(play: Play) -> None:
    turn = play("sim-essay", max_tokens=60)
    numbers = []
    for more in (1, 4):
        reruns(turn, more)
        with CaptureQueriesContext(connection) as asked:
            found = relatives_of(Turn.objects.get(id=turn.id))
            assert all(settings_changed(turn, each) for each in found)
        numbers.append(len(asked))
        assert not any("output_text" in each["sql"] for each in asked.captured_queries[1:])
    assert numbers[0] == numbers[1] <= 8


def test_a_shared_policy_is_read_once(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    turn = play("sim-essay", max_tokens=60)
    (made,) = reruns(turn, 1)
    monkeypatch.setattr(serial, "to_json", lambda _policy: pytest.fail("read"))
    assert settings_changed(turn, Turn.objects.get(id=made.id)) == {"max_tokens": 100}
