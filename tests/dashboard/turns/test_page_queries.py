"""What the page of a turn, and the API's answer, ask the database."""

from collections import Counter

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dashboard.replay.rerun_service import turn_rerun
from dashboard.turns.models import Turn
from tests.dashboard.driving import Play, drive

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def doubtful(play: Play) -> Turn:
    """Cut, and run again twice: both re-runs completed, and may be cut at their caps."""
    turn = play("sim-essay", max_tokens=60)
    for cap in (100, 150):
        again = drive(turn_rerun(turn=turn, overrides={"max_tokens": cap}))
        Turn.objects.filter(pk=again.pk).update(status="completed", lint=["output_at_cap"])
    return turn


@pytest.mark.parametrize(("address", "most"), [("/turns/{}", 36), ("/api/v1/turns/{}", 20)])
def test_no_statement_runs_twice_for_one_turn(browser: Client, doubtful: Turn, address: str, most: int):
    browser.get(address.format(doubtful.id))  # what the process remembers
    with CaptureQueriesContext(connection) as asked:
        assert browser.get(address.format(doubtful.id)).status_code == 200
    statements = Counter(query["sql"] for query in asked.captured_queries)
    assert "\n".join(sql for sql, times in statements.items() if times > 1) == ""
    assert len(asked) <= most
