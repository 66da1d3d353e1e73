"""OTLP/HTTP's addresses: who may send, in which forms, how much; and what an exporter is told."""

import contextlib
import gzip
import html
import http.client
import json
import threading
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from dashboard.accounts.models import User
from dashboard.accounts.services import OPERATOR, api_token_create, one_time_code_create
from dashboard.agents.schema_validation.judge_overload import JudgingSpent
from dashboard.gateway.models import GatewayKey
from dashboard.gateway.wire import decompression
from dashboard.ingest import app, services, span_store
from dashboard.ingest.conventions.spans import Span
from dashboard.ingest.models import Piece
from dashboard.ingest.refusals import refusals_lately
from dashboard.ingest.services import UNREAD, Outcome
from dashboard.ingest.wire import bodies
from dashboard.turns.models import Turn
from tests.dashboard.gateway.served.gate import Gate
from tests.dashboard.ingest import exports, otlp
from tests.dashboard.website import until

Keyed = Callable[..., Gate]
TRUNC = "otel-openai-v2@events-trunc"


def status_of(body: bytes) -> str:
    """The message of a `google.rpc.Status`, whose field 2 it is."""
    assert body[0] == 0x12
    return body[2 if body[1] < 0x80 else 3 :].decode()


@pytest.mark.parametrize("form", ["protobuf", "json", "gzip", "deflate"])
def test_a_span_and_its_log_event_become_a_turn_in_each_encoding(keyed: Keyed, form: str) -> None:
    gate = keyed()
    pack = {"gzip": gzip.compress, "deflate": zlib.compress}.get(form, bytes)
    make, headers = (otlp.json_body, otlp.JSON) if form == "json" else (otlp.protobuf_body, otlp.PROTOBUF)
    packed = {"Content-Encoding": form} if form in {"gzip", "deflate"} else {}
    for path, name in (("/v1/traces", TRUNC), ("/v1/logs/", f"{TRUNC}.logs")):
        answer = gate.send("POST", path, pack(make(name)), {**headers, **packed})
        assert (answer.status, answer.headers["content-type"]) == (200, headers["Content-Type"])
        assert answer.body == (b"{}" if form == "json" else b"")
    turn = Turn.objects.get()
    assert (turn.status, turn.model_stop_reason, turn.raw_stop_reason) == ("partial", "max_tokens", "length")
    assert turn.output_text.startswith("Agents stop for reasons")
    told = gate_of_a_user(gate).get(f"/api/v1/turns/{turn.id}").json
    assert told["ingested"]["instrumentations"] == ["opentelemetry.util.genai.handler 1.1b0"]
    assert told["ingested"]["consistent_with"] == "Consistent with a policy that allows no further call."


def gate_of_a_user(gate: Gate) -> Gate:
    one_time_code_create()
    return Gate(gate.address, api_token_create("reader", user=User.objects.get(username=OPERATOR))[1])


def test_unauthenticated_and_unsupported_requests_are_refused_in_their_own_encoding(keyed: Keyed) -> None:
    gate = keyed()
    stranger = Gate(gate.address, "nobody's")
    for headers in (otlp.JSON, otlp.PROTOBUF):
        answer = stranger.send("POST", "/v1/traces", b"x" * 100, headers)
        assert (answer.status, answer.headers["www-authenticate"]) == (401, 'Bearer realm="whystop"')
    assert status_of(answer.body).startswith("Incorrect API key")
    assert gate.get("/v1/traces").headers["allow"] == "POST"
    assert gate.send("POST", "/v1/logs", b"{}", {"Content-Type": "text/plain"}).status == 415
    assert gate.send("POST", "/v1/traces", b"{}", {**otlp.JSON, "Content-Encoding": "compress"}).status == 415


def test_a_key_may_send_traces_where_its_scope_is_empty_or_includes_them(keyed: Keyed) -> None:
    agentless = keyed("otlp")
    assert agentless.send("POST", "/v1/traces", b"{}", otlp.JSON).status == 200
    assert agentless.ask(model="simulator/sim-essay").status in {403, 404}


