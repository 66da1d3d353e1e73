"""Turns driven against the simulator over real HTTP, into a real Postgres."""

import asyncio
import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from agentcore.commands import Wait
from agentcore.events import OperatorActed, WokeUp
from agentcore.policy import Policy
from agentcore.replay import verify
from agentcore.snapshot import Snapshot
from dashboard.agents.models import Connection
from dashboard.agents.selectors import project_default
from dashboard.live import driver as driving
from dashboard.live.driver import Driver
from dashboard.live.models import Signal
from dashboard.live.services import turn_cancel, turn_control, turn_start
from dashboard.live.signal_inbox import SignalInbox
from dashboard.live.transport import Transport
from dashboard.platform.db_threads import in_database
from dashboard.policies.policy_creation import policy_create
from dashboard.simulator.texts import ESSAY
from dashboard.turns.history import (
    TurnPosition,
    begun_as,
    messages_of,
    partial_of,
    raw_response_of,
    rebuilt_columns,
    recording_of,
    request_body_of,
    sha256_of,
)
from dashboard.turns.models import Attempt, AttemptChunk, Outcome, Record, Turn
from dashboard.turns.recorder import LostTurnError
from tests.dashboard.driving import AgentOf, Play, drive

pytestmark = pytest.mark.django_db(transaction=True)


def attempts_of(turn: Turn) -> list[Attempt]:
    return list(Attempt.objects.filter(turn_id=turn.id).order_by("index"))


def test_a_turn_with_a_small_budget_is_continued_three_times_and_ends_as_partial_with_a_notice(play: Play):
    turn = play("sim-essay", overrides={"max_tokens": 60})
    assert (turn.status, turn.stop_reason, turn.terminal_reason) == ("partial", "retry_limit", "retry_limit")
    assert (turn.attempts, turn.continuations, turn.output_tokens) == (4, 3, 240)
    assert turn.notice
    assert turn.notice not in turn.output_text
    assert ESSAY.startswith(turn.output_text)


def test_a_turn_with_a_larger_budget_completes_word_for_word_after_continuations(play: Play):
    turn = play("sim-essay", overrides={"max_tokens": 150})
    assert (turn.status, turn.stop_reason) == ("completed", "completed")
    assert turn.continuations > 0
    assert turn.output_text == ESSAY


def test_a_turn_that_fits_is_one_call(play: Play):
    turn = play("sim-essay")
    assert (turn.status, turn.attempts, turn.output_text) == ("completed", 1, ESSAY)


def test_tools_run_and_their_results_are_sent_to_the_model(play: Play):
    turn = play("sim-tools", tools=["calculator"])
    assert turn.status == "completed"
    assert "42" in turn.output_text
    assert "1024" in turn.output_text
    assert [a.kind for a in attempts_of(turn)] == ["initial", "after_tools"]


def test_a_truncated_tool_call_never_runs_and_is_requested_again_with_twice_the_budget(play: Play):
    turn = play("sim-cut-tool", tools=["calculator"], overrides={"max_tokens": 40})
    assert turn.status == "completed"
    assert [(a.kind, a.max_tokens) for a in attempts_of(turn)] == [
        ("initial", 40),
        ("tool_repair", 80),
        ("after_tools", 40),
    ]
    assert attempts_of(turn)[0].tool_calls[0]["issue"] == "truncated"


@pytest.mark.parametrize(
    ("model", "overrides", "status", "stop_reason", "terminal_reason"),
    [
        ("sim-refuse", {}, "aborted", "finish_reason", "safety_blocked"),
        ("sim-odd", {}, "completed", "completed", "completed"),
        ("sim-endless", {"max_tokens": 50}, "partial", "retry_limit", "retry_limit"),
        ("sim-empty", {}, "partial", "completed", "empty_output"),
        ("sim-hangup", {}, "partial", "error", "provider_error"),
        ("sim-hangup", {"error_policy": {"preset": "retry_all"}}, "completed", "completed", "completed"),
        ("sim-flaky", {}, "failed", "error", "provider_error"),
        ("sim-html", {}, "failed", "error", "provider_error"),
    ],
)
def test_each_behaviour_of_a_provider_has_its_own_ending(
    play: Play, model: str, overrides: dict[str, Any], status: str, stop_reason: str, terminal_reason: str
):
    turn = play(model, overrides=overrides)
    assert (turn.status, turn.stop_reason, turn.terminal_reason) == (status, stop_reason, terminal_reason)
    assert turn.verdict
    assert verify(recording_of(turn)).verified


def test_a_rate_limited_call_is_retried_after_the_delay_the_provider_names(play: Play):
    turn = play("sim-flaky", overrides={"error_policy": {"preset": "retry_all"}})
    assert turn.status == "completed"
    assert [a.kind for a in attempts_of(turn)] == ["initial", "error_retry"]
    backoff = Record.objects.get(turn_id=turn.id, seq=2)
    assert backoff.command == {"type": "wait", "seconds": 1.0}


