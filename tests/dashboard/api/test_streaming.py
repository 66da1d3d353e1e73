"""Server-sent events over a real port: resumed at every record, bounded, and gone when their reader is."""

import gc
import http.client
import json
import socket
import threading
import time
import tracemalloc
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from urllib.parse import urlsplit
from uuid import UUID

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboard.accounts import session_watch
from dashboard.accounts.models import ApiToken
from dashboard.accounts.services import bootstrap_token_ensure
from dashboard.agents.models import Connection
from dashboard.api import streaming
from dashboard.api.streaming import UnsentMessages, pieces
from dashboard.client.wire import _events
from dashboard.live import stream_limits as counting
from dashboard.live import turn_events
from dashboard.live.services import turn_start
from dashboard.live.stream_limits import streams
from dashboard.live.turn_events import Message
from dashboard.platform.unread_responses import KeptAnswer, kept_of
from dashboard.runtime.request_guard.frame_budget import ByteBudget
from dashboard.runtime.request_guard.resource_limits import ResourceLimits
from dashboard.turns.models import Record, Turn
from dashboard.turns.record_reader import records_of
from tests.dashboard.driving import AgentOf, Play, drive
from tests.dashboard.website import TOKEN, until, website
from tests.examples import examples

pytestmark = pytest.mark.django_db(transaction=True)

#: What a header may hold.
HEADER = st.characters(min_codepoint=0x20, max_codepoint=0xFF, exclude_categories=["Cc"])
NOWHERE = "01a1fbc5-27eb-74dc-9e07-332dcdb1f422"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    # On a busy machine it takes longer than 30 s to open forty streams, of which none is read.
    with website(bounds=ResourceLimits(stalled_seconds=600)) as at:
        yield at


@pytest.fixture(autouse=True)
def token(db: None) -> None:
    bootstrap_token_ensure(TOKEN)


class Reader:
    """A plain HTTP client at a turn's events."""

    def __init__(self, address: str, turn: object, *, query: str = "", receives: int = 0, **headers: str) -> None:
        """`receives`: bytes that the system takes for it while it does not read; 0: as many as it likes, up to 6 MB."""
        self.connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)
        if receives:
            self.connection.sock = socket.socket()
            self.connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receives)
            self.connection.sock.settimeout(90)
            self.connection.sock.connect((self.connection.host, self.connection.port))
        given = {"Authorization": f"Bearer {TOKEN}", **{name.replace("_", "-"): text for name, text in headers.items()}}
        self.connection.request("GET", f"/api/v1/turns/{turn}/events{query}", headers=given)
        self.answer = self.connection.getresponse()

    def events(self) -> list[dict[str, str]]:
        """All of them, to the end of the stream."""
        blocks = self.answer.read().decode().split("\n\n")
        return [dict(line.split(": ", 1) for line in block.split("\n")) for block in blocks if block]

    def problem(self) -> dict:
        with self:
            assert self.answer.headers["Content-Type"] == "application/problem+json"
            return {"status": self.answer.status, **json.loads(self.answer.read())}

    def __enter__(self) -> "Reader":
        return self

    def __exit__(self, *_: object) -> None:
        self.answer.close()
        self.connection.close()


def test_records_are_streamed_in_the_format_of_the_list_and_followed_by_the_turn(address: str, play: Play):
    turn = play("sim-essay", max_tokens=60)
    with Reader(address, turn.id) as reader:
        assert reader.answer.headers["Content-Type"] == "text/event-stream"
        assert reader.answer.headers["Cache-Control"] == "private, no-store"
        assert reader.answer.headers["Content-Encoding"] is None
        first, *told, end = reader.events()
    assert first == {"retry": "1000"}
    assert [event["event"] for event in told] == ["record"] * turn.last_seq
    assert [json.loads(event["data"]) for event in told] == asked(address, f"/turns/{turn.id}/records")
    assert [event["id"] for event in told] == [str(seq) for seq in range(1, turn.last_seq + 1)]
    assert (end["event"], json.loads(end["data"])) == ("end", asked(address, f"/turns/{turn.id}"))
    assert "id" not in end


def test_data_read_for_the_access_check_is_not_read_again(address: str, play: Play, monkeypatch: pytest.MonkeyPatch):
    turn, begun = play("sim-essay", max_tokens=60), list[int]()

    def read(turn_id: UUID, *, after: int, upto: int) -> Iterable[Record]:
        begun.append(after)
        return records_of(turn_id, after=after, upto=upto)

    monkeypatch.setattr(turn_events, "records_of", read)
    monkeypatch.setattr(turn_events, "MOST_RECORDS", 2)
    with Reader(address, turn.id) as reader:
        assert reader.events()[-1]["event"] == "end"
    assert begun == list(range(0, turn.last_seq, 2))


