"""agent-loop-stop-reason: the lines that `manage.py ask` tells a turn in. Its whole output: test_ask.py."""

from agentcore import serial
from agentcore.events import ToolResult
from dashboard.client.narration import lines_of
from tests.agentcore.playbook import Playbook, call, called, ended, started, tools_returned
from tests.spec.rules import Kind, rule

LINES = "agent-loop §デバッグ出力"


def told(story: Playbook) -> list[str]:
    """Every line of the story, as the command tells it from the stored records."""
    return [
        line
        for record in story.stored().records
        for line in lines_of(
            {
                "event": serial.event_to_json(record.event),
                "transitions": record.transitions,
                "command": record.command,
            }
        )
    ]


def with_tools() -> list[str]:
    result = ToolResult("a", "calculator", "def greet(): ...")
    return told(Playbook() >> started() >> called(call()) >> tools_returned(result) >> ended("Done."))


@rule(LINES, "[LLM] shows the stop reason of every answer", Kind.SHOULD)
def test_the_reason_of_every_answer_is_logged() -> None:
    lines = [line for line in with_tools() if line.startswith("[LLM] Response stop_reason: ")]
    assert [line.split(": ")[1].split(" ")[0] for line in lines] == ["tool_call", "end_turn"]


@rule(LINES, "[ACT] shows which tool runs", Kind.SHOULD)
def test_the_running_tool_is_logged() -> None:
    assert any(line.startswith("[ACT] Executing tool: calculator") for line in with_tools())


@rule(LINES, "[OBSERVE] shows a preview of the result", Kind.SHOULD)
def test_the_result_is_logged_as_a_preview() -> None:
    assert any(line.startswith("[OBSERVE] Result preview: def greet(): ...") for line in with_tools())


@rule(LINES, "[THINK] shows each call of the model", Kind.SHOULD)
def test_each_call_of_the_model_is_logged() -> None:
    assert sum(line.startswith("[THINK] Call ") for line in with_tools()) == 2


@rule(LINES, "[THINK] shows that the loop ends because the model answered without tools", Kind.SHOULD)
def test_the_end_of_the_loop_is_logged() -> None:
    assert [line for line in with_tools() if "the loop ends" in line] == [
        "[THINK] The model answered without tools: the loop ends"
    ]


@rule(LINES, "The lines follow the order of the loop", Kind.SHOULD)
def test_the_lines_are_in_the_order_of_the_loop() -> None:
    parts = [line.split("]")[0] + "]" for line in with_tools() if not line.startswith("[WHY]")]
    assert parts == ["[THINK]", "[LLM]", "[ACT]", "[OBSERVE]", "[THINK]", "[LLM]", "[THINK]", "[END]"]