def test_a_refused_connection_is_an_explained_failure(agent_of: AgentOf, connection):
    agent = agent_of("sim-essay")
    connection.base_url = "http://127.0.0.1:9/v1"
    connection.save()
    turn = drive(turn_start(agent=agent, input_text="hello"))
    assert turn.status == "failed"
    assert turn.error_code == "connection"
    assert "refused" in turn.error_message


def test_a_missing_key_is_reported_without_a_call_and_without_revealing_which_variables_exist(
    agent_of: AgentOf, connection, monkeypatch
):
    monkeypatch.delenv("NOBODYS_API_KEY", raising=False)
    agent = agent_of("sim-essay")
    connection.api_key_env = "NOBODYS_API_KEY"
    connection.save()
    turn = drive(turn_start(agent=agent, input_text="hello"))
    assert (turn.status, turn.error_code) == ("failed", "auth")
    assert "Connection “simulator” has no key that it may send" in turn.error_message
    assert "NOBODYS_API_KEY" not in turn.error_message


def test_an_answer_with_markup_is_stored_unchanged(play: Play):
    turn = play("sim-script")
    assert "<script>alert(1)</script>" in turn.output_text


def test_the_row_can_be_rebuilt_from_the_records(play: Play):
    turn = play("sim-tools", tools=["calculator"])
    rebuilt = rebuilt_columns(turn)
    assert {name: getattr(turn, name) for name in rebuilt} == rebuilt


def test_every_request_is_rebuilt_exactly_from_the_turns_messages(play: Play):
    turn = play("sim-essay", overrides={"max_tokens": 60}, system_prompt="Be brief.")
    for attempt in attempts_of(turn):
        body = request_body_of(attempt)
        assert sha256_of(body) == attempt.request_sha256
    assert json.loads(body)["messages"][-2]["role"] == "assistant"
    assert len(messages_of(turn.id)) == 2


def test_the_bytes_the_provider_sent_are_kept_and_decode_to_the_recorded_answer(play: Play):
    turn = play("sim-essay", overrides={"max_tokens": 60})
    first = attempts_of(turn)[0]
    assert raw_response_of(first).endswith(b"data: [DONE]\n\n")
    decoded = partial_of(turn, first)
    assert decoded is not None
    assert decoded.text == first.text


def test_every_deciding_state_records_its_outcome(play: Play):
    turn = play("sim-essay", overrides={"max_tokens": 60})
    states = list(Outcome.objects.filter(turn_id=turn.id).values_list("state", flat=True))
    assert states == ["evaluate_stop", "continue_pending"] * 4


def test_a_late_writer_is_refused_and_stops(play: Play):
    turn = play("sim-essay")
    Turn.objects.filter(id=turn.id).update(status="running")
    with pytest.raises(LostTurnError):
        drive_from_the_start(turn)


def drive_from_the_start(turn: Turn) -> None:
    async def run() -> None:
        async with Transport() as transport:
            late = Driver(turn.id, transport, SignalInbox())
            late.take(await in_database(driving.load, turn.id))
            late.loaded.turn.setup = await in_database(begun_as, late.loaded.turn)  # as it was before it began
            late.standing = TurnPosition(
                late.loaded.standing.policy, Snapshot(), 0, None, turn.started_at, turn.started_at
            )
            await late._begin()

    asyncio.run(run())


def test_a_cancelled_turn_keeps_the_text_received(agent_of: AgentOf, slow: Connection):
    agent = agent_of("sim-essay", connection=slow)
    turn = turn_start(agent=agent, input_text="slowly")
    driven = asyncio.run(cancel_when_it_speaks(turn))
    assert (driven.status, driven.stop_reason, driven.terminal_reason) == ("cancelled", "user_requested", "cancelled")
    assert driven.output_text
    assert ESSAY.startswith(driven.output_text)
    assert verify(recording_of(driven)).verified


async def cancel_when_it_speaks(turn: Turn) -> Turn:
    async with Transport() as transport:
        inbox = SignalInbox()
        polling = asyncio.create_task(inbox.run())
        driver = Driver(turn.id, transport, inbox)
        driving_task = asyncio.create_task(driver.drive())
        while driver.performer.exchange is None or driver.performer.exchange.reading.first_token is None:
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.3)
        await in_database(turn_cancel, turn=turn, by="a tester")
        await driving_task
        polling.cancel()
        await asyncio.gather(polling, return_exceptions=True)
    return await in_database(lambda: Turn.objects.get(id=turn.id))


def test_a_turn_held_at_a_breakpoint_continues_under_a_raised_limit(agent_of: AgentOf):
    agent = agent_of("sim-essay", max_tokens=60)
    turn = drive(
        turn_start(
            agent=agent,
            input_text="hold me",
            breakpoints=[{"state": "abort_partial"}],
            overrides={"limits": {"max_continuations": 0}},
        )
    )
    assert (turn.status, turn.state) == ("held", "held")
    turn_control(turn=turn, by="a tester", action="release")
    turn = drive(turn)
    assert turn.status == "partial"
    assert verify(recording_of(turn)).verified


