"""Results of tools whose spans have no ids of calls."""

import json
from collections.abc import Sequence
from typing import Any

from agentcore.events import ToolsReturned
from dashboard.ingest.conventions.spans import Span
from tests.dashboard.ingest.assembly.test_turn_grouping import SECOND, START, loop, made


def test_parallel_tools_without_ids_return_their_own_results() -> None:
    """smolagents tells the results of all calls as one message; the spans of its tools have no ids of calls."""
    prefix = "llm.output_messages.0.message.tool_calls"

    def asked(place: int, sums: Sequence[str], sent: list[tuple[str, str]]) -> Span:
        about: dict[str, Any] = {"openinference.span.kind": "LLM", "llm.model_name": "m", "llm.finish_reason": "stop"}
        about |= {"llm.output_messages.0.message.content": "I work them out."}
        for number, told in enumerate(sums):
            function = f"{prefix}.{number}.tool_call"
            about |= {f"{function}.id": f"c{number}", f"{function}.function.name": "calculator"}
            about |= {f"{function}.function.arguments": json.dumps({"expression": told})}
        for number, (role, text) in enumerate(sent):
            about |= {f"llm.input_messages.{number}.message.role": role}
            about |= {f"llm.input_messages.{number}.message.content": text}
        start = START + 4 * place * SECOND
        return Span("1" * 32, f"{place + 1:016x}", "a" * 16, "generate", start, start + SECOND, attributes=about)

    def ran(place: int, told: str, result: str) -> Span:
        given = {"args": [], "sanitize_inputs_outputs": True, "kwargs": {"expression": told}}
        about = {"openinference.span.kind": "TOOL", "tool.name": "calculator", "output.value": result}
        start = START + (2 + place) * SECOND
        return Span("1" * 32, f"{place + 50:016x}", "a" * 16, "SimpleTool", start, start + SECOND // 2,
                    attributes=about | {"input.value": json.dumps(given)})  # fmt: skip

    first = [("user", "Why?")]
    more = [*first, ("tool-call", "Calling tools: …"), ("tool-response", "Observation: 42 1024")]
    for sums, results in (
        (["6 * 7", "2 ** 10"], ["42", "1024"]),
        (["6 * 7", "6 * 7"], ["[The tool's result was not recorded.]"] * 2),  # which is whose is not known
    ):
        tools = [ran(1, sums[1], "1024"), ran(0, sums[0], "42")]
        (turn,) = made(loop("43"), asked(0, sums, first), *tools, asked(1, [], more))
        (returned,) = [told.event for told in turn.history.told if isinstance(told.event, ToolsReturned)]
        assert [result.content for result in returned.results] == results
