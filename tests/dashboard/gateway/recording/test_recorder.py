"""What is written in groups is what a driver would have written; and nothing is said to be stored that is not."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import asynccontextmanager

import pytest
from asgiref.sync import sync_to_async
from django.db import connection, transaction

from agentcore import serial, verify
from dashboard.agents.selectors import project_default
from dashboard.gateway.models import GatewayCall
from dashboard.gateway.recording import group_writer
from dashboard.gateway.recording.deduplication import LARGE, MARKS
from dashboard.gateway.recording.pending_turn import answered
from dashboard.gateway.recording.recorder import Recorder, poll_until
from dashboard.gateway.recording.recorder_messages import TurnUpdate
from dashboard.gateway.recording.rows import StoredTurn, TableRows, add_part
from dashboard.live.models import OwnedTurn, Process
from dashboard.timeline.services import turns_erase
from dashboard.turns.history import (
    client_body_of,
    messages_of,
    rebuilt_columns,
    recording_of,
    request_body_of,
    sha256_of,
)
from dashboard.turns.models import Attempt, ClientRequest, Node, Piece, Record, Turn, TurnMessage
from dashboard.turns.nodes import NodeForm, read
from dashboard.turns.record_reader import records_of
from dashboard.turns.recorder import append_chunk, record_step
from tests.dashboard.gateway.told_turns import BODY, ODD, TOLD, Story, called, cut, ended, tell, thought

pytestmark = pytest.mark.django_db(transaction=True)

TABLES = {
    "turns_turn": "id",
    "turns_record": "turn_id, seq",
    "turns_judgement": "turn_id, seq, position",
    "turns_attempt": 'turn_id, "index"',
    "turns_attemptchunk": "turn_id, attempt, n",
    "turns_checkpoint": "turn_id, seq",
}
STORIES = {
    "one call": [ended("whole")],
    "continued": [cut("The quick brown fox jumps"), cut("brown fox jumps over the lazy"), ended(" dog.")],
    "what no text may hold": [cut(f"first {ODD}"), ended(ODD)],
    "given up": [cut(f"part {n}, ") for n in range(4)],
    "nothing said": [ended("")],
    "much": [cut("x" * (LARGE + 1)), ended('“quoted” "\\\n' * LARGE)],
    "much that is called with": [called("“quoted” and long, " * (LARGE // 10))],
    "much that is thought aloud": [thought('hm, "well", ' * (LARGE // 10))],
    "much that no text may hold": [ended(f"{ODD} " * (LARGE // len(ODD)))],
    "much that holds a large text's mark": [ended(f'"{MARKS[0]}" "{MARKS[1]}" ' * (LARGE // 40))],
}


@pytest.mark.parametrize("answer", [ended, called, thought])
def test_large_content_is_stored_outside_the_row_and_counts_with_its_size(answer):
    """It is sent beside the rows; and as large as it is, it is waited for."""
    story, rows = Story([answer("x" * (4 * LARGE))]), TableRows()
    entries = [entry for _, entry in story.steps()]
    size = sum(map(answered, entries))
    add_part(rows, story.id, TurnUpdate(0.0, story.new_turn(), entries, size=size), StoredTurn())
    assert size >= 4 * LARGE
    assert sum(len(text) for texts in rows.tables.values() for text in texts) < LARGE


@asynccontextmanager
async def recording() -> Iterator[Recorder]:
    recorder = Recorder()
    try:
        yield recorder
    finally:
        await recorder.close()


def all_rows() -> dict[str, list[dict[str, object]]]:
    """What there is; a cohort's number is chance. Of a conversation, its messages: a driver knows no client."""
    rows = {}
    with connection.cursor() as cursor:
        for table, order in TABLES.items():
            cursor.execute(f"SELECT * FROM {table} ORDER BY {order}")
            names = [column.name for column in cursor.description]
            rows[table] = [dict(zip(names, row, strict=True)) | {"cohort": None} for row in cursor.fetchall()]
    rows["turns_turn"] = [{name: turn[name] for name in turn if name[:5] != "call_"} for turn in rows["turns_turn"]]
    for turn in rows["turns_turn"]:
        turn["node_id"] = messages_of(turn["id"])
        del turn["answered_key"], turn["history_keys"]  # of what a client sends, and may send back
        turn["setup"] = Turn.objects.get(id=turn["id"]).setup  # of a client's call it is in the node of its request
        shared = read(turn["shared_id"])
        turn["shared_id"] = [node for node in shared if NodeForm.VALUE in node and NodeForm.FRAME not in node]
    told = records_of({row["turn_id"] for row in rows["turns_record"]})
    unlike = {"_state": None, "packed": None, "judged": None}  # the rows may hold several; judgements have a view
    rows["turns_record"] = [vars(record) | unlike for record in told]
    for attempt in rows["turns_attempt"]:
        del attempt["raw"], attempt["raw_text"], attempt["raw_at"]  # are among the pieces
    pieces = Piece.objects.order_by("turn_id", "attempt", "n")  # the rows may refer to record and attempt
    rows["turns_attemptchunk"] = list(pieces.values("turn_id", "attempt", "n", "raw", "text", "at"))
    return rows


