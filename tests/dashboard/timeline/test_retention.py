"""Raw answers go when their time is over, and nothing else ever does."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Event
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.utils import timezone

from agentcore.replay import verify
from dashboard.agents import selectors as agents
from dashboard.ingest.turn_files.file_export import file_text, turn_file
from dashboard.ingest.turn_files.file_reader import digest_of
from dashboard.ingest.turn_files.services import turn_import
from dashboard.live.services import turn_start
from dashboard.policies.field_sources import sources_of
from dashboard.policies.policy_creation import policy_create
from dashboard.policies.policy_versions import policy_attach
from dashboard.replay.rerun_service import turn_rerun
from dashboard.replay.services import turn_verify, turn_what_if
from dashboard.timeline import retention
from dashboard.timeline.models import BulkAction
from dashboard.timeline.services import HISTORY
from dashboard.turns.history import partial_of, raw_response_of, recording_of
from dashboard.turns.models import UNFINISHED, Attempt, AttemptChunk, Piece, Turn
from dashboard.turns.record_compression import packed_raw
from dashboard.turns.selectors import turn_get
from tests.dashboard.driving import AgentOf, Play, drive
from tests.dashboard.pages import page

pytestmark = pytest.mark.django_db
committing = pytest.mark.django_db(transaction=True)

DAY = timedelta(days=1)


def piece(turn: Turn, n: int = 1) -> AttemptChunk:
    return AttemptChunk.objects.create(turn_id=turn.id, attempt=1, n=n, raw=b"data: {}\n\n", at=timezone.now())


@pytest.fixture
def made() -> Callable[..., Turn]:
    """A turn with one piece of an answer, ended so long ago."""

    def make(*, ago: timedelta = DAY, **columns: Any) -> Turn:
        columns.setdefault("status", "completed")
        ended = None if columns["status"] in UNFINISHED else timezone.now() - ago
        said = {"agent_name": "a", "provider": "openai", "model": "m", "max_tokens": 60, "finished_at": ended}
        turn = Turn.objects.create(project=agents.project_default(), **{**said, **columns})
        piece(turn)
        return turn

    return make


def kept(turn: Turn) -> bool:
    return AttemptChunk.objects.filter(turn_id=turn.id).exists()


def everything_of(turn: Turn) -> dict[str, list[Any]]:
    """All rows of a turn but its raw pieces, and its own row."""
    rows = {
        model.__name__: list(model.objects.filter(turn_id=turn.id).order_by("pk").values())
        for model in HISTORY
        if model is not AttemptChunk
    }
    return {**rows, "Turn": list(Turn.objects.filter(id=turn.id).values())}


@pytest.mark.parametrize(
    ("days", "ago", "stays"),
    [
        (None, 40_000 * DAY, True),
        (0, timedelta(seconds=0), False),
        (1, DAY - timedelta(minutes=1), True),
        (1, DAY, False),
        (30, 29 * DAY, True),
        (30, 31 * DAY, False),
        (36_500, 36_499 * DAY, True),
    ],
)
def test_raw_answers_are_kept_for_the_days_set_by_the_turn(made: Any, days: int | None, ago: timedelta, stays: bool):
    turn = made(keep_raw_days=days, ago=ago)
    assert retention.raw_sweep() == (0 if stays else 1)
    assert kept(turn) == stays
    turn.refresh_from_db()
    assert (turn.raw_removed_at is None) == stays


@pytest.mark.parametrize("status", UNFINISHED)
def test_a_running_turn_is_never_touched(made: Any, status: str):
    turn = made(status=status, keep_raw_days=0)
    Turn.objects.filter(id=turn.id).update(created_at=timezone.now() - 400 * DAY)
    assert retention.raw_sweep() == 0
    assert kept(turn)


def test_an_abandoned_turn_without_an_end_counts_from_its_creation(made: Any):
    turn = made(status="interrupted", finished_at=None, keep_raw_days=7)
    assert retention.raw_sweep() == 0
    Turn.objects.filter(id=turn.id).update(created_at=timezone.now() - 8 * DAY)
    assert retention.raw_sweep() == 1
    assert not kept(turn)


@committing
def test_partial_output_of_a_call_stays_available_for_a_takeover(play: Play):
    turn = play("sim-essay", max_tokens=60, overrides={"retention": {"keep_raw_days": 0}})
    attempt = Attempt.objects.get(turn_id=turn.id, index=1)
    Turn.objects.filter(id=turn.id).update(status="running", finished_at=None)
    assert retention.raw_sweep() == 0
    partial = partial_of(turn, attempt)
    assert partial is not None
    assert partial.text == attempt.text


@committing
def test_only_raw_pieces_are_removed_and_the_turn_is_unchanged(play: Play):
    words = {"retention": {"keep_raw_days": 0}, "limits": {"max_continuations": 1}}
    turn, other = play("sim-endless", max_tokens=60, overrides=words), play("sim-echo")
    before, others = everything_of(turn), everything_of(other)
    asked = {"limits": {"max_continuations": 0}}
    imagined = turn_what_if(turn=turn, overrides=asked).turn
    assert retention.raw_sweep() == 1
    assert not kept(turn)
    assert kept(other)
    after = everything_of(turn)
    assert after["Turn"][0].pop("raw_removed_at") is not None
    assert before["Turn"][0].pop("raw_removed_at") is None
    assert after == before
    assert everything_of(other) == others
    again = turn_get(turn.id)
    assert turn_verify(turn=again).verified
    assert verify(recording_of(again)).verified
    assert turn_what_if(turn=again, overrides=asked).turn == imagined
    assert retention.raw_sweep() == 0


@committing
def test_a_turn_without_its_raw_answers_can_be_exported_and_imported(play: Play):
    turn = play("sim-essay", max_tokens=60, overrides={"retention": {"keep_raw_days": 0}})
    retention.raw_sweep()
    file = turn_file(turn_get(turn.id))
    assert all(attempt["chunks"] == [] for attempt in file["turn"]["attempts"])
    file["turn"]["overrides"] = {}  # so that it is another turn's file, which is signed by nobody
    del file["signature"]
    found = turn_import(content=file_text({**file, "sha256": digest_of(file["turn"])}).encode())
    assert (found.fresh, found.verified) == (True, True)
    turn.refresh_from_db()
    assert (found.turn.raw_removed_at, found.turn.keep_raw_days) == (turn.raw_removed_at, None)


def test_each_batch_leaves_a_row_that_names_its_turns(made: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(retention, "BATCH", 2)
    turns = [made(keep_raw_days=1, ago=n * DAY) for n in (5, 4, 3)]
    assert retention.raw_sweep() == 3
    actions = list(BulkAction.objects.order_by("id"))
    assert [(action.kind, action.by, action.turn_ids) for action in actions] == [
        ("raw", "its policy", [turns[0].id, turns[1].id]),
        ("raw", "its policy", [turns[2].id]),
    ]
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        BulkAction.objects.update(by="nobody")


def test_a_transaction_takes_no_further_turn_after_removing_many_pieces(made: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(retention, "PIECES", 3)
    long, short = made(keep_raw_days=0, ago=2 * DAY), made(keep_raw_days=0)
    for n in (2, 3, 4):
        piece(long, n)
    assert retention.raw_remove(now=timezone.now()) == 1
    assert (kept(long), kept(short)) == (False, True)
    assert retention.raw_remove(now=timezone.now()) == 1
    assert not kept(short)


def test_pieces_are_still_protected_from_everybody_else(made: Any):
    turn = made(keep_raw_days=0)
    retention.raw_sweep()
    other = made()
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic():
        AttemptChunk.objects.filter(turn_id=other.id).delete()
    assert (kept(turn), kept(other)) == (False, True)


def test_only_the_answer_is_removed_from_an_attempt(made: Any):
    turn, now = made(keep_raw_days=0), timezone.now()
    attempt = Attempt.objects.create(
        turn_id=turn.id, index=2, kind="initial", iteration=1, provider="openai", model="m", max_tokens=1, request="{}",
        request_sha256="", request_url="http://host", started_at=now, duration_ms=5, raw=packed_raw(b"{}"), raw_at=now,
    )  # fmt: skip
    with pytest.raises(IntegrityError, match="An attempt that has ended is append-only"), transaction.atomic():
        Attempt.objects.filter(turn_id=turn.id).update(raw=None)
    assert raw_response_of(attempt) == b"{}"
    retention.raw_sweep()
    assert not Piece.objects.filter(turn_id=turn.id).exists()
    bare = Attempt.objects.get(turn_id=turn.id)
    assert {**vars(bare), "_state": 0} == {**vars(attempt), "_state": 0, "raw": None, "raw_at": None}


class Elsewhere:
    """A transaction of another connection, which is held open until it is let go."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self._act, self._began, self._go = act, Event(), Event()
        self._pool = ThreadPoolExecutor(1)

    def __enter__(self) -> "Elsewhere":
        self._running = self._pool.submit(self._run)
        assert self._began.wait(20)
        return self

    def _run(self) -> Any:
        try:
            with transaction.atomic():
                done = self._act()
                self._began.set()
                assert self._go.wait(20)
            return done
        finally:
            self._began.set()
            connection.close()

    def end(self) -> Any:
        self._go.set()
        return self._running.result(20)

    def __exit__(self, *_: object) -> None:
        self._go.set()
        self._pool.shutdown()


