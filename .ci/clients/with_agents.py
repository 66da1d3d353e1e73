"""The OpenAI Agents SDK as it comes, by its default API, against the gateway."""

import asyncio
from typing import Any

from agents import Agent, Runner, RunResult, function_tool, set_tracing_disabled
from asked import CALLING, CONTINUED, ESSAY, ITEMS, QUESTION, REPORTING, SUMMED, SUMS, run_checks
from openai.types.responses import ResponseTextDeltaEvent
from pydantic import BaseModel

set_tracing_disabled(True)


loop = asyncio.new_event_loop()  # the SDK keeps its connections, which are a loop's own


def run(agent: Agent, question: str, **more: Any) -> RunResult:
    return loop.run_until_complete(Runner.run(agent, question, **more))


class Report(BaseModel):
    title: str
    points: list[str]
    confidence: float
    complete: bool


@function_tool
def calculator(expression: str) -> str:
    """Works out an expression."""
    return SUMS[expression]


def check_a_run_without_tools() -> None:
    for model in (CONTINUED, ITEMS):
        agent = Agent(name="writer", instructions="Be brief.", model=model)
        assert run(agent, QUESTION).final_output == ESSAY


def check_a_run_with_a_tool() -> None:
    agent = Agent(name="adder", instructions="Use the calculator.", model=CALLING, tools=[calculator])
    result = run(agent, QUESTION)
    assert result.final_output == SUMMED
    assert len(result.raw_responses) == 2


def check_a_streamed_run_with_a_tool() -> None:
    async def run_streamed() -> tuple[str, str]:
        agent = Agent(name="adder", model=CALLING, tools=[calculator])
        result = Runner.run_streamed(agent, QUESTION)
        events = [event async for event in result.stream_events()]
        data = [event.data for event in events if event.type == "raw_response_event"]
        return "".join(each.delta for each in data if isinstance(each, ResponseTextDeltaEvent)), result.final_output

    streamed, final = loop.run_until_complete(run_streamed())
    assert final == SUMMED
    assert streamed.endswith(SUMMED)


def check_a_structured_run() -> None:
    agent = Agent(name="reporter", model=REPORTING, output_type=Report)
    report = run(agent, QUESTION).final_output
    assert (report.title, len(report.points), report.complete) == ("Why agents stop", 5, True)


def check_a_conversation_that_the_gateway_keeps() -> None:
    agent = Agent(name="writer", model=CONTINUED)
    first = run(agent, QUESTION)
    second = run(agent, "And then?", previous_response_id=first.last_response_id)
    assert second.final_output


if __name__ == "__main__":
    run_checks(globals())
