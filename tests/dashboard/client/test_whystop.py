"""The client for programs against the real application, with a real worker."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pytest
from django.db import connection
from django.utils import timezone

from agentcore.replay import Certainty
from dashboard.accounts.services import bootstrap_token_ensure
from dashboard.agents.models import Connection
from dashboard.agents.selectors import project_default
from dashboard.client import (
    Conflict,
    Draft,
    End,
    NotFound,
    Record,
    Refused,
    Turn,
    Unauthorized,
    Unreachable,
    Whystop,
)
from dashboard.ingest.refusals import refusals_note
from dashboard.runtime import worker
from dashboard.simulator.texts import ESSAY
from tests.dashboard.driving import AgentOf, Play
from tests.dashboard.policies.predictions.conftest import again_of
from tests.dashboard.website import TOKEN, website

pytestmark = pytest.mark.django_db(transaction=True)

CHECKOUT = Path(__file__).parents[3]
HELD_WHEN_CUT = [{"state": "continue_pending"}]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with website() as at:
        yield at


@pytest.fixture
def whystop(address: str, db: None) -> Whystop:
    bootstrap_token_ensure(TOKEN)
    return Whystop(address, TOKEN)


@pytest.fixture
def essay(agent_of: AgentOf) -> str:
    """The name of an agent whose answers of 60 tokens are cut again and again."""
    return agent_of("sim-essay", max_tokens=60).name


@pytest.fixture
def working(db: None) -> Iterator[None]:
    """A worker, in a thread of its own, which finds no jobs that tests before left behind."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM procrastinate_jobs")
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()
    thread = threading.Thread(target=lambda: loop.run_until_complete(worker.run(stop)), daemon=True)
    thread.start()
    yield
    loop.call_soon_threadsafe(stop.set)
    thread.join(30)
    loop.close()


def test_a_turn_is_started_watched_and_awaited(whystop: Whystop, essay: str, working: None):
    turn = whystop.start(essay, "Why do agents stop?", limits={"max_continuations": 1})
    assert (turn.agent, turn.status, turn.ended) == ("sim-essay", "queued", False)
    *told, end = turn.watch(seconds=60)
    assert isinstance(end, End)
    assert (end.turn.status, end.turn.continuations, end.turn.ended) == ("partial", 1, True)
    records = [message for message in told if isinstance(message, Record)]
    assert records == turn.records()
    assert [record.seq for record in turn.watch(after=2) if isinstance(record, Record)] == [3]
    assert turn.wait() == end.turn == turn.refreshed() == whystop.turn(turn.id)
    assert turn.status == "queued"


def test_the_derivation_and_the_other_transitions_are_values(whystop: Whystop, essay: str, working: None):
    turn = whystop.start(essay, "Why do agents stop?", limits={"max_continuations": 1}).wait(seconds=60)
    why = turn.why()
    assert (why.verdict, why.resource, why.raw_model_reason) == (turn.verdict, "max_continuations", "length")
    assert why.tree is not None
    kinds = [node.kind for node in why.tree.walk()]
    assert kinds == ["terminal", "transition", "evaluation", "clause", "input", "input", "provider_word"]
    (clause,) = [node for node in why.tree.walk() if node.kind == "clause"]
    assert (clause.source or {})["level"] == "turn"
    barred = next(step for step in turn.roads() if step.trigger == "retry_limit")
    assert (barred.source, barred.to) == ("continue_pending", "abort_partial")
    on = next(road for road in barred.roads if road.trigger == "under_limits")
    assert (on.open, on.near) == (False, True)
    assert on.miss == "1 of 1 continuations used; with 2 continuations it would have continued"
    assert [found.id for found in whystop.turns(resource="max_continuations")] == [turn.id]


def test_what_if_gives_its_certainty_and_assumptions(whystop: Whystop, essay: str, working: None):
    turn = whystop.start(essay, "Why?", max_tokens=150).wait()
    same, more = turn.what_if(), turn.what_if(max_tokens=400)
    assert (same.certainty, same.assumes, same.endings) == ("recorded", (), ())
    assert (more.status, more.attempts, more.certainty) == ("completed", 1, "estimated")
    assert {(each.name, each.came_true) for each in more.assumes} == {("wording", None)}
    two = turn.what_if(max_tokens=100)
    assert (two.certainty, two.why, len(two.endings)) == ("undecidable", "assumptions", 2)
    assert same.why is None
    assert {ending.status for ending in two.endings} == {"completed", "partial"}
    swept = turn.sweep("max_continuations", 0, 5)
    assert swept["certain"]["since"] == turn.continuations


