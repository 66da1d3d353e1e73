"""Pages, the API and SQL say where an ingested turn came from, and what is not known of it."""

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from dashboard.replay.services import turn_what_if
from dashboard.turns.models import Turn
from dashboard.turns.seals.models import Tombstone
from dashboard.turns.seals.seal_check import check_all
from dashboard.turns.seals.services import chain_some, seal_make
from tests.dashboard.ingest import exports
from tests.dashboard.pages import compact

pytestmark = pytest.mark.django_db
LOST, AGENT = "openllmetry-langchain-cuttool", "vercel-ai-sdk-agent"


def test_the_page_of_every_export_opens_and_lists_what_is_unknown(browser: Client) -> None:
    exports.send(*exports.pieces_of([LOST, AGENT, "otel-openai-v2-hangup-stream", "logfire-pydanticai-cuttool"]))
    for turn in Turn.objects.select_related("ingested"):
        page = compact(browser.get(f"/turns/{turn.id}").content.decode())
        assert f"ingested by {turn.ingested.instrumentations[0]}" in page
        assert turn.ingested.trace.hex in page
    lost = Turn.objects.get(ingested__service="demo-openllmetry-langchain")
    page = compact(browser.get(f"/turns/{lost.id}").content.decode())
    assert "They may be a truncated tool call that was lost." in page
    assert "Consistent with a policy that allows no further call." in page
    assert "999,99" not in page, "a limit that stands for none has no meter"


def test_the_timeline_the_run_and_the_api_show_imported_trace_turns(browser: Client) -> None:
    exports.send(*exports.pieces_of(["logfire-pydanticai-cuttool"]))
    first, second = Turn.objects.order_by("started_at")
    assert ">ingested</span>" in browser.get("/").content.decode()
    run = browser.get(f"/runs/{first.id}").content.decode()
    assert str(second.id) in run
    told = browser.get(f"/api/v1/turns/{first.id}").json()
    assert told["ingested"]["instrumentations"] == ["pydantic-ai 2.68.0"]
    assert told["run_id"] == str(first.id)
    attempts = browser.get(f"/api/v1/turns/{first.id}/attempts").json()
    assert attempts[0]["request"]["messages"][-1] == {"role": "user", "content": "Why do agents stop?"}
    assert attempts[0]["tool_calls"][0]["issue"] == "truncated"


def test_the_analyst_views_include_them() -> None:
    exports.send(*exports.pieces_of([AGENT]))
    with connection.cursor() as cursor:
        cursor.execute("SELECT model_stop_reason, count(*) FROM turns_turn GROUP BY 1")
        assert cursor.fetchall() == [("end_turn", 1)]


def test_a_what_if_on_an_imported_trace_turn_shows_the_effect_of_another_limit() -> None:
    exports.send(*exports.pieces_of(["openinference-openai-trunc"]))
    turn = Turn.objects.get()
    imagined = turn_what_if(turn=turn, overrides={"max_tokens": 400})
    assert imagined.undecidable


@pytest.mark.usefixtures("data_dir")
def test_a_rewritten_sealed_turn_leaves_valid_evidence(browser: Client) -> None:
    spans = sorted(exports.export(AGENT).spans, key=lambda span: (not span.parent, span.start))
    exports.send(spans[0])
    assert chain_some() == 1
    seal_make(now=timezone.now())
    exports.send(*spans[1:])
    assert Tombstone.objects.get().turn_ids == [Turn.objects.get().id]
    assert chain_some() == 1
    assert check_all().faults == []
