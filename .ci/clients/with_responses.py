"""The official `openai` client, unmodified, at the gateway's door of responses. Address and key: its own variables."""

import os
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
    ITEMS,
    LIMITED,
    OBSERVED,
    QUESTION,
    REPORTING,
    SUMMED,
    SUMS,
    WAIT,
    WATCHED_ITEMS,
    raised,
    run_checks,
)
from openai.types.responses import Response, ResponseFunctionToolCall
from pydantic import BaseModel

client = openai.OpenAI(max_retries=0, timeout=30)
TOOL: Any = {"type": "function", "strict": False, **CALCULATOR["function"]}


class Report(BaseModel):
    title: str
    points: list[str]
    confidence: float
    complete: bool


def asked(model: str, **more: Any) -> Response:
    return client.responses.create(**{"model": model, "input": QUESTION, **more})


def streamed(model: str, **more: Any) -> Response:
    """The response that the client puts together of a stream."""
    with client.responses.stream(**{"model": model, "input": QUESTION, **more}) as stream:
        return stream.get_final_response()


def reason_of(response: Response) -> str | None:
    return response.incomplete_details.reason if response.incomplete_details else None


def check_a_whole_answer() -> None:
    for model in (DIRECT, ITEMS, WATCHED_ITEMS):
        answer = asked(model, instructions="Be brief.", max_output_tokens=4_000)
        assert (answer.object, answer.status, answer.output_text) == ("response", "completed", ESSAY)
        assert answer.usage is not None
        assert answer.usage.total_tokens == answer.usage.input_tokens + answer.usage.output_tokens > 0


def check_a_streamed_answer() -> None:
    for model in (DIRECT, ITEMS, WATCHED_ITEMS):
        events = list(client.responses.create(model=model, input=QUESTION, max_output_tokens=4_000, stream=True))
        assert [event.sequence_number for event in events] == [*range(len(events))]
        assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == ESSAY
        assert [events[0].type, events[-1].type] == ["response.created", "response.completed"]
        assert len(events) > 20, "it did not come in pieces"
        assert streamed(model, max_output_tokens=4_000).output_text == ESSAY


def check_a_cut_answer_comes_back_whole() -> None:
    for model in (CONTINUED, ITEMS):
        raw = client.responses.with_raw_response.create(model=model, input=QUESTION, max_output_tokens=CAP)
        answer = raw.parse()
        assert (answer.output_text, answer.status, len(answer.output)) == (ESSAY, "completed", 1)
        assert int(raw.headers["x-whystop-attempts"]) > 1
        assert streamed(model, max_output_tokens=CAP).output_text == ESSAY


def check_a_watched_answer_is_cut_where_the_provider_cut_it() -> None:
    for model in (OBSERVED, WATCHED_ITEMS):
        events = list(client.responses.create(model=model, input=QUESTION, max_output_tokens=CAP, stream=True))
        last = events[-1]
        assert last.type == "response.incomplete"
        for answer in (asked(model, max_output_tokens=CAP), last.response):
            assert (answer.status, reason_of(answer)) == ("incomplete", "max_output_tokens")
            assert ESSAY.startswith(answer.output_text)


def calls_in(answer: Response) -> list[ResponseFunctionToolCall]:
    return [item for item in answer.output if item.type == "function_call"]


def results_of(answer: Response) -> list[Any]:
    calls = zip(calls_in(answer), SUMS.values(), strict=True)
    return [{"type": "function_call_output", "call_id": call.call_id, "output": value} for call, value in calls]


def check_parallel_calls_and_their_results() -> None:
    for ask in (asked, streamed):
        answer = ask(CALLING, tools=[TOOL])
        assert [call.name for call in calls_in(answer)] == ["calculator"] * 2
        history: Any = [{"role": "user", "content": QUESTION}, *answer.output, *results_of(answer)]
        assert ask(CALLING, tools=[TOOL], input=history).output_text == SUMMED
        assert (
            ask(CALLING, tools=[TOOL], input=results_of(answer), previous_response_id=answer.id).output_text == SUMMED
        )


def check_one_call_at_a_time() -> None:
    assert len(calls_in(asked(CALLING, tools=[TOOL], parallel_tool_calls=False))) == 1


def check_a_structured_answer_also_where_it_was_cut() -> None:
    for cap in (4_000, CAP):
        answer = client.responses.parse(model=REPORTING, input=QUESTION, text_format=Report, max_output_tokens=cap)
        report = answer.output_parsed
        assert report is not None
        assert (report.title, len(report.points), report.complete) == ("Why agents stop", 5, True)
    with client.responses.stream(model=REPORTING, input=QUESTION, text_format=Report) as stream:
        assert stream.get_final_response().output_parsed == report


def check_an_answer_is_found_by_its_id_until_it_is_deleted() -> None:
    for model in (CONTINUED, ITEMS):
        answer = asked(model)
        assert client.responses.retrieve(answer.id).output_text == ESSAY
        client.responses.delete(answer.id)
        for ask in (client.responses.retrieve, client.responses.delete):
            assert raised(openai.NotFoundError, partial(ask, answer.id)).status_code == 404
        error = raised(openai.BadRequestError, partial(asked, model, previous_response_id=answer.id))
        assert (error.param, error.code) == ("previous_response_id", "previous_response_not_found")
    assert asked(CONTINUED, store=False).store is False


def check_another_key_does_not_find_it() -> None:
    answer = asked(CONTINUED)
    other = client.with_options(api_key=os.environ["OBSERVING_KEY"]).responses
    raised(openai.NotFoundError, partial(other.retrieve, answer.id))


def check_errors_as_exceptions() -> None:
    for ask in (asked, streamed):
        assert raised(openai.NotFoundError, partial(ask, "nobody")).code == "model_not_found"
        assert raised(openai.RateLimitError, partial(ask, LIMITED)).response.headers["retry-after"] == str(WAIT)
        assert raised(openai.BadRequestError, partial(ask, DIRECT, max_output_tokens=-1)).param == "max_output_tokens"
        hosted: Any = [{"type": "web_search"}]
        assert raised(openai.BadRequestError, partial(ask, DIRECT, tools=hosted)).param == "tools"
    wrong = client.with_options(api_key="wrong").responses
    raised(openai.AuthenticationError, partial(wrong.create, model=DIRECT, input=QUESTION))


if __name__ == "__main__":
    run_checks(globals())
