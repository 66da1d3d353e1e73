"""A backtest finds what `what_if` finds turn by turn, however it is cut, shared out, stopped and begun again."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import psycopg
import pytest
from django.core.exceptions import ValidationError
from django.db import connection, transaction

from agentcore.policy import Limits
from agentcore.replay import Certainty, what_if
from dashboard.agents.models import Policy
from dashboard.agents.selectors import project_default
from dashboard.bench.recorded_turns import copy_turns, recording_made
from dashboard.bench.turn_mix import Mix
from dashboard.live.services import turn_control, turn_start
from dashboard.platform.db_threads import in_database
from dashboard.policies.backtests import runner
from dashboard.policies.backtests.models import Backtest, Part
from dashboard.policies.backtests.process_pool import Pool, database_address
from dashboard.policies.backtests.recording_loader import batches, recordings
from dashboard.policies.backtests.selectors import whys_of
from dashboard.policies.backtests.services import backtest_cancel, backtest_create
from dashboard.policies.backtests.turn_judgement import DraftPolicy, judge
from dashboard.policies.policy_creation import policy_create
from dashboard.replay.experience import experience_of
from dashboard.replay.sweep_service import run_of
from dashboard.turns.history import rebuilt_columns, recording_of
from dashboard.turns.models import Turn
from tests.dashboard.driving import AgentOf, drive
from tests.dashboard.policies.backtests.damaged_turns import DAMAGES
from tests.dashboard.policies.backtests.test_process_pool import waits_for_a_row

pytestmark = pytest.mark.django_db(transaction=True)

TURNS = 120
CONTINUING = {"state": "continue_pending"}
LIMITS = {"max_continuations": 1}


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(runner, "PART", 25)


@pytest.fixture
def turns() -> list[Turn]:
    assert list(copy_turns(project=project_default(), turns=TURNS)) == [TURNS]
    return list(Turn.objects.order_by("id"))


def made(**more) -> Backtest:
    return Backtest.objects.create(project=project_default(), policy={"limits": LIMITS}, **more)


def one_by_one(turns: list[Turn], max_tokens: int | None) -> dict[str, object]:
    """The same totals, by the core alone."""
    totals = {"same": 0, "flipped": 0, "undecidable": 0, "tokens_delta": 0, "calls_delta": 0}
    totals |= {"recorded": 0, "certain": 0, "estimated": 0}
    flips = []
    for turn in turns:
        recording = recording_of(turn)
        policy = replace(recording.policy, limits=Limits(**LIMITS))
        known = experience_of(project=turn.project, provider=turn.provider, model=turn.model)
        imagined = what_if(recording, replace(policy, max_tokens=max_tokens or policy.max_tokens), experience=known)
        totals[imagined.certainty.value] += 1
        if imagined.undecidable:
            continue
        end, spent = imagined.final.end, imagined.final.spent
        same = (end.status, end.terminal_reason) == (turn.status, turn.terminal_reason)
        totals["same" if same else "flipped"] += 1
        flips += [] if same else [str(turn.id)]
        totals["tokens_delta"] += spent.output_tokens - turn.output_tokens
        totals["calls_delta"] += spent.attempts - turn.attempts
    return {**totals, "flipped_turns": flips, "total": len(turns), "done": len(turns), "status": "done"}


@pytest.mark.parametrize("max_tokens", [None, 70, 400])
def test_the_totals_equal_those_of_each_turn_alone(turns: list[Turn], max_tokens: int | None):
    expected = one_by_one(turns, max_tokens)
    backtest = made(max_tokens=max_tokens)
    runner.run(backtest.id)
    backtest.refresh_from_db()
    assert {name: getattr(backtest, name) for name in expected} == expected
    assert sum(group["same"] for group in backtest.groups) == backtest.same
    whys = whys_of(backtest)
    assert whys is not None
    assert sum(whys.values()) == len(backtest.undecided) == backtest.undecidable
    assert len({(group["provider"], group["model"]) for group in backtest.groups}) > 1
    if max_tokens is None:
        assert backtest.flipped
        assert all(flip["how"] == "sooner" for flip in backtest.flips)


def test_generated_turns_equal_those_stored_by_the_machine(turns: list[Turn]):
    for turn in turns[:10]:
        told = rebuilt_columns(turn)
        assert {name: getattr(turn, name) for name in ("status", "output_text", "attempts")} == {
            name: told[name] for name in ("status", "output_text", "attempts")
        }
    assert recording_made(Mix(seed=1)).final is not None


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_an_unreadable_turn_decides_nothing_and_affects_no_other(turns: list[Turn], damage):
    policy = policy_create(project=project_default(), name="own", limits=LIMITS).policy
    whole = made(stands_for=policy)
    runner.run(whole.id)
    bad = next(turn for turn in turns[3:] if judged_alone(turn, policy) != "undecidable")
    damage(bad)
    backtest = made(stands_for=policy)
    runner.run(backtest.id)
    for each in (whole, backtest):
        each.refresh_from_db()
    assert (backtest.status, backtest.done) == ("done", TURNS)
    assert backtest.undecidable == whole.undecidable + 1
    assert judged_alone(bad, policy) == "undecidable"
    assert [f for f in whole.flipped_turns if f != str(bad.id)] == backtest.flipped_turns


def test_held_time_is_not_time_saved_by_another_limit(agent_of: AgentOf):
    turn = drive(turn_start(agent=agent_of("sim-essay", max_tokens=150), input_text="Hi", breakpoints=[CONTINUING]))
    assert turn.status == "held"
    time.sleep(1.5)
    while turn.status == "held":
        turn_control(turn=turn, by="ada", action="release")
        turn = drive(turn)
    backtest = made(max_tokens=900)
    runner.run(backtest.id)
    backtest.refresh_from_db()
    assert (backtest.done, backtest.undecidable) == (1, 0)
    point = run_of(turn=turn, name="max_tokens", overrides={}).at(150)
    assert (point.certainty, point.seconds < turn.duration_ms / 1000 - 1) == (Certainty.RECORDED, True)
    assert abs(backtest.seconds_delta) < max(1, point.seconds), "no more is saved than was worked"


def judged_alone(turn: Turn, policy: Policy) -> str:
    """`same`, `flipped` or `undecidable`."""
    draft = DraftPolicy.of(made(stands_for=policy))
    ((told, recording),) = recordings(next(batches(Turn.objects.filter(pk=turn.pk), sources=True)))
    return judge(told, recording, draft).word


@pytest.mark.nightly  # by day `test_process_pool.py` and `runtime/test_backtests.py` have processes at work
def test_separate_processes_give_the_same_result_and_report_their_memory(turns: list[Turn]):
    backtest = made()
    runner.plan(backtest.id)
    done = asyncio.run(_in_processes(backtest))
    backtest.refresh_from_db()
    assert (backtest.status, backtest.done, sum(each.turns for each in done)) == ("done", TURNS, TURNS)
    assert all(each.memory > 0 for each in done)
    expected = one_by_one(turns, None)
    assert {name: getattr(backtest, name) for name in expected} == expected


async def _in_processes(backtest: Backtest):
    pool, address = Pool(2), await in_database(database_address)
    try:
        return await asyncio.gather(*(pool.work(backtest.id, address) for _ in range(2)))
    finally:
        pool.end(wait=True)


def test_stopped_work_is_resumed_without_counting_twice(turns: list[Turn]):
    backtest = made()
    runner.plan(backtest.id)
    stops = iter([False, False, False, True])
    runner.work(backtest.id, stopped=lambda: next(stops, True))
    backtest.refresh_from_db()
    assert 0 < backtest.done < TURNS
    assert backtest.status == "running"
    runner.run(backtest.id)
    backtest.refresh_from_db()
    expected = one_by_one(turns, None)
    assert {name: getattr(backtest, name) for name in expected} == expected
    assert Part.objects.filter(backtest=backtest, judged=True).count() == 5


def test_a_cancelled_backtest_keeps_its_results_and_stops(turns: list[Turn]):
    backtest = made()
    runner.plan(backtest.id)
    stops = iter([False, False, True])
    runner.work(backtest.id, stopped=lambda: next(stops, True))
    assert backtest_cancel(backtest=backtest)
    backtest.refresh_from_db()
    found = backtest.done
    assert runner.work(backtest.id) == 0
    backtest.refresh_from_db()
    assert (backtest.status, backtest.done) == ("cancelled", found)
    assert not backtest_cancel(backtest=backtest)


def test_a_backtest_over_no_turns_finishes_at_once():
    backtest = made()
    runner.run(backtest.id)
    backtest.refresh_from_db()
    assert (backtest.status, backtest.total) == ("done", 0)


def test_turns_added_or_removed_after_planning_are_part_of_its_total(turns: list[Turn]):
    Turn.objects.filter(pk__in=[turn.pk for turn in turns[3:9]]).update(status="running")
    backtest = made()
    runner.plan(backtest.id)
    backtest.refresh_from_db()
    assert backtest.total == TURNS - 6
    for turn in turns[3:9]:
        turn.save(update_fields=["status"])
    Turn.objects.filter(pk=turns[50].pk).update(status="running")
    runner.run(backtest.id)
    backtest.refresh_from_db()
    assert (backtest.status, backtest.done, backtest.total) == ("done", TURNS - 1, TURNS - 1)


def test_a_backtest_being_planned_can_be_cancelled(turns: list[Turn]):
    backtest = made()
    with ThreadPoolExecutor(1) as planner, psycopg.connect(**database_address()) as other:
        other.execute("LOCK TABLE turns_turn IN ACCESS EXCLUSIVE MODE")
        planned = planner.submit(planned_apart, backtest)
        while not (planned.done() or waits_for_a_row()):
            time.sleep(0.02)
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '5s'")
            assert backtest_cancel(backtest=backtest)
        other.rollback()
        planned.result()
    backtest.refresh_from_db()
    assert (backtest.status, Part.objects.count()) == ("cancelled", 0)


def planned_apart(backtest: Backtest) -> None:
    try:
        runner.plan(backtest.id)
    finally:
        connection.close()


def test_an_impossible_max_tokens_is_refused():
    with pytest.raises(ValidationError, match="max_tokens"):
        backtest_create(project=project_default(), policy={}, filter={}, max_tokens=0)


def test_one_batch_at_a_time_is_read_into_memory(turns: list[Turn], django_assert_num_queries):
    with django_assert_num_queries(2):
        assert [len(batch) for batch in batches(Turn.objects.all())] == [TURNS]
