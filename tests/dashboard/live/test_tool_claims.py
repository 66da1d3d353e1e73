"""A tool runs once: what a worker that is gone had claimed is interrupted, unless running it again does no harm."""

import asyncio
from datetime import UTC, datetime

import pytest

from agentcore.commands import RunTools
from agentcore.errors import ErrorType
from agentcore.events import ToolResult
from agentcore.messages import ToolCall
from dashboard.live import tool_claims
from dashboard.live.services import turn_start
from dashboard.live.tool_claims import turn_context
from dashboard.replay.rerun_service import turn_rerun
from dashboard.tools import selectors
from dashboard.tools.registry import Registry
from dashboard.turns.models import Attempt, Record, ToolClaim, Turn
from dashboard.turns.recorder import LostTurnError
from tests.dashboard.driving import drive

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs of two tools: `again` may run again, `once` may not."""
    tools, ran = Registry(), []

    @tools.tool(idempotent=True)
    def again() -> str:
        ran.append("again")
        return "a\x00b"

    @tools.tool()
    def once() -> str:
        ran.append("once")
        return "once"

    monkeypatch.setattr(selectors, "registry", tools)
    return ran


@pytest.fixture
def turn(agent_of) -> Turn:
    """A turn that waits for the tools its first attempt called."""
    turn = turn_start(agent=agent_of("sim-tools"), input_text="Run.")
    Turn.objects.filter(id=turn.id).update(state="execute_tools", attempts=1)
    return turn


def run(turn: Turn, *names: str) -> tuple[ToolResult, ...]:
    calls = tuple(ToolCall(f"c-{name}", name) for name in names)
    return asyncio.run(tool_claims.Runs().results(turn.id, RunTools(calls), attempt=1))


def test_a_completed_tool_is_not_run_again_and_gives_the_same_result(turn, runs):
    first = run(turn, "once", "again")
    assert run(turn, "once", "again") == first
    assert sorted(runs) == ["again", "once"]
    assert [result.content for result in first] == ["once", "a\ufffdb"]


def test_a_claim_without_a_result_is_interrupted_unless_the_tool_may_run_again(turn, runs):
    for name in ("once", "again"):
        ToolClaim.objects.create(turn_id=turn.id, call_id=f"c-{name}", name=name, idempotent=name == "again")
    interrupted, repeated = run(turn, "once", "again")
    assert interrupted.error is ErrorType.TOOL
    assert "was interrupted; whether it had an effect is not known" in interrupted.content
    assert repeated.content == "a\ufffdb"
    assert runs == ["again"]


def test_a_missing_tool_is_claimed_and_answered(turn, runs):
    (result,) = run(turn, "gone")
    assert result.error is ErrorType.TOOL
    assert ToolClaim.objects.filter(turn_id=turn.id, finished_at__lte=datetime.now(UTC)).count() == 1


@pytest.mark.parametrize("gone_on", [("request", 2), ("execute_tools", 2), ("abort", 1)])
def test_no_tool_starts_for_a_turn_that_has_moved_on(turn, runs, gone_on):
    state, attempts = gone_on
    Turn.objects.filter(id=turn.id).update(state=state)
    for index in range(2, attempts + 1):
        Attempt.objects.create(
            turn_id=turn.id, index=index, kind="after_tools", iteration=1, max_tokens=1, started_at=datetime.now(UTC)
        )
    with pytest.raises(LostTurnError):
        run(turn, "once", "again")
    assert runs == []
    assert not ToolClaim.objects.exists()


def test_the_reported_result_of_a_call_is_kept_whatever_its_tool_returns_later(turn, runs):
    ToolClaim.objects.create(turn_id=turn.id, call_id="c-once", name="once", idempotent=False)
    (interrupted,) = run(turn, "once")
    assert tool_claims._finish(turn.id, ToolResult("c-once", "once", "late")) == interrupted
    assert run(turn, "once") == (interrupted,)
    assert runs == []


def test_a_turn_searches_the_documents_it_was_started_with(agent_of):
    agent = agent_of("sim-tools", tools=["search_documents"])
    documents = [{"name": "handbook.md", "text": "The otter sleeps.\x00"}, {"name": "b", "text": ""}]
    turn = turn_start(agent=agent, input_text="Where is the otter?", documents=documents)
    context = turn_context(turn.id)
    assert [(document.name, document.text) for document in context.documents] == [
        ("handbook.md", "The otter sleeps.\ufffd"),
        ("b", ""),
        ("message 1 (user)", "Where is the otter?"),
    ]
    drive(turn)
    events = [record.event for record in Record.objects.filter(turn_id=turn.id)]
    (result, *_) = next(event["results"] for event in events if event["type"] == "tools_returned")
    assert '"name":"handbook.md","characters":18' in result["content"]


def test_earlier_tool_results_of_a_turn_can_also_be_searched(agent_of):
    turn = drive(turn_start(agent=agent_of("sim-tools", tools=["calculator"]), input_text="Count."))
    *_, first, second = turn_context(turn.id).documents
    assert first.name.startswith("result of calculator (")
    assert {first.text, second.text} == {"42", "1024"}


def test_a_re_run_turn_has_the_same_documents(agent_of):
    agent = agent_of("sim-tools", tools=["calculator"])
    turn = drive(turn_start(agent=agent, input_text="Count.", documents=[{"name": "a", "text": "A"}]))
    child = turn_rerun(turn=turn, overrides={})
    fork = turn_rerun(turn=turn, overrides={}, from_record=2)
    for made in (child, fork):
        assert [(d.name, d.text) for d in turn_context(made.id).documents][:2] == [
            ("a", "A"),
            ("message 1 (user)", "Count."),
        ]
