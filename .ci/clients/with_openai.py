"""The official `openai` client, unmodified, against the gateway. Address and key come from its own variables."""

import json
import os
from functools import partial
from typing import Any

import openai
from asked import (
    AGENTS,
    CALCULATOR,
    CALLING,
    CAP,
    CONTINUED,
    DIRECT,
    ESSAY,
    LIMITED,
    OBSERVED,
    OBSERVED_REPORT,
    QUESTION,
    REPORTING,
    SUMMED,
    SUMS,
    WAIT,
    raised,
    run_checks,
)
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from pydantic import BaseModel

client = openai.OpenAI(max_retries=0, timeout=30)


class Report(BaseModel):
    title: str
    points: list[str]
    confidence: float
    complete: bool


def asked(model: str, **more: Any) -> ChatCompletion:
    return client.chat.completions.create(model=model, messages=question(), **more)


def streamed(model: str, **more: Any) -> list[ChatCompletionChunk]:
    return list(client.chat.completions.create(model=model, messages=question(), stream=True, **more))


def question() -> list[Any]:
    return [{"role": "user", "content": QUESTION}]


def text_of(chunks: list[ChatCompletionChunk]) -> str:
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def reasons_of(chunks: list[ChatCompletionChunk]) -> list[str]:
    return [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices and chunk.choices[0].finish_reason]


def check_a_whole_answer() -> None:
    answer = asked(DIRECT)
    assert answer.object == "chat.completion"
    assert answer.choices[0].finish_reason == "stop"
    assert answer.choices[0].message.role == "assistant"
    assert answer.choices[0].message.content == ESSAY
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens > 0


def check_a_streamed_answer() -> None:
    chunks = streamed(DIRECT)
    assert text_of(chunks) == ESSAY
    assert reasons_of(chunks) == ["stop"]
    assert len({(chunk.id, chunk.created, chunk.model) for chunk in chunks}) == 1
    assert chunks[0].choices[0].delta.role == "assistant"
    assert all(chunk.usage is None for chunk in chunks)
    assert len(chunks) > 20, "it did not come in pieces"


def check_a_stream_ends_with_its_usage_when_asked() -> None:
    *chunks, last = streamed(CONTINUED, max_tokens=CAP, stream_options={"include_usage": True})
    assert last.choices == []
    assert last.usage is not None
    assert last.usage.completion_tokens > CAP
    assert all(chunk.choices and chunk.usage is None for chunk in chunks)


def check_a_cut_answer_comes_back_whole() -> None:
    raw = client.chat.completions.with_raw_response.create(model=CONTINUED, messages=question(), max_tokens=CAP)
    answer = raw.parse()
    assert answer.choices[0].message.content == ESSAY
    assert answer.choices[0].finish_reason == "stop"
    assert int(raw.headers["x-whystop-attempts"]) > 1
    assert raw.headers["x-whystop-turn"]


def check_a_cut_answer_streams_on_to_its_end() -> None:
    chunks = streamed(CONTINUED, max_completion_tokens=CAP)
    assert text_of(chunks) == ESSAY
    assert reasons_of(chunks) == ["stop"]
    assert len({(chunk.id, chunk.created, chunk.model) for chunk in chunks}) == 1


def check_a_watched_answer_is_cut_where_the_provider_cut_it() -> None:
    answer = asked(OBSERVED, max_tokens=CAP)
    assert answer.choices[0].finish_reason == "length"
    said = answer.choices[0].message.content
    assert said
    assert ESSAY.startswith(said)
    assert len(said) < len(ESSAY)
    chunks = streamed(OBSERVED, max_tokens=CAP)
    assert text_of(chunks) == said
    assert reasons_of(chunks) == ["length"]


def results_of(message: Any) -> list[Any]:
    """The conversation after these calls: the question, the calls, and what each returned."""
    returned = [
        {"role": "tool", "tool_call_id": call.id, "content": SUMS[expression_of(call)]} for call in message.tool_calls
    ]
    return [*question(), message, *returned]


def expression_of(call: Any) -> str:
    assert call.type == "function"
    assert call.function.name == "calculator"
    return json.loads(call.function.arguments)["expression"]


def check_parallel_calls_and_their_results() -> None:
    answer = asked(CALLING, tools=[CALCULATOR])
    assert answer.choices[0].finish_reason == "tool_calls"
    message = answer.choices[0].message
    assert [expression_of(call) for call in message.tool_calls or []] == [*SUMS]
    final = client.chat.completions.create(model=CALLING, messages=results_of(message), tools=[CALCULATOR])
    assert final.choices[0].finish_reason == "stop"
    assert final.choices[0].message.content == SUMMED