@committing
def test_a_turn_that_ends_during_a_sweep_is_left_to_the_next(made: Any):
    turn = made(status="running", keep_raw_days=0)
    columns = {"status": "completed", "finished_at": timezone.now()}
    with Elsewhere(lambda: Turn.objects.filter(id=turn.id).update(**columns)) as ending:
        assert retention.raw_sweep() == 0
        assert kept(turn)
        ending.end()
    assert retention.raw_sweep() == 1
    assert not kept(turn)


@committing
def test_two_simultaneous_sweeps_do_everything_once(made: Any):
    turns = [made(keep_raw_days=0, ago=n * DAY) for n in (2, 1)]
    with Elsewhere(lambda: retention.raw_remove(now=timezone.now())) as first:
        assert retention.raw_sweep() == 0
        assert first.end() == 2
    assert BulkAction.objects.get().turn_ids == [turn.id for turn in turns]


@committing
def test_the_policy_a_turn_started_under_decides(agent_of: AgentOf):
    project = agents.project_default()
    first = policy_create(project=project, name="short", retention={"keep_raw_days": 0})
    agent = agent_of("sim-echo", policy=first.policy)
    short = drive(turn_start(agent=agent, input_text="hello"))
    policy_create(project=project, name="short", retention={"keep_raw_days": None})
    long = drive(turn_start(agent=agent, input_text="hello"))
    assert (short.keep_raw_days, long.keep_raw_days) == (0, None)
    assert retention.raw_sweep() == 1
    assert (kept(short), kept(long)) == (False, True)