def test_a_body_that_is_not_an_export_is_refused_and_nothing_is_stored(keyed: Keyed) -> None:
    gate = keyed()
    good, gzipped = gzip.compress(otlp.protobuf_body(TRUNC)), {**otlp.PROTOBUF, "Content-Encoding": "gzip"}
    cases = [
        (b"{", otlp.JSON), (b"[]", otlp.JSON), (b'{"resourceSpans": 1}', otlp.JSON), (b"[" * 5000, otlp.JSON),
        (b"\xff\xff", otlp.PROTOBUF), (b"{}", otlp.PROTOBUF), (good[:-9], gzipped),
        (b"no gzip", gzipped),
    ]  # fmt: skip
    for body, headers in cases:
        answer = gate.send("POST", "/v1/traces", body, headers)
        assert answer.status == 400, (body[:20], answer.body)
        assert "retry-after" not in answer.headers
    assert not Piece.objects.exists()


def test_unacceptable_spans_are_refused_individually(keyed: Keyed) -> None:
    gate = keyed()
    told = json.loads(otlp.json_body("openinference-openai-ok"))
    spans = told["resourceSpans"][0]["scopeSpans"][0]["spans"]
    spans += [{**spans[0], "traceId": "0" * 32}, {**spans[0], "spanId": "ab" * 8, "startTimeUnixNano": "0"}, "no span"]
    answer = gate.send("POST", "/v1/traces", json.dumps(told).encode(), otlp.JSON)
    partial = answer.json["partialSuccess"]
    assert (answer.status, partial["rejectedSpans"]) == (200, "3")
    assert bodies.NO_ID in partial["errorMessage"]
    assert bodies.NO_TIME in partial["errorMessage"]
    assert Turn.objects.count() == 1


