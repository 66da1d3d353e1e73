"""Spans in any order, twice, late, without their parents: the same rows in the end, and never half of anything."""

import random
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from django.db import OperationalError, connection, transaction

from dashboard.accounts.models import User
from dashboard.agents.models import Project
from dashboard.agents.selectors import project_default
from dashboard.gateway.models import GatewayCall
from dashboard.ingest import services, span_store
from dashboard.ingest.models import Ingested, Piece
from dashboard.ingest.services import FULL, LargeError, ingest
from dashboard.ingest.turn_files.file_export import file_text, turn_file
from dashboard.ingest.turn_files.services import turn_import
from dashboard.ingest.turn_store import turns_put
from dashboard.ingest.wire.bodies import ParsedBody
from dashboard.replay.services import turn_verify
from dashboard.timeline.services import turns_erase
from dashboard.turns.comments.services import comment_add
from dashboard.turns.models import Turn
from dashboard.turns.verification import verification_of
from tests.dashboard.ingest import exports
from tests.dashboard.ingest.assembly.test_turn_grouping import agent, calling, failing_agent, tool_run
from tests.nightly import nightly

pytestmark = pytest.mark.django_db

AGENT = "vercel-ai-sdk-agent"


def test_a_request_of_many_traces_is_written_in_groups_with_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = exports.pieces_of(exports.names())
    exports.send(*parts)
    expected = exports.stored()
    exports.emptied()
    at_once: list[int] = []

    def put(*arguments: Any, **named: Any) -> list[UUID]:
        at_once.append(len(arguments[2]))
        return turns_put(*arguments, **named)

    monkeypatch.setattr(services, "TRACES_AT_ONCE", 5)
    monkeypatch.setattr(services, "turns_put", put)
    exports.send(*parts)
    assert max(at_once) == 5 < len(at_once)
    assert exports.stored() == expected


