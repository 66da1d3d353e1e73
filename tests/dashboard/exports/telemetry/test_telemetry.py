"""Turns sent as spans and metrics: what they say, and what becomes of what cannot be sent."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import transaction
from django.test import override_settings
from django.utils import timezone
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from dashboard.accounts.models import User
from dashboard.agents.selectors import project_default
from dashboard.exports.telemetry import exporter, queue
from dashboard.exports.telemetry.models import Destination, Queued
from dashboard.exports.telemetry.spans import OUR_OWN, traces
from dashboard.exports.telemetry.turn_data import TelemetryTurn, ToolRun
from dashboard.gateway.services import key_create
from dashboard.ingest.models import Ingested
from dashboard.live.services import turn_start
from dashboard.platform.egress.keys import KeyNames
from dashboard.platform.egress.rules import Rules
from dashboard.platform.environment import read_environment
from dashboard.platform.errors import StartError
from dashboard.turns.models import Attempt, Turn
from tests.dashboard.api.test_timeline import make_turns
from tests.dashboard.driving import AgentOf, Play, drive
from tests.dashboard.exports.telemetry.conftest import DestinationOf, attributes, metrics_in, send, spans_in
from tests.dashboard.gateway.served.gate import gateway_served
from tests.dashboard.recording_server import Receiver

pytestmark = pytest.mark.django_db(transaction=True)


def due() -> None:
    """As if the pause before the next batch were over."""
    Destination.objects.update(next_at=timezone.now() - timedelta(seconds=1))


def test_a_turn_is_a_trace_of_its_calls_with_reasons_and_usage(
    play: Play, destination_of: DestinationOf, receiver: Receiver
):
    destination = destination_of()
    turn = play("sim-essay", max_tokens=60)
    send()
    agent, *calls = spans_in(receiver)
    assert {span.trace_id for span in (agent, *calls)} == {turn.id.bytes}
    assert len(calls) == turn.attempts > 1
    told = attributes(agent)
    assert [agent.name, agent.parent_span_id] == ["invoke_agent sim-essay", b""]
    assert told["gen_ai.response.finish_reasons"] == [turn.stop_reason]
    assert told["whystop.terminal_reason"] == turn.terminal_reason
    first = attributes(calls[0])
    assert calls[0].name == "chat sim-essay"
    assert calls[0].parent_span_id == agent.span_id
    assert agent.start_time_unix_nano <= calls[0].start_time_unix_nano < calls[0].end_time_unix_nano
    assert {name: first[f"gen_ai.{name}"] for name in ("operation.name", "provider.name", "request.max_tokens")} == {
        "operation.name": "chat",
        "provider.name": "openai",
        "request.max_tokens": 60,
    }
    assert first["gen_ai.response.finish_reasons"] == ["length"]
    assert first["gen_ai.usage.output_tokens"] == 60
    assert [attributes(call)["whystop.attempt.kind"] for call in calls[:2]] == ["initial", "continuation"]
    assert not any("messages" in name for name in first)
    destination.refresh_from_db()
    assert (destination.sent, destination.fault, Queued.objects.count()) == (1, "", 0)


def test_tools_are_spans_with_calls_and_contents_only_where_requested(
    agent_of: AgentOf, destination_of: DestinationOf, receiver: Receiver
):
    destination_of(content=True)
    turn = drive(turn_start(agent=agent_of("sim-tools", tools=["calculator"]), input_text="Count."))
    send()
    spans = spans_in(receiver)
    tools = [attributes(span) for span in spans if span.name == "execute_tool calculator"]
    assert [tool["gen_ai.tool.call.result"] for tool in tools] == ["42", "1024"]
    calls = [attributes(span) for span in spans if span.name.startswith("chat ")]
    (said,) = json.loads(calls[0]["gen_ai.output.messages"])
    asked = [part["id"] for part in said["parts"] if part["type"] == "tool_call"]
    assert asked == [tool["gen_ai.tool.call.id"] for tool in tools]
    last = json.loads(calls[-1]["gen_ai.input.messages"])
    assert [message["role"] for message in last] == ["user", "assistant", "tool", "tool"]
    assert json.loads(calls[-1]["gen_ai.output.messages"])[0]["parts"][0]["content"] == turn.output_text


def test_a_turn_that_failed_is_a_span_with_an_error(play: Play, destination_of: DestinationOf, receiver: Receiver):
    destination_of()
    turn = play("sim-that-nobody-knows")
    assert turn.status == "failed"
    send()
    agent, call = spans_in(receiver)
    assert agent.status.code == call.status.code == 2
    assert attributes(agent)["error.type"]
    assert attributes(call)["http.response.status_code"] == 404


def test_metrics_of_a_batch_are_deltas(play: Play, destination_of: DestinationOf, receiver: Receiver):
    destination_of()
    turns = [play("sim-essay", max_tokens=60)]
    send()
    told = metrics_in(receiver)
    usage = {
        attributes(point)["gen_ai.token.type"]: point
        for point in told["gen_ai.client.token.usage"].histogram.data_points
    }
    assert usage["output"].sum == sum(turn.output_tokens for turn in turns)
    assert usage["output"].count == turns[0].attempts == sum(usage["output"].bucket_counts)
    assert len(usage["output"].bucket_counts) == len(usage["output"].explicit_bounds) + 1
    assert told["gen_ai.client.operation.duration"].histogram.aggregation_temporality == 1
    (point,) = told["whystop.turns"].sum.data_points
    assert (point.as_int, attributes(point)["whystop.stop_reason"]) == (1, turns[0].stop_reason)


def test_another_installation_shows_the_same_turns(
    play: Play, destination_of: DestinationOf, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(exporter, "_instance", lambda _: "another installation")
    _, secret = key_create(
        project=project_default(), by=User.objects.create_superuser("ada"), name="otlp", scope=["otlp"]
    )
    monkeypatch.setenv("COLLECTOR_API_KEY", secret)
    with gateway_served() as address, override_settings(KEY_NAMES=KeyNames.read("COLLECTOR_API_KEY")):
        destination_of(endpoint=address, key_env="COLLECTOR_API_KEY", content=True, metrics=False)
        turn = play("sim-essay", max_tokens=60)
        send()
        shown = Turn.objects.get(id=Ingested.objects.get().turn_id)
        assert shown.id != turn.id
        assert (shown.attempts, shown.stop_reason, shown.raw_stop_reason) == (
            turn.attempts, turn.stop_reason, turn.raw_stop_reason,
        )  # fmt: skip
        assert (shown.input_tokens, shown.output_tokens) == (turn.input_tokens, turn.output_tokens)
        assert shown.output_text == turn.output_text
        due()
        send()
        assert Queued.objects.count() == 0  # what was ingested goes nowhere
        assert Ingested.objects.count() == 1


def _key() -> str:
    by = User.objects.create_superuser("ada")
    return key_create(project=project_default(), by=by, name="otlp", scope=["otlp"])[1]


def test_telemetry_that_would_return_here_is_detected_and_reported(
    play: Play, destination_of: DestinationOf, monkeypatch: pytest.MonkeyPatch
):
    _, secret = key_create(
        project=project_default(), by=User.objects.create_superuser("ada"), name="otlp", scope=["otlp"]
    )
    monkeypatch.setenv("COLLECTOR_API_KEY", secret)
    with gateway_served() as address, override_settings(KEY_NAMES=KeyNames.read("COLLECTOR_API_KEY")):
        destination = destination_of(endpoint=address, key_env="COLLECTOR_API_KEY", metrics=False)
        play("sim-essay", max_tokens=60)
        send()
    destination.refresh_from_db()
    assert "its telemetry is sent back to itself" in destination.fault
    assert (destination.sent, destination.refused) == (0, 1)
    assert not Ingested.objects.exists()


def test_a_failed_batch_waits_and_is_sent_later_as_the_same_spans(destination_of: DestinationOf, receiver: Receiver):
    destination = destination_of(metrics=False)
    make_turns("a", status="completed")
    receiver.answers += [(503, {"retry-after": "100"}), (401, {})]
    send()
    destination.refresh_from_db()
    assert destination.fault == "The destination answered 503."
    assert 90 < (destination.next_at - timezone.now()).total_seconds() <= 100
    send()
    assert len(receiver.requests) == 1
    for _ in range(2):
        due()
        send()
    first, _, last = spans_in(receiver)
    assert first == last
    destination.refresh_from_db()
    assert (destination.sent, destination.failures, Queued.objects.count()) == (1, 0, 0)


def test_a_permanently_refused_batch_is_counted_and_dropped(destination_of: DestinationOf, receiver: Receiver):
    destination = destination_of(metrics=False)
    make_turns("a", "b", status="completed")
    receiver.answers.append((400, {}))
    send()
    destination.refresh_from_db()
    assert (destination.sent, destination.refused, Queued.objects.count()) == (0, 2, 0)
    assert destination.fault == "The destination answered 400."


def test_a_batch_that_is_too_large_is_sent_in_halves(destination_of: DestinationOf, receiver: Receiver):
    destination = destination_of(metrics=False)
    make_turns(*"abcd", status="completed")
    receiver.answers += [(413, {}), (200, {}), (413, {}), (413, {}), (200, {})]
    send()
    destination.refresh_from_db()
    assert (destination.sent, destination.refused) == (3, 1)


def test_a_partial_success_is_reported(destination_of: DestinationOf):
    answer = ExportTraceServiceResponse()
    answer.partial_success.rejected_spans, answer.partial_success.error_message = 3, "too old"
    outcome = exporter._partly(answer.SerializeToString(), ExportTraceServiceResponse(), 10)
    assert (outcome.refused, outcome.fault, outcome.again) == (3, "The destination says: too old", False)


def test_a_response_with_impossible_counts_and_characters_blocks_nothing(
    destination_of: DestinationOf, receiver: Receiver
):
    destination = destination_of()
    make_turns("a", status="completed")
    answer = ExportTraceServiceResponse()
    answer.partial_success.rejected_spans, answer.partial_success.error_message = -5, "too\0old"
    receiver.said = answer.SerializeToString()
    send()
    destination.refresh_from_db()
    assert (destination.sent, destination.refused, Queued.objects.count()) == (1, 0, 0)
    assert "too\ufffdold" in destination.fault


def test_a_tool_call_with_invalid_unicode_names_is_exported_with_replacements(play: Play):
    turn, at = play("sim-essay", max_tokens=60), timezone.now()
    run = ToolRun("call \ud800", "tool \udfff", "{}", "\ud800", "unknown \ud800", at, at)
    told = traces([TelemetryTurn(turn, [], [run])], instance="i", content=True)
    span = told.resource_spans[0].scope_spans[0].spans[-1]
    assert (span.name, span.status.message) == ("execute_tool tool \ufffd", "unknown \ufffd")
    assert attributes(span)["gen_ai.tool.call.id"] == "call \ufffd"


def test_a_turn_that_cannot_be_exported_is_counted_and_the_others_are_sent(
    destination_of: DestinationOf, receiver: Receiver
):
    destination = destination_of(metrics=False)
    broken, _, _ = make_turns(*"abc", status="completed")
    columns = {"kind": "initial", "provider": "openai", "model": "m", "max_tokens": 9, "started_at": timezone.now()}
    Attempt.objects.create(turn_id=broken, index=1, iteration=1, request={}, request_url="http://h:99999/", **columns)
    send()
    destination.refresh_from_db()
    assert (destination.sent, destination.refused, Queued.objects.count()) == (2, 1, 0)
    assert destination.fault == exporter.UNTOLD


def test_the_oldest_of_too_many_are_dropped_and_counted(
    destination_of: DestinationOf, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(queue, "MOST", 3)
    destination = destination_of(metrics=False)
    made = make_turns(*"abcde", status="completed")
    send()
    destination.refresh_from_db()
    assert (destination.dropped, destination.sent) == (2, 3)
    assert [attributes(span)["whystop.turn.id"] for span in spans_in(receiver)] == made[2:]


def test_a_turn_is_queued_with_its_end_or_not_at_all(destination_of: DestinationOf):
    destination_of()
    with transaction.atomic():
        make_turns("a", status="completed")
        transaction.set_rollback(True)
    make_turns("a", status="running")
    assert not Queued.objects.exists()
    Turn.objects.update(status="completed")
    assert Queued.objects.count() == 1


def test_a_batch_of_a_killed_worker_is_sent_after_its_lease(destination_of: DestinationOf, receiver: Receiver):
    destination_of(metrics=False)
    make_turns("a", status="completed")
    assert len(queue.claim()) == 1  # and its worker is gone
    send()
    assert not receiver.requests
    due()
    send()
    assert len(receiver.requests) == 1


def test_the_egress_rules_apply(destination_of: DestinationOf, receiver: Receiver):
    destination = destination_of()
    make_turns("a", status="completed")
    with override_settings(EGRESS=Rules.read("public")):
        send()
    destination.refresh_from_db()
    assert not receiver.requests
    assert "may not be called: it is at this machine itself" in destination.fault
    assert Queued.objects.count() == 1


def test_the_environment_creates_and_removes_a_destination(receiver: Receiver):
    said = {"WHYSTOP_OTLP_ENDPOINT": f"{receiver.address}/", "WHYSTOP_OTLP_HEADERS": "x-key=a%20b, y=c=d"}
    with override_settings(ENVIRONMENT=read_environment(said)):
        for _ in range(2):
            queue.environment_sync(project_default())
        make_turns("a", status="completed")
        send()
    headers = receiver.requests[0].headers
    assert (headers["x-key"], headers["y"], headers["content-encoding"]) == ("a b", "c=d", "gzip")
    with override_settings(ENVIRONMENT=read_environment({})):
        queue.environment_sync(project_default())
    assert not Destination.objects.get().enabled


@pytest.mark.parametrize(
    "said",
    [
        {"WHYSTOP_OTLP_ENDPOINT": "collector:4318"},
        {"WHYSTOP_OTLP_ENDPOINT": "http://me:pw@collector"},
        {"WHYSTOP_OTLP_HEADERS": "secret"},
    ],
)
def test_an_invalid_environment_is_reported_without_its_secrets(said: dict):
    with pytest.raises(StartError) as error:
        read_environment(said)
    assert "pw" not in str(error.value)
    assert "secret" not in str(error.value)


def test_the_document_names_every_attribute_we_add():
    text = Path("docs/how-to/telemetry.md").read_text(encoding="utf-8")
    assert [name for name in OUR_OWN if f"`whystop.{name}`" not in text] == []
