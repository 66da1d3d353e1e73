"""Of a turn's first call only what is asked for is read: its words may be large."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dashboard.live.turn_loader import connection_of
from dashboard.turns.prices.selectors import turn_rate
from tests.dashboard.driving import Play

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_url_of_a_call_is_built_without_reading_its_text(play: Play):
    turn = play("sim-essay")
    turn.overrides = {"connection": turn.agent.connection.name}
    turn_of_no_agent = type(turn)(id=turn.id, project=turn.project, provider=turn.provider, max_tokens=9)
    turn_of_no_agent.setup = {"setup": {"client_tools": ["any"]}}
    with CaptureQueriesContext(connection) as asked:
        turn_rate(turn)
        connection_of(turn_of_no_agent)
    read = [query["sql"] for query in asked if 'FROM "turns_attempt"' in query["sql"]]
    assert len(read) == 2
    for statement in read:
        assert "request_url" in statement
        assert not [name for name in ("text", "tool_calls", "request", "raw") if f'."{name}"' in statement]
