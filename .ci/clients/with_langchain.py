"""LangChain's ChatOpenAI, unmodified, against the gateway. Address and key come from the variables it reads itself."""

import json
from functools import partial
from typing import Any

import openai
from asked import (
    CALCULATOR,
    CALLING,
    CAP,
    CONTINUED,
    DIRECT,
    ESSAY,
    LIMITED,
    OBSERVED,
    QUESTION,
    REPORTING,
    SUMMED,
    SUMS,
    WAIT,
    raised,
    run_checks,
)
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel


class Report(BaseModel):
    """A report."""

    title: str
    points: list[str]
    confidence: float
    complete: bool


@tool
def calculator(expression: str) -> str:
    """Works out an expression."""
    return SUMS[expression]


def chat(model: str, **more: Any) -> ChatOpenAI:
    return ChatOpenAI(model=model, max_retries=0, timeout=30, include_response_headers=True, **more)


def streamed(model: Any, question: Any = QUESTION) -> AIMessageChunk:
    """All its pieces as one."""
    pieces = list(model.stream(question))
    assert len(pieces) > 3, "it did not come in pieces"
    whole = pieces[0]
    for piece in pieces[1:]:
        whole += piece
    return whole


def reason_of(message: AIMessage) -> str:
    return message.response_metadata["finish_reason"]


def check_a_whole_answer() -> None:
    answer = chat(DIRECT).invoke(QUESTION)
    assert (answer.content, reason_of(answer)) == (ESSAY, "stop")
    assert answer.usage_metadata is not None
    assert answer.usage_metadata["output_tokens"] > CAP


def check_a_streamed_answer() -> None:
    answer = streamed(chat(DIRECT, stream_usage=True))
    assert (answer.content, reason_of(answer)) == (ESSAY, "stop")
    assert answer.usage_metadata is not None
    assert answer.usage_metadata["output_tokens"] > CAP


def check_a_cut_answer_comes_back_whole() -> None:
    answer = chat(CONTINUED, max_tokens=CAP).invoke(QUESTION)
    assert (answer.content, reason_of(answer)) == (ESSAY, "stop")
    assert int(answer.response_metadata["headers"]["x-whystop-attempts"]) > 1


def check_a_cut_answer_streams_on_to_its_end() -> None:
    answer = streamed(chat(CONTINUED, max_tokens=CAP))
    assert (answer.content, reason_of(answer)) == (ESSAY, "stop")


def check_a_watched_answer_is_cut_where_the_provider_cut_it() -> None:
    whole, pieces = chat(OBSERVED, max_tokens=CAP).invoke(QUESTION), streamed(chat(OBSERVED, max_tokens=CAP))
    assert (reason_of(whole), reason_of(pieces)) == ("length", "length")
    assert whole.content == pieces.content
    assert ESSAY.startswith(str(whole.content))
    assert whole.content != ESSAY


def conversation_after(message: AIMessage) -> list[Any]:
    """The question, the calls, and what each returned."""
    assert [call["args"]["expression"] for call in message.tool_calls] == [*SUMS]
    returned = [calculator.invoke(call) for call in message.tool_calls]
    assert all(isinstance(result, ToolMessage) for result in returned)
    return [HumanMessage(QUESTION), message, *returned]


def check_parallel_calls_and_their_results() -> None:
    model = chat(CALLING).bind_tools([calculator])
    calls = model.invoke(QUESTION)
    assert reason_of(calls) == "tool_calls"
    final = model.invoke(conversation_after(calls))
    assert (final.content, reason_of(final)) == (SUMMED, "stop")


def check_streamed_calls_and_their_results() -> None:
    model = chat(CALLING).bind_tools([calculator])
    calls = streamed(model)
    assert reason_of(calls) == "tool_calls"
    final = streamed(model, conversation_after(calls))
    assert (final.content, reason_of(final)) == (SUMMED, "stop")


def check_one_call_at_a_time() -> None:
    model = chat(CALLING).bind_tools([CALCULATOR], parallel_tool_calls=False, tool_choice="required")
    assert len(model.invoke(QUESTION).tool_calls) == 1


def check_structured_answers() -> None:
    for more in ({}, {"max_tokens": CAP}):
        report = chat(REPORTING, **more).with_structured_output(Report, method="json_schema").invoke(QUESTION)
        assert isinstance(report, Report)
        assert (report.title, len(report.points)) == ("Why agents stop", 5)


def check_a_structured_answer_by_json_mode() -> None:
    report = chat("simulator/sim-json").with_structured_output(Report, method="json_mode").invoke(QUESTION)
    assert isinstance(report, Report)


def check_a_structured_stream() -> None:
    model = chat(REPORTING).bind(response_format={"type": "json_schema", "json_schema": _schema()})
    assert json.loads(str(streamed(model).content))["title"] == "Why agents stop"


def _schema() -> dict[str, Any]:
    return {"name": "report", "schema": Report.model_json_schema()}


def check_a_wrong_key() -> None:
    error = raised(openai.AuthenticationError, partial(chat(DIRECT, api_key="wrong").invoke, QUESTION))
    assert error.status_code == 401


def check_a_model_that_is_not_there() -> None:
    for ask in (chat("nobody").invoke, partial(streamed, chat("nobody"))):
        assert raised(openai.NotFoundError, partial(ask, QUESTION)).code == "model_not_found"


def check_being_turned_away() -> None:
    for ask in (chat(LIMITED).invoke, partial(streamed, chat(LIMITED))):
        error = raised(openai.RateLimitError, partial(ask, QUESTION))
        assert error.response.headers["retry-after"] == str(WAIT)


if __name__ == "__main__":
    run_checks(globals())