def check_streamed_calls_and_their_results() -> None:
    with client.chat.completions.stream(model=CALLING, messages=question(), tools=[strict()]) as stream:
        answer = stream.get_final_completion()
    assert answer.choices[0].finish_reason == "tool_calls"
    message = answer.choices[0].message
    assert [expression_of(call) for call in message.tool_calls or []] == [*SUMS]
    assert [call.function.parsed_arguments for call in message.tool_calls or []] == [{"expression": e} for e in SUMS]
    chunks = list(
        client.chat.completions.create(model=CALLING, messages=results_of(message), tools=[CALCULATOR], stream=True)
    )
    assert text_of(chunks) == SUMMED
    assert reasons_of(chunks) == ["stop"]


def strict() -> Any:
    """The tool as this client wants it, to parse what it is called with."""
    function = CALCULATOR["function"]
    parameters = {**function["parameters"], "additionalProperties": False}
    return {**CALCULATOR, "function": {**function, "parameters": parameters, "strict": True}}


def check_one_call_at_a_time() -> None:
    answer = asked(CALLING, tools=[CALCULATOR], parallel_tool_calls=False)
    assert len(answer.choices[0].message.tool_calls or []) == 1


def check_a_structured_answer() -> None:
    answer = client.chat.completions.parse(model=REPORTING, messages=question(), response_format=Report)
    report = answer.choices[0].message.parsed
    assert report is not None
    assert (report.title, len(report.points), report.complete) == ("Why agents stop", 5, True)
    assert answer.choices[0].finish_reason == "stop"


def check_a_structured_answer_that_was_cut_comes_back_whole() -> None:
    answer = client.chat.completions.parse(model=REPORTING, messages=question(), response_format=Report, max_tokens=CAP)
    assert answer.choices[0].message.parsed is not None


def check_a_structured_stream() -> None:
    with client.chat.completions.stream(model=REPORTING, messages=question(), response_format=Report) as stream:
        answer = stream.get_final_completion()
    assert answer.choices[0].message.parsed is not None


def check_a_watched_structured_answer_that_was_cut_says_so() -> None:
    def ask() -> object:
        return client.chat.completions.parse(
            model=OBSERVED_REPORT, messages=question(), response_format=Report, max_tokens=CAP
        )

    assert raised(openai.LengthFinishReasonError, ask).completion.choices[0].finish_reason == "length"


def check_a_wrong_key() -> None:
    error = raised(openai.AuthenticationError, client.with_options(api_key="wrong").models.list)
    assert (error.status_code, error.code) == (401, "invalid_api_key")


def check_a_model_that_is_not_there() -> None:
    for model in ("nobody", "simulator/nobody", "nowhere/sim-essay"):
        for ask in (asked, streamed):
            assert raised(openai.NotFoundError, partial(ask, model)).code == "model_not_found"


def check_being_turned_away() -> None:
    for ask in (asked, streamed):
        error = raised(openai.RateLimitError, partial(ask, LIMITED))
        assert error.response.headers["retry-after"] == str(WAIT)


def with_key(name: str) -> openai.OpenAI:
    return client.with_options(api_key=os.environ[name])


def check_a_key_that_only_watches() -> None:
    watching = with_key("OBSERVING_KEY").chat.completions
    answer = watching.create(model=CONTINUED, messages=question(), max_tokens=CAP)
    assert answer.choices[0].finish_reason == "length"


def check_a_key_that_may_call_one_agent() -> None:
    narrow = with_key("NARROW_KEY").chat.completions
    assert narrow.create(model=CONTINUED, messages=question()).choices[0].finish_reason == "stop"
    raised(openai.PermissionDeniedError, partial(narrow.create, model=CALLING, messages=question()))


def check_a_key_that_has_used_up_its_minute() -> None:
    paced = with_key("PACED_KEY").chat.completions
    ask = partial(paced.create, model=CONTINUED, messages=question())
    ask()
    assert int(raised(openai.RateLimitError, ask).response.headers["retry-after"]) >= 1


def check_a_request_that_makes_no_sense() -> None:
    assert raised(openai.BadRequestError, partial(asked, DIRECT, max_tokens=-1)).param == "max_tokens"


def check_the_models() -> None:
    models = list(client.models.list())
    assert {model.id for model in models} >= AGENTS
    assert all(model.object == "model" for model in models)


def check_embeddings_are_handed_on() -> None:
    answer = client.embeddings.create(model="simulator/sim-embed", input=[QUESTION, "How?", QUESTION])
    first, other, again = (each.embedding for each in answer.data)
    assert first == again != other
    assert answer.usage.prompt_tokens > 0
    error = raised(openai.NotFoundError, partial(client.embeddings.create, model="nobody", input=QUESTION))
    assert error.code == "model_not_found"


if __name__ == "__main__":
    run_checks(globals())
