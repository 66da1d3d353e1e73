"""Whatever a stranger's export holds: it is refused in words or stored whole, and never a failure of ours."""

import copy
import json
import random
import time
from collections.abc import Sequence
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from dashboard.ingest import services, span_store
from dashboard.ingest.conventions.attributes import read_json
from dashboard.ingest.wire import bodies, json_body, protobuf
from dashboard.ingest.wire.bodies import BodyError
from dashboard.replay.services import turn_verify
from dashboard.turns.models import Turn
from tests.dashboard.ingest import exports, otlp
from tests.nightly import nightly

pytestmark = pytest.mark.django_db

SEEDS = (0, *map(nightly, range(1, 4)))

ODD = [
    None, True, "", "\x00", "\ud800", "𝄞" * 50, -1, 0, 1e308, 2**63, 2**80, [], {}, [[]], {"a": {"b": []}}, "null",
    "[1]", '{"role": 1}', '[{"role": "assistant", "parts": [null, 1, {"type": 7}]}]', "9" * 5000, "[" * 3000,
]  # fmt: skip


def mangled(told: Any, chance: random.Random) -> Any:
    """The export with a few of its values changed."""
    told = copy.deepcopy(told)
    places = list(_places(told))
    for _ in range(chance.randint(1, 12)):
        holder, key = chance.choice(places)
        odd = chance.choice(ODD)
        holder[key] = {"stringValue": odd} if key == "value" and chance.random() < 0.7 else odd
    return told


def mangled_within(told: Any, chance: random.Random) -> Any:
    """The export with a value changed in each of a few of its texts that are JSON, such as messages."""
    told = copy.deepcopy(told)
    texts = [(holder, key) for holder, key in _places(told) if isinstance(read_json(holder[key]), dict | list)]
    texts = [(holder, key) for holder, key in texts if isinstance(holder[key], str)]
    for holder, key in chance.sample(texts, min(3, len(texts))):
        inner = read_json(holder[key])
        for within, name in chance.sample(places := list(_places(inner)), min(2, len(places))):
            within[name] = chance.choice(ODD)
        holder[key] = json.dumps(inner)
    return told


def _places(told: Any) -> Any:
    if isinstance(told, dict | list):
        for key in list(told) if isinstance(told, dict) else range(len(told)):
            yield told, key
            yield from _places(told[key])


