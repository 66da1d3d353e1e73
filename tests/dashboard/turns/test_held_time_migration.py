"""The time for which turns were held is taken from their records by the migration that stores it."""

import pytest
from django.db import connection
from django.utils import timezone

from dashboard.turns.models import Record, Turn
from dashboard.turns.record_compression import packed_columns
from tests.dashboard.timeline.populations import make_turn
from tests.migrating import migrate_all, migrate_back

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.nightly]
BEFORE = "0035_answers_without_limits"
AT = ((1, 0.25, "call_model"), (2, 1.5, "hold"), (3, 61.75, "hold"), (4, 91.75, "finish"))


@pytest.mark.parametrize("is_packed", [True, False])
def test_the_migration_stores_how_long_each_turn_was_held(is_packed: bool):
    held, other = make_turn(duration_ms=92_000), make_turn(duration_ms=5)
    for seq, at, command in AT:
        now = timezone.now()
        told = {"turn_id": held.id, "seq": seq, "at": now, "core_version": "", "transitions": [], "observed": []}
        told |= {"event": {"type": "started", "at": at}, "command": {"type": command}}
        Record.objects.create(**(packed_columns(told) if is_packed else told))
    try:
        migrate_back("turns", BEFORE)
        with connection.cursor() as cursor:
            cursor.execute("SELECT indexdef FROM pg_indexes WHERE indexname = 'turns_turn_duration'")
            (definition,) = cursor.fetchone() or ("",)
        assert definition.endswith("(project_id, duration_ms) INCLUDE (id, cohort, tokens)")
    finally:
        migrate_all()
    assert dict(Turn.objects.values_list("id", "held_ms")) == {held.id: 90_250, other.id: 0}
