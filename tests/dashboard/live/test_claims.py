"""A tool runs once: what a worker that is gone had claimed is interrupted, unless running it again does no harm."""

import asyncio
from datetime import UTC, datetime

import pytest

from agentcore.commands import RunTools
from agentcore.errors import ErrorType
from agentcore.events import ToolResult
from agentcore.messages import ToolCall
from dashboard.live import claims
from dashboard.live.services import turn_start
from dashboard.tools import selectors
from dashboard.tools.registry import Registry
from dashboard.turns.models import ToolClaim, Turn

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
    return turn_start(agent=agent_of("sim-tools"), input_text="Run.")


def run(turn: Turn, *names: str) -> tuple[ToolResult, ...]:
    calls = tuple(ToolCall(f"c-{name}", name) for name in names)
    return asyncio.run(claims.run_all(turn.id, RunTools(calls)))


def test_what_has_run_is_not_run_again_and_gives_the_same_result(turn, runs):
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


def test_a_tool_that_is_gone_is_claimed_and_answered(turn, runs):
    (result,) = run(turn, "gone")
    assert result.error is ErrorType.TOOL
    assert ToolClaim.objects.filter(turn_id=turn.id, finished_at__lte=datetime.now(UTC)).count() == 1