def refused_or_stored(read: Any, body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        taken = read(body)
    except BodyError:
        return
    failed: list[str] = []
    for module in (services, span_store):
        monkeypatch.setattr(module.log, "exception", lambda *_, **about: failed.append(repr(about)))
    exports.send(*taken.spans, *taken.logs)
    assert not failed


@pytest.mark.parametrize("seed", SEEDS)
def test_a_mutated_json_export_is_refused_or_stored_completely(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    for name in chance.sample(exports.names(), 25):
        told = mangled(json.loads(otlp.json_body(name)), chance)
        body = json.dumps(told).encode(errors="surrogatepass")
        refused_or_stored(json_body.spans_of, body, monkeypatch)
    for turn in Turn.objects.all():
        assert turn_verify(turn=turn).verified, turn.verdict


@pytest.mark.parametrize("seed", SEEDS)
def test_an_export_with_mutated_messages_is_refused_or_stored_completely(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    for name in chance.sample(exports.names(), 50):
        told = mangled_within(json.loads(otlp.json_body(name)), chance)
        refused_or_stored(json_body.spans_of, json.dumps(told).encode(), monkeypatch)
    for turn in Turn.objects.all():
        assert turn_verify(turn=turn).verified, turn.verdict


@pytest.mark.parametrize("seed", range(2))
def test_a_mutated_protobuf_export_is_refused_or_stored_completely(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    for name in chance.sample(exports.names(), 25):
        body = bytearray(otlp.protobuf_body(name))
        for _ in range(chance.randint(1, 6)):
            body[chance.randrange(len(body))] = chance.randrange(256)
        refused_or_stored(protobuf.spans_of, bytes(body), monkeypatch)
    for turn in Turn.objects.all():
        assert turn_verify(turn=turn).verified, turn.verdict


def test_a_deeply_nested_attribute_refuses_only_its_span() -> None:
    told = json.loads(otlp.json_body("openinference-openai-ok"))
    value: Any = {"intValue": "1"}
    for _ in range(40):
        value = {"arrayValue": {"values": [value]}}
    told["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["attributes"].append({"key": "deep", "value": value})
    taken = json_body.spans_of(json.dumps(told).encode())
    assert sum(taken.refused.values()) == 1
    assert len(taken.spans) == 1


def test_both_encodings_of_an_export_are_read_the_same() -> None:
    for name in exports.names():
        assert protobuf.spans_of(otlp.protobuf_body(name)).spans == json_body.spans_of(otlp.json_body(name)).spans


def test_protobufs_own_parser_accepts_the_generated_messages() -> None:
    with pytest.raises(DecodeError):
        ExportTraceServiceRequest.FromString(b"\xff\xff")


EMPTY = b"\n\x00"  #: a resource without anything, in two bytes


def test_empty_resources_are_not_all_traversed() -> None:
    """A body of 1.8 MB held 900,000 of them: many seconds of a thread."""
    begun = time.process_time()
    for read, body in ((protobuf.spans_of, EMPTY * 900_000), (protobuf.logs_of, EMPTY * 900_000),
                       (json_body.spans_of, b'{"resourceSpans":[%s{}]}' % (b"{}," * 600_000))):  # fmt: skip
        with pytest.raises(bodies.BodyError, match="20,000 resources and scopes"):
            read(body)
    assert time.process_time() - begun < 3


ONES_OWN = "this-one"


def spans_in(numbers: Sequence[int], instances: Sequence[str]) -> ExportTraceServiceRequest:
    """So many spans in a resource of its own, for each number; each resource is of its installation."""
    told = ExportTraceServiceRequest()
    for number, instance in zip(numbers, instances, strict=True):
        resource = told.resource_spans.add()
        resource.resource.attributes.add(key=bodies.INSTANCE).value.string_value = instance
        spans = resource.scope_spans.add().spans
        for _ in range(number):
            spans.add(trace_id=b"t" * 16, span_id=b"s" * 8, start_time_unix_nano=bodies.EARLIEST)
    return told


def in_json(told: ExportTraceServiceRequest) -> bytes:
    """The same in OTLP's JSON, where ids are hexadecimal."""
    written = MessageToDict(told)
    for resource in written["resourceSpans"]:
        for span in resource["scopeSpans"][0]["spans"]:
            span |= {"traceId": (b"t" * 16).hex(), "spanId": (b"s" * 8).hex()}
    return json.dumps(written).encode()


def test_our_own_spans_take_no_room_from_others() -> None:
    told = spans_in((15_000, 6_000), (ONES_OWN, "another"))
    for taken in (protobuf.spans_of(told.SerializeToString(), ONES_OWN), json_body.spans_of(in_json(told), ONES_OWN)):
        assert (len(taken.spans), taken.refused) == (6_000, {bodies.OWN: 15_000})


def test_spans_above_the_limit_of_a_scope_are_refused_and_earlier_ones_kept() -> None:
    told = spans_in([1] * 10_001, ["another"] * 10_001)
    for taken in (protobuf.spans_of(told.SerializeToString()), json_body.spans_of(in_json(told))):
        assert (len(taken.spans), taken.refused) == (10_000, {bodies.TOO_MANY_GROUPS: 1})
        assert taken.message == "A request may hold 20,000 resources and scopes. Send fewer at once. (1)"


def test_log_records_of_a_request_are_limited_whatever_they_refer_to() -> None:
    told = ExportLogsServiceRequest()
    for _ in range(2):
        records = told.resource_logs.add().scope_logs.add().log_records
        for _ in range(15_000):
            records.add()  # names no span
    written = MessageToDict(told)
    for taken in (protobuf.logs_of(told.SerializeToString()), json_body.logs_of(json.dumps(written).encode())):
        assert taken.refused == {bodies.NO_SPAN_OF_LOG: 20_000, bodies.TOO_MANY: 10_000}


def test_only_the_first_of_too_many_spans_are_read_whether_valid_or_not() -> None:
    told = ExportTraceServiceRequest()
    spans = told.resource_spans.add().scope_spans.add().spans
    for _ in range(50_000):
        spans.add()  # without an id
    taken = protobuf.spans_of(told.SerializeToString())
    assert taken.refused == {bodies.TOO_MANY: 30_000, bodies.NO_ID: 20_000}