def as_a_driver_writes_it(story: Story) -> dict[str, list[dict[str, object]]]:
    """All rows of the turn, which are gone again."""
    new = story.new_turn()
    started = serial.event_to_json(new.started)
    with transaction.atomic():
        Turn.objects.create(
            id=story.id,
            project_id=new.project_id,
            agent_name=new.agent_name,
            provider=new.provider,
            model=new.model,
            max_tokens=new.max_tokens,
            input_text=new.input_text,
            setup={"setup": started["setup"]},
            policy=new.ruling.stored,
            keep_raw_days=new.ruling.keep_raw_days,
        )
        Turn.objects.filter(id=story.id).update(created_at=new.created_at)
        for piece, entry in story.steps():
            if piece is not None:
                append_chunk(turn_id=story.id, attempt=piece[0], n=1, raw=piece[1], text=piece[2], at=entry.at)
            record_step(entry)
        rows = all_rows()
        transaction.set_rollback(True)
    return rows


@pytest.mark.parametrize("one_by_one", [False, True], ids=["at once", "step by step"])
@pytest.mark.parametrize("name", STORIES)
def test_the_rows_equal_those_written_by_a_driver(name, one_by_one):
    story = Story(STORIES[name], prompt=ODD)
    expected = as_a_driver_writes_it(story)
    new = story.new_turn()

    async def told() -> None:
        async with recording() as recorder:
            await tell(recorder, story, new, one_by_one=one_by_one)

    asyncio.run(told())
    found = all_rows()
    for table, rows in expected.items():
        assert found[table] == rows, table
    turn = story.turn()
    assert verify(recording_of(turn)).verified
    assert all(getattr(turn, column) == value for column, value in rebuilt_columns(turn).items())
    for attempt in Attempt.objects.filter(turn_id=story.id):
        assert sha256_of(request_body_of(attempt)) == attempt.request_sha256


@pytest.mark.parametrize(("answer", "beside"), [("short", False), ("x" * (LARGE + 1), True)])
def test_rows_of_a_large_turn_are_built_off_the_loop_so_that_other_calls_proceed(answer, beside, monkeypatch):
    story, threads = Story([ended(answer)]), set[threading.Thread]()
    new = story.new_turn()

    def added(*given):
        threads.add(threading.current_thread())
        add_part(*given)

    async def told() -> None:
        async with recording() as recorder:
            await tell(recorder, story, new)

    monkeypatch.setattr(group_writer, "add_part", added)
    asyncio.run(told())
    assert (threading.main_thread() not in threads) == beside
    assert story.turn().output_text == answer


def test_a_stopping_recorder_waits_for_rows_being_built(monkeypatch):
    """They are in no group yet, and due no longer."""
    story = Story([ended("x" * (LARGE + 1))])
    new, begun = story.new_turn(), threading.Event()

    def slowly(*given):
        begun.set()
        time.sleep(0.3)
        add_part(*given)

    async def told() -> None:
        async with recording() as recorder:
            telling = asyncio.create_task(tell(recorder, story, new))
            assert await asyncio.to_thread(begun.wait, 60)
        await telling

    monkeypatch.setattr(group_writer, "add_part", slowly)
    asyncio.run(told())
    assert story.turn().output_text


