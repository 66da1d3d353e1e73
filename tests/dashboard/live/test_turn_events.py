"""A watcher is told the history as it is: whenever it begins, wherever it goes on, whatever the layer drops."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable
from contextlib import aclosing
from itertools import groupby
from typing import Any
from uuid import UUID

import pytest
from channels.db import database_sync_to_async
from channels_redis.pubsub import RedisPubSubChannelLayer
from django.db import OperationalError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboard.agents.models import Connection
from dashboard.live import stream_limits, turn_events
from dashboard.live.services import turn_give_up, turn_start
from dashboard.live.stream_limits import Caller, StreamLimits, TooManyStreamsError
from dashboard.live.turn_events import MAX_SEQ, Follower, Message, followed
from dashboard.platform.memory_layer import MemoryChannelLayer
from dashboard.platform.notifications import announce_change
from dashboard.simulator.texts import ESSAY
from dashboard.turns.models import Attempt, AttemptChunk, Record, Turn
from dashboard.turns.record_reader import records_of
from tests.dashboard.driving import AgentOf, Play, driven
from tests.examples import examples

pytestmark = pytest.mark.django_db(transaction=True)


def everything(follower: Follower) -> list[Message]:
    """What a follower is told of a turn at which nothing happens any more."""
    told = follower.look()
    while follower.behind:
        told += follower.look()
    return told


def seqs(told: list[Message]) -> list[int]:
    return [message.seq for message in told if message.kind == "record"]


async def watched(turn: Turn, follower: Follower | None = None) -> list[Message]:
    """All that a stream tells until it ends."""
    async with aclosing(followed(follower or Follower(turn.id), Caller(1))) as looks:
        return [message async for messages in looks for message in messages]


@pytest.fixture
def queued(agent_of: AgentOf, slow: Connection) -> Turn:
    return turn_start(agent=agent_of("sim-essay", connection=slow, max_tokens=60), input_text="Slowly, please.")


def test_a_subscription_from_any_record_gets_the_rest_without_repeats(play: Play):
    turn = play("sim-essay", max_tokens=60)
    for seq in range(turn.last_seq + 3):
        told = everything(Follower(turn.id, seq))
        assert seqs(told) == list(range(seq + 1, turn.last_seq + 1))
        assert [message.kind for message in told][-1] == "end"
        assert [message.kind for message in told].count("end") == 1


def test_a_long_history_is_read_in_parts_and_completely(play: Play, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(turn_events, "MOST_RECORDS", 2)
    turn = play("sim-essay", max_tokens=60)
    follower = Follower(turn.id)
    first = follower.look()
    assert (seqs(first), follower.behind, follower.over) == ([1, 2], True, False)
    assert seqs(first + everything(follower)) == list(range(1, turn.last_seq + 1))


def drafts(told: list[Message]) -> list[dict]:
    return [json.loads(message.data) for message in told if message.kind == "draft"]


def said(told: list[Message]) -> dict[int, str]:
    """The drafts of each attempt, joined where each says that it goes on."""
    texts: dict[int, str] = {}
    for draft in drafts(told):
        assert draft["offset"] == len(texts.get(draft["attempt"], ""))
        texts[draft["attempt"]] = texts.get(draft["attempt"], "") + draft["text"]
    return texts


async def test_a_running_turn_is_reported_in_order_with_its_streamed_text(queued: Turn):
    told, _ = await asyncio.gather(watched(queued), driven(queued))
    history = await database_sync_to_async(lambda: list(records_of(queued.id)))()
    assert seqs(told) == [record.seq for record in history]
    assert told[-1].kind == "end"
    assert json.loads(told[-1].data)["status"] == "partial"
    answers = {n: record.event["response"]["text"] for n, record in enumerate(history) if "response" in record.event}
    assert set() < said(told).keys() <= {1, 2, 3, 4}, "on a busy machine an attempt can be over before anybody looked"
    for attempt, text in said(told).items():
        assert answers[attempt].startswith(text)
    # A draft stands between the record that asked for it and the one that brings the answer.
    asked = 0
    for message in told:
        asked = message.seq or asked
        assert message.kind != "draft" or json.loads(message.data)["attempt"] == asked


async def test_two_watchers_receive_the_same(queued: Turn):
    one, other, _ = await asyncio.gather(watched(queued), watched(queued), driven(queued))
    assert [m for m in one if m.kind != "draft"] == [m for m in other if m.kind != "draft"]


@pytest.mark.nightly
async def test_a_hundred_watchers_cost_the_database_little_more_than_one(queued: Turn, monkeypatch: pytest.MonkeyPatch):
    looks: Counter[int] = Counter()
    really = Follower.look

    def counted(follower: Follower) -> list[Message]:
        looks[watchers] += 1
        return really(follower)

    monkeypatch.setattr(Follower, "look", counted)
    monkeypatch.setattr(stream_limits, "MOST", 200)
    again = await database_sync_to_async(turn_start)(agent=queued.agent, input_text="Slowly, please.")
    for watchers, turn in ((1, queued), (100, again)):
        *told, _ = await asyncio.gather(*(watched(turn) for _ in range(watchers)), driven(turn))
        assert all(seqs(messages) == [1, 2, 3, 4, 5] for messages in told)
        # On a busy machine an attempt can be over before anybody looked.
        assert all(said(messages).keys() <= {1, 2, 3, 4} for messages in told)
    assert looks[100] < 10 * looks[1]


async def test_a_watcher_does_not_depend_on_the_channel_layer(queued: Turn, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dashboard.platform.notifications._say", lambda _words: None)
    told, _ = await asyncio.gather(watched(queued), driven(queued))
    assert seqs(told) == [1, 2, 3, 4, 5]
    assert told[-1].kind == "end"


Layer = Callable[[], Any]


@pytest.fixture(params=["memory", "redis"])
def layer_of(request: pytest.FixtureRequest) -> Layer:
    """The layer as a process has it; over Redis, each its own."""
    if request.param == "memory":
        shared = MemoryChannelLayer()
        return lambda: shared
    host = {"address": request.getfixturevalue("redis").url, "socket_timeout": None}
    return lambda: RedisPubSubChannelLayer(hosts=[host])


async def test_the_channel_layer_wakes_a_watcher(queued: Turn, layer_of: Layer, monkeypatch: pytest.MonkeyPatch):
    here, there = layer_of(), layer_of()
    monkeypatch.setattr(turn_events, "get_channel_layer", lambda: here)
    monkeypatch.setattr("dashboard.platform.notifications.get_channel_layer", lambda: there)
    monkeypatch.setattr(turn_events, "PATIENCE", 600.0)
    monkeypatch.setattr(turn_events, "PACE", 0.0)
    looks: list[list[Message]] = []

    async def watch() -> None:
        async with aclosing(followed(Follower(queued.id), Caller(1))) as told:
            async for messages in told:
                looks.append(messages)  # noqa: PERF401 - they are looked at while they come

    watching = asyncio.create_task(watch())
    while not looks:
        await asyncio.sleep(0.01)
    await database_sync_to_async(turn_give_up)(turn_id=queued.id, why="nobody comes")
    deadline = asyncio.get_running_loop().time() + 20
    while not watching.done():
        # It may not listen yet; once it does, one word is enough.
        assert asyncio.get_running_loop().time() < deadline
        await announce_change(queued.id, 0)
        await asyncio.wait({watching}, timeout=0.1)
    assert [message.kind for messages in looks for message in messages] == ["end"]
    assert len(looks) == 2
    for layer in (here, there):
        await layer.flush()


class Broken:
    async def new_channel(self) -> str:
        raise ConnectionError("the layer is away")


async def test_a_broken_channel_layer_costs_a_watcher_only_time(queued: Turn, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(turn_events, "get_channel_layer", Broken)
    told, _ = await asyncio.gather(watched(queued), driven(queued))
    assert seqs(told) == [1, 2, 3, 4, 5]


def test_a_turn_abandoned_without_a_record_has_an_end(queued: Turn):
    follower = Follower(queued.id)
    assert follower.look() == []
    turn_give_up(turn_id=queued.id, why="nobody comes")
    (end,) = follower.look()
    assert json.loads(end.data)["status"] == "interrupted"
    assert follower.over


@pytest.mark.parametrize("seq", [0, 7, MAX_SEQ])
def test_a_missing_turn_is_over(seq: int):
    follower = Follower(UUID("01890000-0000-7000-8000-000000000000"), seq)
    assert (follower.look(), follower.over) == ([], True)


@pytest.fixture
def writing(queued: Turn) -> Turn:
    """A turn whose first record is there and whose first call streams, by hand."""
    at = queued.created_at
    Record.objects.create(turn_id=queued.id, seq=1, at=at, event={"at": 0, "type": "started"}, command={})
    Attempt.objects.create(turn_id=queued.id, index=1, iteration=1, max_tokens=9, started_at=at)
    Turn.objects.filter(pk=queued.pk).update(last_seq=1, status="running")
    return queued


@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    texts=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=5), max_size=12),
    chance=st.randoms(use_true_random=False),
)
def test_text_is_sent_once_and_in_order_for_any_chunking(writing: Turn, texts: list[str], chance: random.Random):
    attempt = Attempt.objects.filter(turn_id=writing.id).latest("index").index + 1
    Attempt.objects.create(turn_id=writing.id, index=attempt, iteration=1, max_tokens=9, started_at=writing.created_at)
    follower, told = Follower(writing.id, 1), []
    for n, text in enumerate(texts, 1):
        AttemptChunk.objects.create(turn_id=writing.id, attempt=attempt, n=n, raw=b"", text=text, at=writing.created_at)
        if chance.random() < 0.5:
            told += follower.look()
    told += follower.look()
    assert said(told).get(attempt, "") == "".join(texts)
    assert follower.look() == []


def test_streamed_text_of_a_call_waits_for_its_record(writing: Turn):
    AttemptChunk.objects.create(turn_id=writing.id, attempt=1, n=1, raw=b"", text="hello", at=writing.created_at)
    follower = Follower(writing.id)
    assert [message.kind for message in follower.look()] == ["record"]
    assert [message.kind for message in follower.look()] == ["draft"]


def test_text_that_no_wire_format_can_carry_is_sent_with_replacements(writing: Turn):
    odd = {"at": 1, "type": "odd", "text": "line\u2028two\r\n\ud800\x00 𝄞"}
    Record.objects.create(turn_id=writing.id, seq=2, at=writing.created_at, event=odd, command={})
    Turn.objects.filter(pk=writing.pk).update(last_seq=2)
    told = everything(Follower(writing.id))
    assert all(message.data.isascii() and "\n" not in message.data for message in told)
    assert json.loads(told[1].data)["event"] == odd


async def test_a_stream_ends_when_the_server_stops(queued: Turn, monkeypatch: pytest.MonkeyPatch):
    own = StreamLimits()
    monkeypatch.setattr(turn_events, "streams", own)
    watching = asyncio.create_task(watched(queued))
    while not len(own):
        await asyncio.sleep(0.01)
    own.end_all()
    assert await asyncio.wait_for(watching, 60) == []
    assert len(own) == 0


async def test_an_old_stream_ends_so_that_its_token_is_checked_again(queued: Turn, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(turn_events, "LIFETIME", 0.0)
    assert await asyncio.wait_for(watched(queued), 60) == []


async def test_a_stream_ends_where_the_database_is_unavailable(queued: Turn, monkeypatch: pytest.MonkeyPatch):
    def away(_: Follower) -> list[Message]:
        raise OperationalError("the database is away")

    monkeypatch.setattr(Follower, "look", away)
    follower = Follower(queued.id)
    assert await asyncio.wait_for(watched(queued, follower), 60) == []
    assert not follower.over


def test_streams_per_caller_are_limited_to_leave_room_for_others(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stream_limits, "MOST", 2)
    own = StreamLimits()
    one = Caller(1)
    with own.opened(one), own.opened(one):
        with pytest.raises(TooManyStreamsError, match="2 streams of this caller"), own.opened(one):
            pass
        with own.opened(Caller(2)):
            assert len(own) == 3
    with own.opened(one):
        assert len(own) == 1
    assert len(own) == 0


def test_many_tokens_do_not_give_a_user_more_streams(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stream_limits, "MOST_OF_USER", 2)
    own = StreamLimits()
    with own.opened(Caller(1, 5)), own.opened(Caller(1, 6)):
        for token in (5, 7, None):
            with pytest.raises(TooManyStreamsError, match="2 of its user"), own.opened(Caller(1, token)):
                pass
        with own.opened(Caller(2, 8)):
            assert len(own) == 3


def test_the_complete_text_of_a_turn_is_in_its_events(play: Play):
    turn = play("sim-essay")
    told = everything(Follower(turn.id))
    assert json.loads(told[-1].data)["output_text"] == ESSAY
    assert [kind for kind, _ in groupby(message.kind for message in told)] == ["record", "end"]


def test_long_records_are_read_in_small_parts(play: Play, monkeypatch: pytest.MonkeyPatch):
    turn = play("sim-essay", max_tokens=60)
    whole = everything(Follower(turn.id))
    monkeypatch.setattr(turn_events, "MOST_CHARS", 10)
    follower = Follower(turn.id)
    first = follower.look()
    assert (seqs(first), follower.behind) == ([1], True)
    assert first + everything(follower) == whole


async def test_a_receiver_may_mutate_its_events_although_others_share_them(play: Play):
    turn = await database_sync_to_async(play)("sim-essay", max_tokens=60)

    async def cleared() -> int:
        many = 0
        async with aclosing(followed(Follower(turn.id), Caller(1))) as looks:
            async for messages in looks:
                many += len(messages)
                messages.clear()
        return many

    one, other = await asyncio.gather(cleared(), cleared())
    assert one == other == turn.last_seq + 1