@pytest.mark.django_db(transaction=True)
def test_all_turns_of_a_large_request_are_built_before_the_first_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever erases holds them in the order of their ids, and the traces come in another."""
    one = exports.export(AGENT)
    parts = [replace(span, trace=f"{number:032x}") for number in (1, 2, 3) for span in one.spans]
    first = [part for part in parts if not part.parent]
    exports.send(*first, *[part for part in parts if part.parent][:-1])
    turns = set(Turn.objects.values_list("id", flat=True))
    free: list[int] = []

    def put(*arguments: Any, **named: Any) -> list[UUID]:
        with ThreadPoolExecutor(1) as other:
            free.append(other.submit(_not_held).result())
        return turns_put(*arguments, **named)

    monkeypatch.setattr(services, "TRACES_AT_ONCE", 1)
    monkeypatch.setattr(services, "turns_put", put)
    exports.send(*[replace(part, attributes={**part.attributes, "later": "yes"}) for part in parts])
    assert len(turns) == len(free) == 3
    assert free == [0, 0, 0]


def _not_held() -> int:
    """How many turns another transaction may write to."""
    try:
        with transaction.atomic():
            return len(Turn.objects.select_for_update(no_key=True, skip_locked=True).values_list("id"))
    finally:
        connection.close()


def in_portions(parts: list[Any], chance: random.Random) -> Iterator[list[Any]]:
    while parts:
        size = chance.randint(1, 40)
        yield parts[:size]
        parts = parts[size:]


@pytest.mark.parametrize("seed", [0, nightly(1), nightly(2)])
def test_all_exports_in_any_order_and_twice_give_the_same_verified_rows(seed: int) -> None:
    parts = exports.pieces_of(exports.names())
    exports.send(*parts)
    expected = exports.stored()
    assert len(expected["Turn"]) == len(exports.names()) + 3  # three broken calls were asked for again, by other rules
    for turn in Turn.objects.all():
        assert turn_verify(turn=turn).verified, turn.verdict
    exports.emptied()
    chance = random.Random(seed)
    shuffled = chance.sample(parts, len(parts))
    again = chance.sample(parts, len(parts) // 3)
    for portion in in_portions(shuffled + again, chance):
        exports.send(*portion)
    assert exports.stored() == expected


def test_a_parent_that_arrives_an_hour_later_merges_its_calls_into_one_turn() -> None:
    taken = exports.export(AGENT)
    loop = next(span for span in taken.spans if not span.parent)
    calls = [span for span in taken.spans if span.parent]
    exports.send(calls[0])
    exports.send(calls[-1])
    assert not Ingested.objects.exclude(loop="").exists()
    Piece.objects.update(at="2020-01-01T00:00:00Z")
    assert span_store.sweep() == 0
    exports.send(*calls[1:-1], loop)
    turn = Turn.objects.get()
    assert (turn.attempts, turn.ingested.loop_reason, turn.agent_name) == (2, "stop", "demo")


def test_a_turn_with_a_model_name_the_database_cannot_store_verifies() -> None:
    parts = exports.pieces_of(["openinference-openai-ok"])
    exports.send(*(replace(one, attributes={**one.attributes, "llm.model_name": "a\0b\ud800"}) for one in parts))
    turn = Turn.objects.get()
    found = verification_of(turn)
    assert (turn.model, found.verified, found.divergence) == ("a\ufffdb\ufffd", True, None)


def test_the_same_request_twice_writes_nothing_the_second_time() -> None:
    parts = exports.pieces_of([AGENT])
    assert len(exports.send(*parts).written) == 1
    assert exports.send(*parts).written == []


def test_conflicting_versions_of_a_span_give_the_same_result_in_any_order() -> None:
    (call,) = (span for span in exports.export("otel-openai-v2-ok").spans if span.attributes)
    other = replace(call, attributes={**call.attributes, "gen_ai.usage.output_tokens": 7})
    exports.send(call)
    exports.send(other)
    expected = exports.stored()
    exports.emptied()
    exports.send(other)
    exports.send(call)
    assert exports.stored() == expected


def test_a_rewritten_turn_keeps_its_tags_comments_and_reruns(user: User) -> None:
    first, *others = sorted(exports.export(AGENT).spans, key=lambda span: (not span.parent, span.start))
    exports.send(first)
    turn = Turn.objects.get()
    Turn.objects.update(tags=["seen"])
    comment_add(turn=turn, transition=0, text="Why twice?", author=user)
    exports.send(*others)
    turn.refresh_from_db()
    assert (turn.attempts, turn.tags) == (2, ["seen"])
    assert turn.comments.get().text == "Why twice?"


def test_another_sender_cannot_change_join_fill_or_erase_a_trace(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    loop, *calls = sorted(exports.export(AGENT).spans, key=lambda span: span.parent)
    monkeypatch.setattr(span_store, "MOST_OF_TRACE", len(calls) + 1)
    mine, other = UUID(int=1), UUID(int=2)
    exports.send(*calls, sender=mine)
    recorded = exports.stored()
    forged = [replace(call, attributes={**call.attributes, "zzz": "z" * 9}) for call in calls]
    exports.send(loop, *forged, sender=other)
    theirs = set(Ingested.objects.filter(sender=other).values_list("turn_id", flat=True))
    assert theirs
    turns_erase(project=project_default(), chosen=list(theirs), by=user)
    assert exports.stored() == recorded
    assert set(Piece.objects.values_list("sender", flat=True)) == {mine}
    exports.send(loop, sender=mine)
    assert Turn.objects.get().ingested.loop_reason == "stop"


def test_a_trace_sent_to_two_projects_has_turns_in_both(user: User) -> None:
    beside, parts = Project.objects.create(name="beside"), exports.export(AGENT).spans
    exports.send(*parts, sender=UUID(int=user.pk))
    ingest(project_id=beside.pk, taken=exports.taken_of(parts), by=user.pk, sender=UUID(int=user.pk))
    turns = [Turn.objects.filter(project=one) for one in (project_default(), beside)]
    here, there = (set(found.values_list("id", flat=True)) for found in turns)
    assert len(here) == len(there) == 1
    assert not here & there


def test_a_turn_erased_and_imported_again_is_unchanged_when_its_trace_arrives_again(user: User) -> None:
    (call,) = (span for span in exports.export("otel-openai-v2-ok").spans if span.attributes)
    exports.send(call)
    turn = Turn.objects.get()
    file = file_text(turn_file(turn)).encode()
    turns_erase(project=project_default(), chosen=[turn.id], by=user)
    assert turn_import(content=file, by=user, unverified=True).turn.id == turn.id
    exports.send(call, *exports.export(AGENT).spans)
    assert Turn.objects.get(id=turn.id).origin.imported_by == user
    assert Turn.objects.exclude(id=turn.id).get().agent_name == "demo"


def test_an_erased_turn_leaves_no_part_of_its_trace(user: User) -> None:
    exports.send(*exports.pieces_of([AGENT, "otel-openai-v2-ok"]))
    erased = Turn.objects.get(agent_name="demo")
    turns_erase(project=project_default(), chosen=[erased.id], by=user)
    kept = Ingested.objects.get()
    assert set(Piece.objects.values_list("trace", flat=True)) == {kept.trace}


def test_spans_without_model_calls_are_deleted_after_a_day_and_counted_at_once() -> None:
    spans = [replace(span, attributes={}, scope="app") for span in exports.export(AGENT).spans]
    assert exports.send(*spans).let_go == len(spans)
    assert not Turn.objects.exists()
    assert not Piece.objects.exclude(content=None).exists()
    assert span_store.sweep() == 0
    Piece.objects.update(at="2020-01-01T00:00:00Z")
    assert span_store.sweep() == len(spans)


def test_trace_turns_are_no_gateway_calls_and_the_turns_of_a_trace_are_one_run() -> None:
    exports.send(*exports.pieces_of(["logfire-pydanticai-cuttool"]))
    first, second = Turn.objects.order_by("started_at")
    assert (second.run_id, second.follows) == (first.id, first.id)
    assert not GatewayCall.objects.exists()


def test_spans_above_the_limit_of_a_trace_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(span_store, "MOST_OF_TRACE", 3)
    spans = exports.export(AGENT).spans
    taken = exports.taken_of(spans)
    ingest(project_id=project_default().pk, taken=taken, by=None)
    assert taken.refused == {FULL: len(spans) - 3}
    assert Piece.objects.count() == 3


def test_a_row_refused_by_the_database_rolls_back_the_whole_request(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any) -> None:
        raise RuntimeError("as if the disk were full")

    monkeypatch.setattr("dashboard.ingest.turn_store._link", failing)
    with pytest.raises(RuntimeError, match="disk"):
        exports.send(*exports.pieces_of([AGENT]))
    assert not Turn.objects.exists()
    assert not Piece.objects.exists()


@pytest.fixture
def user() -> User:
    return User.objects.create_user("ada")


def test_stored_spans_of_a_trace_count_as_work_and_nothing_is_stored_above_the_limit() -> None:
    first, *others = exports.export(AGENT).spans
    exports.send(*others)
    before, body = exports.stored(), ParsedBody(spans=[first])
    project = project_default().id
    with pytest.raises(LargeError):
        ingest(project_id=project, taken=body, by=None, most=len(others))
    assert exports.stored() == before
    ingest(project_id=project, taken=body, by=None, most=len(others) + 1)
    assert exports.stored() != before


PROJECT, ADA, BOB = UUID(int=1), UUID(int=7), UUID(int=8)
TRACES = [UUID(int=number) for number in range(100)]
ANSWERS = list(range(100))


@contextmanager
def held_elsewhere(*traces: UUID, answers: Sequence[int] = (), alone: bool = False) -> Iterator[None]:
    """Another request of Ada's holds these for the length of the block."""
    there, done = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            span_store.hold(PROJECT, ADA, traces, answers, alone=alone)
            there.set()
            assert done.wait(20)
        connection.close()

    with ThreadPoolExecutor(1) as pool:
        holding = pool.submit(hold)
        assert there.wait(10)
        try:
            yield
        finally:
            done.set()
        holding.result()