def test_an_unreadable_span_is_counted_reported_and_recorded(keyed: Keyed, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exporter is told, the trace's turns are noted, and the keys' page has it for who never sees the answer."""
    gate, read = keyed(), span_store.seen

    def unreadable(span: Span, logs: Any) -> Any:
        if span.attributes.get("ai.operationId") == "ai.toolCall":
            raise ValueError("as no reader expects it")
        return read(span, logs)

    monkeypatch.setattr(span_store, "seen", unreadable)
    answer = gate.send("POST", "/v1/traces", otlp.json_body("vercel-ai-sdk-agent"), otlp.JSON)
    told = answer.json["partialSuccess"]
    refused = int(told["rejectedSpans"])
    assert refused > 0
    assert told["errorMessage"] == f"{UNREAD} ({refused})"
    (turn,) = Turn.objects.all()
    assert "spans_unread" in {note["code"] for note in turn.ingested.notes}
    shown = _client_of_the_operator().get(reverse("gateway:keys")).content.decode()
    assert "Refused spans and log records" in shown
    assert UNREAD in html.unescape(shown)
    GatewayKey.objects.all().delete()
    assert [view.sender for view in refusals_lately(User.objects.get(username=OPERATOR), turn.project)] == [
        "a deleted key"
    ]


def test_an_exceeded_schema_time_is_reported_with_the_budget_and_a_remedy(
    keyed: Keyed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no fault of the spans, and sending the same again would end the same: partial success, as OTLP has it."""

    def spent(*_: object) -> Any:
        raise JudgingSpent

    monkeypatch.setattr(services, "turns_of", spent)
    gate = keyed()
    answer = gate.send("POST", "/v1/traces", otlp.json_body("vercel-ai-sdk-agent"), otlp.JSON)
    told = answer.json["partialSuccess"]
    assert (answer.status, int(told["rejectedSpans"]) > 0) == (200, True)
    assert "more than 10 s of processor time" in told["errorMessage"]
    assert "Send fewer traces in one request" in told["errorMessage"]
    assert UNREAD not in told["errorMessage"]
    monkeypatch.undo()
    more = json.loads(otlp.json_body("vercel-ai-sdk-agent"))
    span = more["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    more["resourceSpans"][0]["scopeSpans"][0]["spans"] = [{**span, "spanId": "ab" * 8}]
    gate.send("POST", "/v1/traces", json.dumps(more).encode(), otlp.JSON)
    assert Turn.objects.exists(), "a further span of the trace has its turns made"


def test_a_statement_timeout_is_reported_as_such_and_the_export_retried(
    keyed: Keyed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(**_: object) -> Any:
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = 20; SELECT pg_sleep(5)")

    monkeypatch.setattr(app, "ingest", slow)
    answer = keyed().send("POST", "/v1/traces", otlp.json_body("vercel-ai-sdk-agent"), otlp.JSON)
    assert (answer.status, answer.headers["retry-after"]) == (503, "2")
    assert "took more than 30 s" in answer.json["message"]


def _client_of_the_operator() -> Client:
    one_time_code_create()
    client = Client()
    client.force_login(User.objects.get(username=OPERATOR))
    return client


def test_a_trace_without_usable_turns_is_reported_to_its_exporter(
    keyed: Keyed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unmakable(*_: Any) -> Any:
        raise ValueError("as nobody expects it")

    monkeypatch.setattr(services, "turns_of", unmakable)
    answer = keyed().send("POST", "/v1/traces", otlp.json_body("vercel-ai-sdk-agent"), otlp.JSON)
    assert int(answer.json["partialSuccess"]["rejectedSpans"]) > 0
    assert not Turn.objects.exists()
    assert Piece.objects.exists()


def test_a_partial_success_is_also_reported_in_protobuf(keyed: Keyed, monkeypatch: pytest.MonkeyPatch) -> None:
    spans = len(exports.export("vercel-ai-sdk-agent").spans)
    monkeypatch.setattr(bodies, "MOST_SPANS", 1)
    answer = keyed().send("POST", "/v1/traces", otlp.protobuf_body("vercel-ai-sdk-agent"), otlp.PROTOBUF)
    told = ExportTraceServiceResponse.FromString(answer.body).partial_success
    assert told.rejected_spans == spans - 1


def test_an_oversized_body_is_refused_compressed_or_decompressed(keyed: Keyed) -> None:
    gate = keyed()
    with gate.connected() as connection:
        connection.putrequest("POST", "/v1/traces")
        for name, value in {"Authorization": f"Bearer {gate.token}", **otlp.JSON}.items():
            connection.putheader(name, value)
        connection.putheader("Content-Length", str(decompression.MOST_PACKED + 1))
        connection.endheaders()
        assert connection.getresponse().status == 413
    behind = gzip.compress(b"{}") + gzip.compress(b"{}")
    answer = gate.send("POST", "/v1/traces", behind, {**otlp.JSON, "Content-Encoding": "gzip"})
    assert (answer.status, "follows the end" in answer.json["message"]) == (400, True)
    bomb = gzip.compress(b" " * (decompression.MOST_UNPACKED + 1))
    answer = gate.send("POST", "/v1/traces", bomb, {**otlp.JSON, "Content-Encoding": "gzip"})
    assert (answer.status, "unpacks to more" in answer.json["message"]) == (413, True)


def test_json_of_too_many_values_is_refused(keyed: Keyed) -> None:
    gate, body = keyed(), b'{"x":[%b0]}' % (b"{}," * (bodies.MOST_VALUES // 2))
    for signal in ("traces", "logs"):
        answer = gate.send("POST", f"/v1/{signal}", body, otlp.JSON)
        assert (answer.status, "2,000,000 JSON values" in answer.json["message"]) == (413, True)


def test_a_trace_belongs_to_the_key_that_sent_it_and_another_keys_spans_do_not_change_it(keyed: Keyed) -> None:
    body = otlp.json_body("openinference-openai-ok")
    assert keyed("otlp").send("POST", "/v1/traces", body, otlp.JSON).status == 200
    recorded = Turn.objects.values().get()
    told = json.loads(body)
    span = told["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    for words in ("", "z" * 5000):
        span["status"] = {"code": 2, "message": words}
        assert keyed("otlp").send("POST", "/v1/traces", json.dumps(told).encode(), otlp.JSON).status == 200
    assert Turn.objects.values().get(id=recorded["id"]) == recorded
    assert Turn.objects.count() == 3


def test_an_exporter_gets_a_retry_time_where_too_many_wait(keyed: Keyed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "MOST_SENDERS", 0)
    answer = keyed().send("POST", "/v1/traces", otlp.protobuf_body(TRUNC), otlp.PROTOBUF)
    assert (answer.status, answer.headers["retry-after"]) == (503, "2")


def test_only_a_sender_with_many_slow_requests_is_told_to_wait(keyed: Keyed) -> None:
    heavy, other, body = keyed("otlp"), keyed(), otlp.protobuf_body(TRUNC)
    with contextlib.ExitStack() as open_:

        def is_refused() -> bool:
            """After as many slow requests as there may be; on a busy machine earlier ones may be over already."""
            for _ in range(app.MOST_OF_ONE):
                slow = open_.enter_context(heavy.connected())
                slow.request("POST", "/v1/traces", body[:50], {**_signed(heavy), "Content-Length": "100000"})
            return heavy.send("POST", "/v1/traces", body, otlp.PROTOBUF).status == 429

        until(is_refused)
        refused = heavy.send("POST", "/v1/traces", body, otlp.PROTOBUF)
        assert refused.headers["retry-after"] == "2"
        assert status_of(refused.body).startswith("This key has 8 requests in progress")
        assert other.send("POST", "/v1/traces", body, otlp.PROTOBUF).status == 200
    until(lambda: heavy.send("POST", "/v1/traces", body, otlp.PROTOBUF).status == 200)


def test_a_slow_body_leaves_slots_for_small_ones_of_others(keyed: Keyed, monkeypatch: pytest.MonkeyPatch) -> None:
    as_ever, begun, may_end = app.ingest, threading.Semaphore(0), threading.Event()

    def slow(**told: Any) -> Outcome:
        if told["most"] is None:
            begun.release()
            assert may_end.wait(20)
        return as_ever(**told)

    monkeypatch.setattr(app, "ingest", slow)
    monkeypatch.setattr(app, "SMALL", len(exports.export(TRUNC).spans))
    heavy = [keyed(), keyed("otlp")]
    large = otlp.protobuf_body("vercel-ai-sdk-agent")
    with ThreadPoolExecutor(8) as pool:
        slow_ones = [pool.submit(gate.send, "POST", "/v1/traces", large, otlp.PROTOBUF) for gate in heavy * 3]
        try:
            assert begun.acquire(timeout=10)
            answer = keyed("otlp").send("POST", "/v1/traces", otlp.protobuf_body(TRUNC), otlp.PROTOBUF)
            assert answer.status == 200
            assert not begun.acquire(timeout=0.2), "two that take long are worked on at once"
        finally:
            may_end.set()
        assert {one.result().status for one in slow_ones} == {200}


def test_a_slow_body_is_read_once(keyed: Keyed, monkeypatch: pytest.MonkeyPatch) -> None:
    as_ever, read = app.unpacked, []

    def counted(body: bytes, coding: str) -> bytes:
        read.append(len(body))
        return as_ever(body, coding)

    monkeypatch.setattr(app, "unpacked", counted)
    monkeypatch.setattr(app, "SMALL", 0)
    body = otlp.protobuf_body(TRUNC)
    assert keyed().send("POST", "/v1/traces", body, otlp.PROTOBUF).status == 200
    assert read == [len(body)]
    assert Turn.objects.count() == 1


def _signed(gate: Gate) -> dict[str, str]:
    return {**otlp.PROTOBUF, "Authorization": f"Bearer {gate.token}"}


def test_a_client_that_disconnects_midway_stores_nothing(keyed: Keyed) -> None:
    gate = keyed()
    with gate.connected() as connection:
        connection.putrequest("POST", "/v1/traces")
        connection.putheader("Authorization", f"Bearer {gate.token}")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", "1000")
        connection.endheaders(b'{"resourceSpans": [')
        assert isinstance(connection, http.client.HTTPConnection)
    assert gate.send("POST", "/v1/traces", b"{}", otlp.JSON).status == 200
    assert not Piece.objects.exists()