@committing
def test_the_most_specific_setting_applies_from_site_to_turn(agent_of: AgentOf):
    project = agents.project_default()

    def policy(days: int) -> Any:
        return policy_create(project=project, name=f"keep-{days}", retention={"keep_raw_days": days}).policy

    agent = agent_of("sim-echo")
    assert days_of(agent) == (None, "default")
    policy_attach(project=project, policy=policy(365))
    assert days_of(agent) == (365, "site")
    policy_attach(project=project, policy=policy(90), provider="openai")
    assert days_of(agent) == (90, "provider")
    policy_attach(project=project, policy=policy(30), connection=agent.connection, model=agent.model)
    assert days_of(agent) == (30, "model")
    agent.policy = policy(7)
    agent.save()
    assert days_of(agent) == (7, "agent")
    assert days_of(agent, keep_raw_days=None) == (None, "turn")


def days_of(agent: Any, **said: Any) -> tuple[int | None, str]:
    overrides = {"retention": said} if said else {}
    turn = turn_start(agent=agent, input_text="hello", overrides=overrides)
    source = next(source for source in sources_of(turn) if source.field == "retention.keep_raw_days")
    assert source.value == turn.keep_raw_days
    return turn.keep_raw_days, source.level


@committing
def test_a_re_run_inherits_its_parents_setting_unless_overridden(play: Play):
    turn = play("sim-echo", overrides={"retention": {"keep_raw_days": 3}})
    assert turn_rerun(turn=turn, overrides={}).keep_raw_days == 3
    assert turn_rerun(turn=turn, overrides={"retention": {"keep_raw_days": None}}).keep_raw_days is None


@committing
def test_the_page_and_the_api_show_since_when_and_why_it_is_not_kept(browser: Client, agent_of: AgentOf):
    version = policy_create(project=agents.project_default(), name="lean", retention={"keep_raw_days": 0})
    turn = drive(turn_start(agent=agent_of("sim-echo", policy=version.policy), input_text="hello"))
    address = f"/turns/{turn.id}/attempts/1/raw"
    assert "removed" not in page(browser, address)
    retention.raw_sweep()
    html = page(browser, address)
    turn.refresh_from_db()
    assert turn.raw_removed_at is not None
    for words in (
        "The raw response was removed",
        f"{turn.raw_removed_at:%H:%M} UTC",
        "once the turn had ended",
        "lean v1",
    ):
        assert words in html
    assert "No response was received" not in html
    assert browser.get(f"/turns/{turn.id}/attempts/1/bytes").status_code == 404
    (attempt,) = json.loads(browser.get(f"/api/v1/turns/{turn.id}/attempts").content)
    assert attempt["response"]["body"] is None
    assert attempt["response"]["removed_at"].startswith(f"{turn.raw_removed_at:%Y-%m-%dT%H:%M}")
    assert attempt["text"] == turn.output_text