def test_a_turn_given_up_while_rows_of_another_are_built_blocks_no_other(monkeypatch):
    large, given_up, other = (Story([ended(answer)]) for answer in ("x" * (LARGE + 1), "given up", "stored"))
    stories = [(story, story.new_turn()) for story in (large, given_up, other)]
    begun, release = threading.Event(), threading.Event()

    def slowly(*given):
        if given[1] == large.id:
            begun.set()
            release.wait(5)
        add_part(*given)

    async def told() -> None:
        async with recording() as recorder:
            telling = [asyncio.create_task(tell(recorder, story, new)) for story, new in stories]
            async with asyncio.timeout(5):
                while not begun.is_set():
                    await asyncio.sleep(0.01)
            recorder.forget(given_up.id)
            release.set()
            async with asyncio.timeout(5):
                await asyncio.gather(telling[0], telling[2])
            await asyncio.wait([telling[1]], timeout=0)
            telling[1].cancel()

    monkeypatch.setattr(group_writer, "add_part", slowly)
    asyncio.run(told())
    assert (len(large.turn().output_text), other.turn().output_text) == (LARGE + 1, "stored")


def test_the_clients_request_is_stored_byte_for_byte_beside_its_response():
    story = Story([ended("whole")])
    new = story.new_turn()

    async def told() -> None:
        async with recording() as recorder:
            await tell(recorder, story, new)

    asyncio.run(told())
    assert client_body_of(story.turn()) == BODY
    call = GatewayCall.objects.get(turn_id=story.id)
    assert (call.status, call.client_finish_reason, call.overhead_us, call.caller) == (200, "stop", 9, "a key")


def test_content_erased_after_storing_is_stored_again(django_user_model):
    """The recorder knows the messages as stored, and sends them again once it hears that they are gone."""
    first, second = Story([ended("one")]), Story([ended("other")])
    user, project = django_user_model.objects.create(username="ada"), project_default()
    begun = first.new_turn(), second.new_turn()

    def erase() -> None:
        turns_erase(project=project, chosen=[first.id], by=user)
        assert Node.objects.count() == 0

    async def told() -> None:
        async with recording() as recorder:
            await tell(recorder, first, begun[0])
            await sync_to_async(erase)()
            await tell(recorder, second, begun[1])

    asyncio.run(told())
    assert messages_of(second.id) == ['{"role":"user","content":"Say it."}']
    assert client_body_of(second.turn()) == BODY


def test_turns_with_equal_messages_share_them():
    stories = [Story([ended(f"answer {n}")]) for n in range(20)]
    new = [story.new_turn() for story in stories]

    async def told() -> None:
        async with recording() as recorder:
            await asyncio.gather(*(tell(recorder, *each) for each in zip(stories, new, strict=True)))

    asyncio.run(told())
    assert Node.objects.count() == 3, "one message, one policy, and one frame of the request"


def test_a_turn_stored_before_nodes_existed_is_read_as_stored():
    turn = Turn.objects.create(project=project_default(), agent_name="a", provider="openai", model="m", max_tokens=9)
    TurnMessage.objects.create(turn_id=turn.pk, n=0, wire='{"role":"user"}')
    ClientRequest.objects.create(turn_id=turn.pk, body=BODY)
    assert (messages_of(turn.pk), client_body_of(turn)) == (['{"role":"user"}'], BODY)


def test_many_simultaneous_turns_are_all_stored_completely():
    stories = [Story([cut(f"a {n}"), ended(f"b {n}")]) for n in range(150)]
    project_id = project_default().pk

    async def told() -> None:
        async with recording() as recorder:
            await asyncio.gather(
                *(tell(recorder, s, s.new_turn(project_id), one_by_one=n % 3 == 0) for n, s in enumerate(stories))
            )

    asyncio.run(told())
    assert {turn.output_text for turn in Turn.objects.all()} == {f"a {n}b {n}" for n in range(150)}
    assert all(verify(recording_of(turn)).verified for turn in Turn.objects.all()[:20])
    assert not OwnedTurn.objects.exists()


def test_a_turn_that_does_not_end_at_once_is_stored_with_a_live_owner():
    story = Story([ended("whole")])
    new = story.new_turn()

    async def opened() -> None:
        async with recording() as recorder:
            steps = story.steps()
            recorder.open(new)
            recorder.step(next(steps)[1])
            await until(Turn.objects.filter(id=story.id).aexists)
            assert await OwnedTurn.objects.filter(
                turn_id=story.id, process_id__in=Process.objects.values("id")
            ).aexists()
            _, entry = next(steps)
            recorder.piece(story.id, 1, 1, b"half ", "half ", entry.at)
            recorder.piece(story.id, 1, 2, b"an answer", "an answer", entry.at)
            await until(lambda: has_pieces(story))
            recorder.step(entry)
            await recorder.committed(story.id)

    asyncio.run(opened())
    assert story.turn().status == "completed"
    assert not OwnedTurn.objects.exists()
    assert not Process.objects.exists(), "it has left in order"


