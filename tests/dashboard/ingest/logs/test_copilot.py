"""Sessions of GitHub Copilot's command line: lines of events, of the main agent and of those that it started."""

from typing import Any

import pytest

from dashboard.replay.services import turn_verify
from dashboard.turns.models import Attempt, Turn
from tests.dashboard.ingest.logs.test_transcripts import at, turns
from tests.dashboard.ingest.logs.writing import Json, imported, lines

pytestmark = pytest.mark.django_db


def codes(turn: Turn) -> set[str]:
    return {note["code"] for note in turn.ingested.notes}


def copilot(second: int, kind: str, **data: Any) -> Json:
    return {"type": kind, "data": data, "id": f"e{second}", "timestamp": at(second), "parentId": None}


COPILOT_CALL = {"toolCallId": "call-1", "name": "bash", "arguments": {"command": "ls"}, "type": "function"}
COPILOT = [
    copilot(0, "session.start", sessionId="c1", version=1, producer="copilot-agent", copilotVersion="0.0.407"),
    copilot(1, "session.model_change", newModel="claude-sonnet-4.5"),
    copilot(2, "user.message", content="How many files?", attachments=[]),
    copilot(3, "assistant.turn_start", turnId="0"),
    copilot(4, "assistant.message", messageId="m1", content="", toolRequests=[COPILOT_CALL]),
    copilot(5, "tool.execution_start", toolCallId="call-1", toolName="bash", arguments={"command": "ls"}),
    copilot(6, "tool.execution_complete", toolCallId="call-1", success=True, result={"content": "3"}),
    copilot(7, "assistant.message", messageId="m2", content="Three.", toolRequests=[]),
    copilot(20, "user.message", content="Again", attachments=[]),
    copilot(21, "assistant.message", messageId="m3", content="Th", toolRequests=[]),
    copilot(22, "abort", reason="user initiated"),
    copilot(30, "user.message", content="Once more", attachments=[]),
    copilot(31, "session.error", errorType="model_call", message="The service is overloaded."),
]


def test_events_of_copilots_command_line_show_aborts_and_failures() -> None:
    taken, faults = imported(lines(*COPILOT))
    assert (taken.turns, taken.skipped, faults) == (3, 2, [])
    assert [row[:4] for row in turns()] == [
        ("How many files?", "completed", "unknown", 2),
        ("Again", "completed", "unknown", 1),
        ("Once more", "failed", None, 1),
    ]
    first, second, third = Turn.objects.order_by("id")
    assert (first.agent_name, first.model, third.run_id) == ("copilot-cli", "claude-sonnet-4.5", first.id)
    assert {"usage_unknown", "reason_unknown"} <= codes(first)
    assert "interrupted" in codes(second)
    assert Attempt.objects.get(turn_id=third.id).error["message"] == "The service is overloaded."
    assert turn_verify(turn=first).verified


COPILOT_HELPED: list[Json] = [
    *COPILOT[:5],
    copilot(5, "session.model_change", newModel="gpt-5-mini") | {"agentId": "call-1"},
    copilot(6, "user.message", content="Count them.", source="agent-call-1") | {"agentId": "call-1"},
    copilot(7, "assistant.message", messageId="h1", content="It is 3.", outputTokens=7, parentToolCallId="call-1"),
    copilot(8, "tool.execution_complete", toolCallId="call-1", success=True, result={"content": "3"}),
    copilot(9, "user.message", content="<skill-context>", source="skill-count"),
    copilot(10, "assistant.message", messageId="m2", content="Three.", outputTokens=5),
    copilot(11, "session.error", errorType="notification", message="The terminal is gone."),
]


def test_copilots_helper_agents_and_non_user_messages_are_not_the_main_agents() -> None:
    _, faults = imported(lines(*COPILOT_HELPED))
    assert faults == []
    assert [(row[0], row[1], row[3]) for row in turns()] == [("How many files?", "completed", 2), ("", "completed", 1)]
    main, helper = Turn.objects.order_by("id")
    assert (main.model, main.output_text, helper.output_text) == ("claude-sonnet-4.5", "Three.", "It is 3.")
    assert helper.run_id is None
    assert Attempt.objects.get(turn_id=main.id, index=2).usage["output_tokens"] == 5
    assert helper.output_tokens == 7
    assert "input_tokens_unknown" in codes(helper)