def test_limits_raised_during_a_hold_are_evaluated_again(agent_of: AgentOf):
    agent = agent_of("sim-essay", max_tokens=60)
    turn = drive(
        turn_start(
            agent=agent,
            input_text="hold me",
            breakpoints=[{"state": "continue_pending"}],
            overrides={"limits": {"max_continuations": 0}},
        )
    )
    assert turn.status == "held"
    Turn.objects.filter(id=turn.id).update(breakpoints=[])
    turn_control(
        turn=turn, by="a tester", action="step", limits={"max_continuations": 9, "max_total_completion_tokens": 4000}
    )
    turn = drive(turn)
    assert turn.status == "held"
    while turn.status == "held":
        turn_control(turn=turn, by="a tester", action="release")
        turn = drive(turn)
    assert (turn.status, turn.output_text) == ("completed", ESSAY)
    assert verify(recording_of(turn)).verified
    acted = [r for r in Record.objects.filter(turn_id=turn.id) if r.event["type"] == "operator_acted"]
    assert {r.event["by"] for r in acted} == {"a tester"}


def test_a_worker_that_takes_over_keeps_the_partial_answer_and_requests_the_rest(
    agent_of: AgentOf, slow: Connection, hurry: Callable[[], None]
):
    turn = turn_start(agent=agent_of("sim-essay", connection=slow), input_text="slowly")
    asyncio.run(abandon_when_it_speaks(turn))
    hurry()
    turn.refresh_from_db()
    assert turn.status == "running"
    turn = drive(turn)
    assert (turn.status, turn.output_text) == ("completed", ESSAY)
    assert verify(recording_of(turn)).verified
    events = [record.event["type"] for record in Record.objects.filter(turn_id=turn.id).order_by("seq")]
    assert events == ["started", "interrupted", "model_responded"]
    interrupted, resumed = attempts_of(turn)
    assert interrupted.error["kind"] == "interrupted"
    assert interrupted.text
    assert ESSAY.startswith(interrupted.text)
    assert resumed.text


async def abandon_when_it_speaks(turn: Turn) -> None:
    """A worker that goes away in the middle of a stream, as by a stop of its process."""
    async with Transport() as transport:
        driver = Driver(turn.id, transport, SignalInbox())
        task = asyncio.create_task(driver.drive())
        said = AttemptChunk.objects.filter(turn_id=turn.id).exclude(text="")
        async with asyncio.timeout(60):
            while not await in_database(said.exists):
                await asyncio.sleep(0.02)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def test_a_cancelled_queued_turn_makes_no_call(agent_of: AgentOf):
    turn = turn_start(agent=agent_of("sim-essay"), input_text="never mind")
    turn_cancel(turn=turn, by="a tester")
    turn = drive(turn)
    assert (turn.status, turn.output_text) == ("cancelled", "")


def test_an_override_of_one_part_of_the_error_policy_keeps_the_rest(agent_of: AgentOf):
    policy = policy_create(
        project=project_default(), name="patient", error_policy={"preset": "retry_all", "max_retries": 5}
    ).policy
    agent = agent_of("sim-flaky", policy=policy)
    turn = drive(turn_start(agent=agent, input_text="hello", overrides={"error_policy": {"max_retries": 2}}))
    assert turn.status == "completed"
    assert turn.policy["error_policy"]["max_retries"] == 2
    assert turn.policy["error_policy"]["on_rate_limit_error"] == "retry"


async def test_an_event_precedes_a_signal_of_the_same_instant(transactional_db: None):
    """A cancel that arrives as a call ends must not cost the answer."""
    driver = Driver(uuid4(), Transport(), SignalInbox())
    driver.standing = TurnPosition(Policy(), Snapshot(), 0, None, None, None)
    driver.performer.work = asyncio.create_task(asyncio.sleep(0, result=WokeUp(1.0)))
    signals: asyncio.Queue[Signal] = asyncio.Queue()
    signals.put_nowait(Signal(action="hold", by="a tester"))
    await driver.performer.work
    assert await driver._next_event(Wait(1.0), signals) == (WokeUp(1.0), None)
    event, signal = await driver._next_event(Wait(60.0), signals)
    assert isinstance(event, OperatorActed)
    assert signal is not None
    await driver.performer.drop()


def test_a_signal_not_recorded_by_a_driver_is_passed_to_the_next(agent_of: AgentOf):
    turn = turn_start(agent=agent_of("sim-essay"), input_text="hello")
    turn_cancel(turn=turn, by="a tester")

    async def handed_twice() -> list[str]:
        inbox, seen = SignalInbox(), []
        for _ in range(2):
            queue = inbox.open(turn.id)
            await inbox.look()
            await inbox.look()
            seen.append((await queue.get()).action)
            assert queue.empty()
            inbox.close(turn.id)
        return seen

    assert asyncio.run(handed_twice()) == ["cancel", "cancel"]