def asked(address: str, path: str) -> object:
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)
    connection.request("GET", f"/api/v1{path}", headers={"Authorization": f"Bearer {TOKEN}"})
    try:
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


def test_the_first_read_of_each_stream_waits_in_the_users_queue(
    address: str, waiting: Turn, monkeypatch: pytest.MonkeyPatch
):
    looking, most, lock = 0, 0, threading.Lock()
    look = turn_events.Follower.look

    def counted(follower: turn_events.Follower) -> list[Message]:
        nonlocal looking, most
        with lock:
            looking += 1
            most = max(most, looking)
        time.sleep(0.2)
        try:
            return look(follower)
        finally:
            with lock:
                looking -= 1

    monkeypatch.setattr(turn_events.Follower, "look", counted)
    with ThreadPoolExecutor(5) as readers:
        opened = list(readers.map(lambda _: Reader(address, waiting.pk), range(5)))
    for reader in opened:
        reader.connection.close()
    assert most <= 2, "one first look, and one of those that follow"


def test_a_reader_that_reconnects_at_any_record_gets_the_rest(address: str, play: Play):
    turn = play("sim-essay", max_tokens=60)
    for seq in range(turn.last_seq + 1):
        rest = [str(n) for n in range(seq + 1, turn.last_seq + 1)]
        with Reader(address, turn.id, Last_Event_ID=str(seq)) as by_header:
            assert [event["id"] for event in by_header.events() if "id" in event] == rest
        with Reader(address, turn.id, query=f"?after={seq}") as by_query:
            assert [event["id"] for event in by_query.events() if "id" in event] == rest


def test_the_last_event_id_header_takes_precedence_over_the_url(address: str, play: Play):
    turn = play("sim-essay")
    with Reader(address, turn.id, query="?after=0", Last_Event_ID=str(turn.last_seq)) as reader:
        assert [event.get("event") for event in reader.events()] == [None, "end"]


def test_the_list_of_records_can_start_after_a_record(address: str, play: Play):
    turn = play("sim-essay", max_tokens=60)
    assert [record["seq"] for record in asked(address, f"/turns/{turn.id}/records?after=3")] == [4, 5]
    assert asked(address, f"/turns/{turn.id}/records?after=-1")["status"] == 422
    assert asked(address, f"/turns/{turn.id}/records?after=99999999999999999999")["status"] == 422


def test_readers_of_a_running_turn_receive_the_same_events(address: str, agent_of: AgentOf, slow: Connection):
    turn = turn_start(agent=agent_of("sim-essay", connection=slow, max_tokens=60), input_text="Slowly, please.")
    readers = [Reader(address, turn.id) for _ in range(3)]
    with ThreadPoolExecutor(3) as threads:
        reading = [threads.submit(reader.events) for reader in readers]
        drive(turn)
        told = [done.result(30) for done in reading]
    for reader in readers:
        reader.connection.close()
    kept = [[event for event in events if event.get("event") != "draft"] for events in told]
    assert kept[0] == kept[1] == kept[2]
    assert all(any(event.get("event") == "draft" for event in events) for events in told)


@pytest.mark.parametrize("headers", [{"Authorization": ""}, {"Authorization": "Bearer wrong"}])
def test_unauthenticated_readers_get_nothing(address: str, headers: dict[str, str]):
    for turn in (NOWHERE, "nonsense"):
        assert Reader(address, turn, **headers).problem()["status"] == 401


@pytest.mark.parametrize("turn", [NOWHERE, "nonsense"])
def test_a_missing_turn_is_404(address: str, turn: str):
    assert Reader(address, turn).problem()["status"] == 404


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seq=st.text(HEADER, max_size=30) | st.integers().map(str))
def test_any_last_event_id_is_accepted_or_refused_with_an_explanation(address: str, ended: Turn, seq: str):
    text = seq.strip() or "0"
    fine = text.isascii() and text.isdigit() and len(text) <= 10 and int(text) < 2**31
    reader = Reader(address, ended.id, Last_Event_ID=text)
    if fine:
        with reader:
            assert reader.answer.status == 200
            assert reader.events()[-1]["event"] == "end"
    else:
        assert "must be the seq of a record" in reader.problem()["detail"]


@pytest.fixture
def ended(play: Play) -> Turn:
    return play("sim-essay")


@pytest.fixture
def waiting(agent_of: AgentOf) -> Turn:
    """A turn nobody drives."""
    return turn_start(agent=agent_of("sim-essay"), input_text="Later.")


