"""What the gateway's page says of stored calls, and a turn's page of its own."""

from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from dashboard.agents.models import Project
from dashboard.agents.selectors import project_default
from dashboard.gateway import overview
from dashboard.gateway.models import GatewayCall, StrayCall
from dashboard.gateway.overview import ReasonCount, latest_calls, overview_of
from dashboard.timeline.services import HISTORY
from dashboard.turns.models import Turn
from tests.dashboard.gateway.stored_calls import call_stored
from tests.dashboard.pages import compact

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


def stored(turn: Turn | None = None, *, at: datetime | None = None, **fields: object) -> GatewayCall:
    """A call that went well, a minute ago."""
    whole = {"mode": "continue", "status": 200, "client_finish_reason": "stop", "overhead_us": 1_000, **fields}
    return call_stored(turn or turn_of(), at=at or timezone.now() - timedelta(minutes=1), **whole)


def turn_of(**fields: object) -> Turn:
    about = {"agent_name": "helper", "provider": "openai", "model": "m", "max_tokens": 10}
    return Turn.objects.create(**{"project": project_default(), **about, **fields})


def test_without_calls_the_overview_is_empty():
    found = overview_of(project_default(), since=timezone.now() - HOUR)
    assert (found.calls, found.reasons, found.overheads, found.continued_share) == (0, [], [], 0.0)


def test_calls_are_counted_by_returned_finish_reason_and_by_mode():
    stored()
    stored(mode="observe", overhead_us=3_000)
    stored(client_finish_reason="length", continued=True)
    stored(client_finish_reason=None, status=502)
    stored(client_finish_reason=None, status=None, disconnected=True, overhead_us=None)
    stored(client_finish_reason=None, status=None)
    stored(at=timezone.now() - timedelta(hours=2))
    stored(turn_of(project=Project.objects.create(name="another")))
    found = overview_of(project_default(), since=timezone.now() - HOUR)
    assert found.calls == 6
    assert found.continued_share == pytest.approx(1 / 6)
    assert found.reasons[0] == ReasonCount("stop", 1, 1, pytest.approx(2 / 6))
    assert {reason.word for reason in found.reasons} == {"stop", "length", "error", "disconnected", "unfinished"}
    by_mode = {one.mode: one for one in found.overheads}
    assert (by_mode["observe"].calls, by_mode["observe"].p50) == (1, 3.0)
    assert (by_mode["continue"].calls, by_mode["continue"].p99) == (5, 1.0)


def test_percentiles_are_computed_from_the_stored_numbers():
    for overhead in range(1, 101):
        stored(overhead_us=overhead * 1_000)
    (one,) = overview_of(project_default(), since=timezone.now() - HOUR).overheads
    assert (one.p50, one.p95, one.p99) == (50.5, pytest.approx(95.05), pytest.approx(99.01))


def test_only_the_latest_of_very_many_calls_are_read(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(overview, "MOST", 3)
    for minutes in range(1, 6):
        reason = "stop" if minutes <= 3 else "length"
        stored(at=timezone.now() - timedelta(minutes=minutes), client_finish_reason=reason)
    found = overview_of(project_default(), since=timezone.now() - HOUR)
    assert found.capped
    assert [reason.word for reason in found.reasons] == ["stop"]


def test_the_overview_is_read_from_an_index_alone():
    for _ in range(300):
        stored()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE turns_turn, gateway_gatewaycall")
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
        given = {"project": project_default().pk, "since": timezone.now() - HOUR, "most": 1_000}
        cursor.execute("EXPLAIN " + overview._OVERVIEW, given)
        plan = "\n".join(row[0] for row in cursor.fetchall())
    assert "Index Only Scan using turns_turn_called" in plan
    assert "Index Only Scan using gateway_call_recent" in plan


def test_the_page_shows_counts_overheads_and_the_latest_calls(browser: Client):
    turn = turn_of(input_text="Why do agents stop?")
    stored(turn, caller="notebook", client_finish_reason="length", overhead_us=420)
    html = browser.get("/gateway/").content.decode()
    for words in ("length", "notebook", "Why do agents stop?", "0.42\u202fms", f"/turns/{turn.id}"):
        assert words in html
    assert [shown.turn for shown in latest_calls(project_default())] == [turn]
    assert 'aria-current="true">Last day' in browser.get("/gateway/?span=day").content.decode()
    assert browser.get("/gateway/?span=century").status_code == 200


def test_a_turn_of_the_gateway_is_marked_on_its_page(browser: Client):
    turn, other = turn_of(), turn_of()
    stored(turn, caller="notebook", finish_source="chunk", continued=True, stream=True, n=2, overhead_us=1_800)
    html = browser.get(f"/turns/{turn.id}").content.decode()
    for words in ("Through the gateway", "notebook", "seen in chunk", "continued", "1.8\u202fms"):
        assert words in html
    assert "Through the gateway" not in browser.get(f"/turns/{other.id}").content.decode()


def test_a_call_of_an_earlier_release_is_listed_with_the_others_and_deleted_with_its_turn():
    turn = turn_of()
    about = {"project_id": turn.project_id, "created_at": timezone.now(), "mode": "observe", "overhead_us": 7}
    StrayCall.objects.create(turn_id=turn.id, caller="an old key", client_finish_reason="length", **about)
    stored(caller="a key", at=timezone.now())
    found = overview_of(project_default(), since=timezone.now() - HOUR)
    assert {(one.word, one.count) for one in found.reasons} == {("length", 1), ("stop", 1)}
    assert [shown.call.caller for shown in latest_calls(project_default())] == ["a key", "an old key"]
    assert StrayCall in HISTORY


def test_a_model_called_under_its_requested_name_is_named_once(browser: Client):
    named = [("helper", "m"), ("sim-essay", "sim-essay")]
    for agent_name, model in named:
        turn = Turn.objects.create(
            project=project_default(), agent_name=agent_name, provider="openai", model=model, max_tokens=10
        )
        stored(turn)
    html = compact(browser.get("/gateway/").content.decode())
    assert "helper<small>m</small>" in html
    assert 'data-label="Model">sim-essay</td>' in html