def test_streamed_text_is_delivered_as_it_arrives(whystop: Whystop, agent_of: AgentOf, slow: Connection, working: None):
    agent_of("sim-essay", connection=slow, max_tokens=150)
    turn = whystop.start("sim-essay", "Slowly, please.")
    drafts: dict[int, str] = {}
    for message in turn.watch(seconds=60):
        if isinstance(message, Draft):
            assert message.offset == len(drafts.get(message.attempt, ""))
            drafts[message.attempt] = drafts.get(message.attempt, "") + message.text
    assert drafts.keys() == {1, 2, 3}
    for attempt in turn.attempt_list():
        assert attempt.text.startswith(drafts[attempt.index])


def test_a_held_turn_is_stepped_changed_and_released(whystop: Whystop, essay: str, working: None):
    turn = whystop.start(essay, "hello", breakpoints=HELD_WHEN_CUT)
    held = turn.wait(seconds=60)
    assert (held.status, held.attempts) == ("held", 1)
    again = held.step().wait(seconds=60)
    assert (again.status, again.attempts) == ("held", 2)
    with pytest.raises(Conflict, match="held already"):
        again.hold()
    assert again.wait(seconds=60).attempts == 2
    ended = turn.release(limits={"max_continuations": 9}, max_tokens=400, breakpoints=[]).wait(seconds=60)
    assert (ended.status, ended.output_text) == ("completed", ESSAY)
    with pytest.raises(Conflict, match="ended already"):
        ended.cancel()


def test_each_hold_is_awaited_even_if_nobody_watched_the_one_before(whystop: Whystop, essay: str, working: None):
    turn = whystop.start(essay, "hello", breakpoints=HELD_WHEN_CUT)
    turn.wait(seconds=60)
    for calls in (2, 3):
        stranger = whystop.turn(turn.id)
        assert stranger.release().wait(seconds=60).attempts == calls


def test_a_turn_is_cancelled(whystop: Whystop, essay: str, working: None):
    turn = whystop.start(essay, "hello", breakpoints=HELD_WHEN_CUT)
    turn.wait(seconds=60)
    assert turn.cancel().wait(60).status == "cancelled"


def test_a_tool_result_is_supplied_by_hand(whystop: Whystop, agent_of: AgentOf, working: None):
    agent_of("sim-tools", tools=["calculator"])
    turn = whystop.start("sim-tools", "Calculate.", breakpoints=[{"tool": "calculator"}]).wait(seconds=60)
    call = turn.attempt_list()[0].tool_calls[0]
    ended = turn.act(tool_result={"call_id": call["id"], "result": "forty-two"}, breakpoints=[]).wait(seconds=60)
    assert "forty-two" in ended.output_text
    assert turn.evaluations()[-1]["state"] == "evaluate_stop"


def test_two_watchers_in_two_threads_receive_the_same(whystop: Whystop, essay: str, working: None):
    turn = whystop.start(essay, "hello")
    with ThreadPoolExecutor(2) as threads:
        watching = [threads.submit(lambda: list(turn.watch(seconds=60))) for _ in range(2)]
        one, other = (done.result(60) for done in watching)
    assert [m for m in one if not isinstance(m, Draft)] == [m for m in other if not isinstance(m, Draft)]


def test_turns_and_agents_are_listed_over_all_pages(whystop: Whystop, essay: str):
    ids = [whystop.start(essay, f"turn {n}").id for n in range(5)]
    assert [turn.id for turn in whystop.turns(limit=2)] == ids[::-1]
    assert list(whystop.turns(agent="nobody")) == []
    assert [turn.id for turn in whystop.turns(agent=["nobody", essay], q='"turn 3"')] == [ids[3]]
    assert [agent["name"] for agent in whystop.agents()] == [essay]


def test_a_wait_that_takes_too_long_ends(whystop: Whystop, essay: str):
    turn = whystop.start(essay, "nobody works here")
    with pytest.raises(TimeoutError, match="within the given time"):
        turn.wait(seconds=0.5)