def waits(sender: UUID, *traces: UUID, answers: Sequence[int] = (), alone: bool = False) -> bool:
    """Whether a request of this sender would wait for another."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '300ms'")
            span_store.hold(PROJECT, sender, traces, answers, alone=alone)
    except OperationalError as error:
        if "lock timeout" not in str(error):
            raise
        return True
    return False


@pytest.mark.django_db(transaction=True)
def test_a_request_waits_only_for_those_of_its_sender_with_one_of_its_traces_or_answers() -> None:
    with held_elsewhere(*TRACES, answers=ANSWERS):
        assert not waits(BOB, *TRACES, answers=ANSWERS)
        assert not waits(ADA, *(UUID(int=1000 + trace.int) for trace in TRACES), answers=range(1000, 1100))
        assert waits(ADA, UUID(int=1000), TRACES[-1])
        assert waits(ADA, UUID(int=1000), answers=[5000, ANSWERS[-1]])


@pytest.mark.django_db(transaction=True)
def test_a_request_that_is_worked_on_alone_waits_for_all_of_its_sender_and_they_for_it() -> None:
    with held_elsewhere(TRACES[0]):
        assert waits(ADA, TRACES[1], alone=True)
        assert not waits(BOB, TRACES[1], alone=True)
    with held_elsewhere(TRACES[0], alone=True):
        assert waits(ADA, TRACES[1])
        assert not waits(BOB, TRACES[1])


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("bound", ["MOST_LOCKS", "PLACES"])
def test_a_request_for_whose_locks_the_database_has_no_room_waits_for_those_of_its_lines(
    bound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    same_line, other_line = [UUID(int=n + span_store.LINES * 9) for n in (0, 1)]
    with held_elsewhere(TRACES[0]):
        assert not waits(ADA, same_line, answers=[0])
        monkeypatch.setattr(span_store, bound, 1)
        assert waits(ADA, same_line, answers=[0])
        assert not waits(ADA, other_line, answers=[1])
        assert not waits(BOB, same_line, answers=[0])


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("names", [slice(0, 12), nightly(slice(None))], ids=["some", "all"])
def test_requests_of_one_sender_at_once_give_the_same_rows_as_one_request(names: slice) -> None:
    parts = exports.pieces_of(exports.names()[names])
    exports.send(*parts)
    expected = exports.stored()
    exports.emptied()
    random.Random(54).shuffle(parts)

    def send(own: list[Any]) -> None:
        for n in range(0, len(own), 5):
            exports.send(*own[n : n + 5])
        connection.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(send, [parts[n::4] for n in range(4)]))
    assert exports.stored() == expected


def test_the_limit_that_ended_a_loop_is_its_reason_in_any_order_of_spans() -> None:
    message = "The next request would exceed the request_limit of 3."
    spans = [failing_agent("UsageLimitExceeded", message), calling(0), calling(1), calling(2)]
    random.Random(36).shuffle(spans)
    for span in (*spans, *spans):
        exports.send(span)
    turn = Turn.objects.get()
    assert (turn.status, turn.attempts, turn.ingested.loop_reason) == ("interrupted", 3, "UsageLimitExceeded")


def test_a_loop_without_further_calls_is_one_verified_turn_in_any_order_of_spans() -> None:
    spans = [agent(), calling(0), tool_run(0, call_id="c0"), calling(1), tool_run(1, call_id="c1")]
    for seed in range(4):
        for span in random.Random(seed).sample(spans, len(spans)):
            exports.send(span)
        turn = Turn.objects.get()
        assert (turn.attempts, turn.status) == (2, "interrupted")
        assert turn_verify(turn=turn).verified, turn.verdict
        exports.emptied()
