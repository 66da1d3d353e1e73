"""Rows of calls that were sent no max_tokens survive the way back to the release that stored a number, and forth."""

from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from dashboard.turns.models import Attempt, Turn
from tests.dashboard.timeline.populations import make_turn
from tests.migrating import migrate_all, migrate_back

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.nightly]
BEFORE = "0032_permission_names"


def stored() -> list[tuple[int | None, int | None]]:
    """What the rows state, turns and attempts, past any model."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT turn.max_tokens, call.max_tokens FROM turns_turn turn JOIN turns_attempt call ON "
            "call.turn_id = turn.id ORDER BY turn.id"
        )
        return cursor.fetchall()


@pytest.mark.parametrize(
    ("begins", "number"),
    [
        ({"setup": {"setup": {"max_tokens": 4096, "extra": {"uncapped": "unset"}}}}, 4096),
        ({"setup": {"by": "ada"}, "base_snapshot": {"setup": {"max_tokens": 512}}}, 512),
        ({"setup": {}}, 16_384),
    ],
)
def test_the_migration_of_unsent_caps_is_reversible(begins: dict[str, Any], number: int):
    turn = make_turn(max_tokens=None, **begins)
    Attempt.objects.create(
        turn_id=turn.id,
        index=1,
        iteration=0,
        kind="first",
        max_tokens=None,
        request={},
        request_url="http://x/v1",
        duration_ms=5,
        started_at=timezone.now(),
    )
    try:
        migrate_back("turns", BEFORE)
        assert stored() == [(number, number)]
    finally:
        migrate_all()
    assert stored() == [(number, number)]
    Turn.objects.update(max_tokens=None)
    assert stored() == [(None, number)]