def test_a_refusal_gives_the_reason_by_field(whystop: Whystop, essay: str):
    with pytest.raises(Refused, match="There is no agent “nobody”") as refused:
        whystop.start("nobody", "hello")
    assert (refused.value.status, refused.value.problem["errors"][0]["field"]) == (400, "agent")
    with pytest.raises(Refused, match="conversation"):
        whystop.start(essay, "hello", conversation="x")
    with pytest.raises(NotFound):
        whystop.turn("01a1fbc5-27eb-74dc-9e07-332dcdb1f422")
    with pytest.raises(NotFound):
        whystop.turn("../agents")


@pytest.mark.parametrize("change", [{"answer": {"text": "42"}}, {"tool_call": {}}, {"run_to": "complete"}])
def test_values_unknown_to_the_client_are_passed_to_the_server(whystop: Whystop, essay: str, change: dict):
    turn = whystop.start(essay, "hello")
    with pytest.raises(Refused) as refused:
        turn.act(**change)
    assert refused.value.status in (400, 409, 422)


def test_a_wrong_token_is_refused_first(address: str, whystop: Whystop):
    stranger = Whystop(address, "wrong")
    with pytest.raises(Unauthorized, match="unknown, expired or revoked"):
        stranger.agents()
    with pytest.raises(Unauthorized):
        next(Turn.watch(_somebodys(whystop, stranger)))


def _somebodys(whystop: Whystop, stranger: Whystop) -> Turn:
    """A turn in the hands of a client with another token."""
    shown = {name: None for name in Turn.__slots__ if not name.startswith("_")}
    return stranger._turn({**shown, "id": "01a1fbc5-27eb-74dc-9e07-332dcdb1f422"})


@pytest.mark.parametrize("url", ["127.0.0.1:8321", "ftp://x", "http://", "http://me:secret@localhost"])
def test_an_invalid_url_is_refused(url: str):
    with pytest.raises(ValueError, match="address must be like"):
        Whystop(url, "token")


@pytest.mark.parametrize("token", ["", "two words", "line\nfeed", "é"])
def test_a_token_that_is_invalid_in_a_header_is_refused(token: str):
    with pytest.raises(ValueError, match="printable ASCII"):
        Whystop("http://127.0.0.1:1", token)


def test_an_unreachable_server_is_reported_in_a_sentence():
    with pytest.raises(Unreachable, match=r"does not answer at 127\.0\.0\.1:1: Connection refused"):
        Whystop("http://127.0.0.1:1", "token").agents()


def test_a_limit_is_found_tested_saved_and_rolled_back(whystop: Whystop, essay: str, working: None):
    whystop.start(essay, "Why?", max_tokens=150).wait(seconds=60)
    enough = whystop.limits_estimate(agent=essay)
    assert enough["turns"] == 1
    words = {"limits": {"max_continuations": 1}}
    whystop.policy_version("curt", limits={"max_continuations": 5})
    found = whystop.backtest(words, stands_for="curt", seconds=60, agent=essay)
    assert (found["status"], found["total"], found["flipped"]) == ("done", 1, 1)
    draft = whystop.policy_version("curt", activate=False, backtest=found["id"], **words)
    whystop.activate("curt", draft["version"], why="as tried")
    whystop.activate("curt", 1, why="back")
    versions = [(row["version"], row["stands"], row["backtest"]) for row in whystop.policy_versions("curt")]
    assert versions == [(2, "past", found["id"]), (1, "active", None)]
    with pytest.raises(Refused, match="used other settings"):
        whystop.policy_version("curt", limits={"max_steps": 3}, backtest=found["id"])


def test_the_prediction_of_a_rerun_is_returned_with_its_result(whystop: Whystop, play: Play):
    turn = play("sim-essay", overrides={"max_tokens": 150})
    made = [again_of(turn, {"limits": {"max_continuations": count}}) for count in (0, 1, 2)]
    (record,) = whystop.track_record()
    assert (record["model"], sum(record[word]["came_true"] for word in Certainty)) == ("sim-essay", 3)
    found = list(whystop.predictions(limit=2, came_true=True))
    assert [one["id"] for one in found] == [str(one.id) for one in reversed(made)]
    assert list(whystop.predictions(came_true=False)) == []


def test_refused_imports_are_listed(whystop: Whystop):
    sender = uuid4()
    for number in range(3):
        refusals_note(project_default().pk, sender, {f"Reason {number}.": 1}, at=timezone.now())
    found = whystop.refusals(limit=2, key_id=str(sender))
    assert [one["why"] for one in found] == [f"Reason {number}." for number in (2, 1, 0)]