async def has_pieces(story: Story) -> bool:

    return [bytes(chunk.raw) async for chunk in Piece.objects.filter(turn_id=story.id)] == [b"half an answer"]


async def until(look) -> None:
    async with asyncio.timeout(60):
        while not await look():
            await asyncio.sleep(0.01)


def test_a_write_refused_by_the_database_blocks_no_other():
    stories = [Story([ended(f"a {n}")]) for n in range(9)]
    project_id = project_default().pk
    twice = stories[4]

    async def told() -> list[object]:
        async with recording() as recorder:
            await tell(recorder, twice, twice.new_turn(project_id))
            return await asyncio.gather(
                *(tell(recorder, s, s.new_turn(project_id)) for s in stories), return_exceptions=True
            )

    results = asyncio.run(told())
    assert [type(result).__name__ for result in results] == [*["NoneType"] * 4, "UnstorableError", *["NoneType"] * 4]
    assert Turn.objects.count() == 9


def test_a_process_declared_dead_writes_nothing_more():
    story = Story([cut("half "), ended("whole")])
    new = story.new_turn()

    async def late() -> object:
        async with recording() as recorder:
            steps = story.steps()
            recorder.open(new)
            recorder.step(next(steps)[1])
            await recorder.committed(story.id)
            await OwnedTurn.objects.all().adelete()
            recorder.step(next(steps)[1])
            (result,) = await asyncio.gather(recorder.committed(story.id), return_exceptions=True)
            return result

    assert "Another process ended this turn" in str(asyncio.run(late()))
    assert Record.objects.filter(turn_id=story.id).count() == 1
    assert TOLD.status == 200


def test_a_process_declared_dead_stores_no_piece():
    """Pieces alone have a statement of their own, and the same fence."""
    ours, lost = Story([ended("whole")]), Story([ended("whole")])
    begun = {story.id: story.new_turn() for story in (ours, lost)}

    async def late() -> list[object]:
        async with recording() as recorder:
            for story in (ours, lost):
                recorder.open(begun[story.id])
                recorder.step(next(story.steps())[1])
                await recorder.committed(story.id)
            await OwnedTurn.objects.filter(turn_id=lost.id).adelete()
            for story in (ours, lost):
                recorder.piece(story.id, 1, 1, b"half", "half", begun[story.id].created_at)
            waiting = [recorder.committed(story.id) for story in (ours, lost)]
            return await asyncio.gather(*waiting, return_exceptions=True)

    stored, refused = asyncio.run(late())
    assert stored is None
    assert "Another process ended this turn" in str(refused)
    assert [piece.turn_id for piece in Piece.objects.all()] == [ours.id]


def test_a_turn_whose_rows_cannot_be_built_blocks_no_other(monkeypatch):
    good, bad = Story([ended("good")]), Story([ended("bad")])
    project_id, add = project_default().pk, group_writer.add_part

    def add_part(rows, turn_id, part, kept) -> None:
        if turn_id == bad.id:
            raise TypeError("not to be written down")
        add(rows, turn_id, part, kept)

    monkeypatch.setattr(group_writer, "add_part", add_part)

    async def told() -> list[object]:
        async with recording() as recorder:
            return await asyncio.gather(
                *(tell(recorder, s, s.new_turn(project_id)) for s in (bad, good)), return_exceptions=True
            )

    refused, stored = asyncio.run(told())
    assert "not to be written down" in str(refused)
    assert stored is None
    assert [turn.output_text for turn in Turn.objects.all()] == ["good"]


async def test_a_condition_that_already_holds_is_checked_once():
    asked: list[int] = []
    assert await poll_until(lambda: not asked.append(1), seconds=60)
    assert asked == [1]


async def test_a_condition_that_becomes_true_ends_the_wait():
    answers = iter([False, False, True])
    assert await poll_until(lambda: next(answers), seconds=60)
    assert next(answers, "asked no more") == "asked no more"


async def test_a_condition_that_never_holds_is_given_up():
    assert not await poll_until(lambda: False, seconds=0.05)