def test_a_disconnected_reader_leaves_nothing_behind(address: str, waiting: Turn):
    before = len(streams)
    readers = [Reader(address, waiting.id) for _ in range(4)]
    until(lambda: len(streams) == before + 4)
    for reader in readers:
        reader.__exit__()
    until(lambda: len(streams) == before)


def test_a_stream_ends_when_its_token_is_revoked_and_a_reconnection_is_refused(
    address: str, waiting: Turn, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(session_watch, "LOOK_SECONDS", 0.05)
    with Reader(address, waiting.id) as reader:
        assert reader.answer.status == 200
        ApiToken.objects.update(revoked_at=timezone.now())
        assert all(event.get("event") != "end" for event in reader.events())
    with Reader(address, waiting.id) as again:
        assert again.answer.status == 401


def test_silent_periods_are_filled_with_comments(address: str, waiting: Turn, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(streaming, "KEEP_ALIVE", 0.1)
    with Reader(address, waiting.id) as reader:
        assert [reader.answer.readline() for _ in range(4)] == [b"retry: 1000\n", b"\n", b": still here\n", b"\n"]


def test_a_caller_with_too_many_streams_is_told_so_until_one_is_closed(
    address: str, waiting: Turn, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(counting, "MOST", 2)
    with Reader(address, waiting.id), Reader(address, waiting.id):
        until(lambda: len(streams) == 2)
        refused = Reader(address, waiting.id).problem()
        assert (refused["status"], refused["detail"]) == (
            429,
            "2 streams of this caller, or 300 of its user, are open already; close one first.",
        )
    until(lambda: len(streams) == 0)
    with Reader(address, waiting.id) as again:
        assert again.answer.status == 200
    until(lambda: len(streams) == 0)


def test_a_slow_reader_blocks_nobody_and_misses_nothing(address: str, ended: Turn):
    long = {"at": 1, "type": "long", "text": "x" * 400_000}
    rows = range(ended.last_seq + 1, ended.last_seq + 61)
    Record.objects.bulk_create(
        Record(turn_id=ended.id, seq=seq, at=ended.created_at, event=long, command={}) for seq in rows
    )
    Turn.objects.filter(pk=ended.pk).update(last_seq=rows[-1])
    with Reader(address, ended.id) as lazy:
        until(lambda: len(streams) == 1)
        with Reader(address, ended.id) as quick:
            assert quick.events()[-1]["event"] == "end"
        until(lambda: len(streams) == 1)
        ids = [event["id"] for event in lazy.events() if "id" in event]
    assert ids == [str(seq) for seq in range(1, rows[-1] + 1)]


@pytest.fixture
def patient() -> Iterator[str]:
    """A website that drops nobody for reading nothing, however long a busy machine takes for what a test does."""
    with website(bounds=replace(ResourceLimits(), stalled_seconds=3_600)) as at:
        yield at


@pytest.mark.nightly  # by day the reader above blocks nobody; how much memory many take seldom changes
def test_slow_readers_share_the_buffered_events_of_a_turn(patient: str, ended: Turn):
    """8 streams of a record with 6 MB, and 8 that come back before it: one copy for all, and 350 KB for each."""
    long = {"at": 1, "type": "long", "text": "x" * 6_000_000}
    seq = ended.last_seq + 1
    Record.objects.create(turn_id=ended.id, seq=seq, at=ended.created_at, event=long, command={})
    Turn.objects.filter(pk=ended.pk).update(last_seq=seq)
    many = 16
    with Reader(patient, ended.id) as first:  # what the first request imports is none of a stream's
        assert first.events()[-1]["event"] == "end"
    until(lambda: len(streams) == 0)
    tracemalloc.start()
    try:
        with ExitStack() as open_ones:
            before = held()
            for n in range(many):
                open_ones.enter_context(Reader(patient, ended.id, query=f"?after={n % 2 * (seq - 1)}", receives=4_096))
            until(lambda: len(streams) == many)
            until(lambda: held() - before < 6_500_000 + many * 350_000)
        until(lambda: len(streams) == 0)
        until(lambda: held() - before < 3_000_000)
    finally:
        tracemalloc.stop()


def held() -> int:
    """Bytes that this process has in use."""
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def unsent_messages_of(*messages: Message) -> UnsentMessages:
    untold = UnsentMessages(KeptAnswer())
    untold.add([*messages])
    return untold


def test_an_event_is_one_block_of_lines():
    untold = unsent_messages_of(Message("record", "{}", 7), Message("draft", "{}"))
    assert list(streaming.pieces(untold)) == [b"id: 7\nevent: record\ndata: {}\n\nevent: draft\ndata: {}\n\n"]


def test_a_client_ignores_an_incomplete_event_of_an_abandoned_stream():
    """It would come back behind the record whose end it never got."""
    kept = KeptAnswer()
    untold = UnsentMessages(kept)
    untold.add([Message("record", '"' + "x" * 3 * streaming.PIECE + '"', 7)])
    sending = streaming.pieces(untold)
    said = next(sending)
    assert kept.give_up is not None
    kept.give_up()
    said += b"".join(sending) + streaming.SLOW
    told = said.decode().splitlines()
    assert told[0] == "id: 7"
    assert "" not in told, "a blank line hands an event on"
    assert [kind for kind, _ in _events(iter(told)) if kind] == []


def test_a_long_event_is_sent_in_pieces():
    long = "x" * 3 * streaming.PIECE
    sent = list(streaming.pieces(unsent_messages_of(Message("record", long, 7), Message("draft", "{}"))))
    assert b"".join(sent).decode() == f"id: 7\nevent: record\ndata: {long}\n\nevent: draft\ndata: {{}}\n\n"
    assert max(map(len, sent)) < 2 * streaming.PIECE


def test_many_open_streams_leave_database_connections_for_others(address: str, waiting: Turn):
    """More of them than the pool has connections: a stream keeps none."""
    readers: list[Reader] = []
    threads = [threading.Thread(target=lambda: readers.append(Reader(address, waiting.id))) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    until(lambda: len(streams) == 40)
    assert asked(address, f"/turns/{waiting.id}")["status"] == "queued"
    for reader in readers:
        reader.__exit__()
    until(lambda: len(streams) == 0)


def test_an_interrupted_connection_frees_its_stream(address: str, waiting: Turn):
    place = urlsplit(address)
    with socket.create_connection((place.hostname, place.port)) as wire:
        lines = [f"GET /api/v1/turns/{waiting.id}/events HTTP/1.1", "Host: localhost", f"Authorization: Bearer {TOKEN}"]
        wire.sendall("\r\n".join([*lines, "", ""]).encode())
        until(lambda: len(streams) == 1)
    until(lambda: len(streams) == 0)


SIZE = 4_000_000


class Stream:
    """One stream, as a server counts it."""

    def __init__(self, budget: "ByteBudget[Stream]") -> None:
        self.kept = KeptAnswer(lambda: budget.hold(self, self.kept.size))
        self.untold = UnsentMessages(self.kept)


def given_up(stream: Stream) -> None:
    assert stream.kept.give_up is not None
    stream.kept.give_up()


def message(seq: int) -> Message:
    return Message("record", str(seq % 10) * SIZE, seq)


def test_streams_of_different_large_turns_share_one_limit():
    budget = ByteBudget[Stream](3 * SIZE, given_up)
    tracemalloc.start()
    try:
        streams = [Stream(budget) for _ in range(12)]
        begun = []
        for n, stream in enumerate(streams):
            stream.untold.add([message(n)])
            begun.append(pieces(stream.untold))
            assert next(begun[-1], b"")  # its client has taken one piece
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] < 4 * SIZE
    finally:
        tracemalloc.stop()
    gone = [stream.untold.gone for stream in streams]
    assert gone == [True] * 9 + [False] * 3
    for n, (rest, slow) in enumerate(zip(begun, gone, strict=True)):
        said = b"".join(rest)
        assert said.endswith(b"\n\n") is not slow
        assert (len(said) < 100) is slow, n


def test_a_removed_stream_leaves_others_alone_and_reads_nothing_more():
    budget = ByteBudget[Stream](SIZE, given_up)
    first, second = Stream(budget), Stream(budget)
    first.untold.add([message(1)])
    second.untold.add([message(2)])
    assert (first.untold.gone, second.untold.gone) == (True, False)
    first.untold.add([message(3)])
    assert (first.kept.size, second.kept.size) == (0, SIZE)


def test_a_message_shared_by_streams_counts_for_its_oldest_holder_and_then_the_next():
    budget = ByteBudget[Stream](2 * SIZE, given_up)
    shared, streams = message(1), [Stream(budget) for _ in range(40)]
    for stream in streams:
        stream.untold.add([shared])
    assert [stream.kept.size for stream in streams] == [SIZE, *[0] * 39]
    assert b"".join(pieces(streams[0].untold)).endswith(b"\n\n")
    assert [stream.kept.size for stream in streams] == [0, SIZE, *[0] * 38]
    for stream in streams:
        with stream.untold:
            pass
    assert [stream.kept.size for stream in streams] == [0] * 40


def test_under_another_server_nothing_is_counted_and_everything_is_sent():
    untold = UnsentMessages(kept_of({}))
    untold.add([message(1)])
    assert len(b"".join(pieces(untold))) > SIZE
