"""LiteLLM's client, unmodified, against the gateway. It takes the address and the key as arguments."""

import json
import os
import warnings
from functools import partial
from typing import Any

import litellm
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
    QUESTION,
    REPORTING,
    SUMMED,
    SUMS,
    WAIT,
    raised,
    run_checks,
)
from pydantic import BaseModel

litellm.suppress_debug_info = True
litellm.telemetry = False
warnings.filterwarnings("ignore", category=UserWarning, module="pydantic")

PLACE = {"api_base": os.environ["OPENAI_BASE_URL"], "api_key": os.environ["OPENAI_API_KEY"]}


class Report(BaseModel):
    title: str
    points: list[str]
    confidence: float
    complete: bool


def asked(model: str, messages: list[Any] | None = None, **more: Any) -> Any:
    place = {**PLACE, "max_retries": 0, "num_retries": 0, "timeout": 30}
    return litellm.completion(model=f"openai/{model}", messages=messages or question(), **{**place, **more})


def streamed(model: str, messages: list[Any] | None = None, **more: Any) -> Any:
    """All its pieces as one."""
    pieces = list(asked(model, messages, stream=True, **more))
    return litellm.stream_chunk_builder(pieces, messages=messages or question())


def question() -> list[Any]:
    return [{"role": "user", "content": QUESTION}]


def told(answer: Any) -> tuple[str, str]:
    return answer.choices[0].message.content, answer.choices[0].finish_reason


def check_a_whole_answer() -> None:
    answer = asked(DIRECT)
    assert told(answer) == (ESSAY, "stop")
    assert answer.usage.completion_tokens > CAP


def check_a_streamed_answer() -> None:
    assert len(list(asked(DIRECT, stream=True))) > 20, "it did not come in pieces"
    answer = streamed(DIRECT, stream_options={"include_usage": True})
    assert told(answer) == (ESSAY, "stop")
    assert answer.usage.completion_tokens > CAP


def check_a_cut_answer_comes_back_whole() -> None:
    answer = asked(CONTINUED, max_tokens=CAP)
    assert told(answer) == (ESSAY, "stop")
    assert int(answer._hidden_params["additional_headers"]["llm_provider-x-whystop-attempts"]) > 1


def check_a_cut_answer_streams_on_to_its_end() -> None:
    assert told(streamed(CONTINUED, max_tokens=CAP)) == (ESSAY, "stop")


def check_a_watched_answer_is_cut_where_the_provider_cut_it() -> None:
    whole, pieces = told(asked(OBSERVED, max_tokens=CAP)), told(streamed(OBSERVED, max_tokens=CAP))
    assert whole == pieces
    assert whole[1] == "length"
    assert ESSAY.startswith(whole[0])
    assert whole[0] != ESSAY


def conversation_after(message: Any) -> list[Any]:
    """The question, the calls, and what each returned."""
    expressions = [json.loads(call.function.arguments)["expression"] for call in message.tool_calls]
    assert expressions == [*SUMS]
    returned = [
        {"role": "tool", "tool_call_id": call.id, "content": SUMS[expression]}
        for call, expression in zip(message.tool_calls, expressions, strict=True)
    ]
    return [*question(), message.model_dump(exclude_none=True), *returned]


def check_parallel_calls_and_their_results() -> None:
    for ask in (asked, streamed):
        calls = ask(CALLING, tools=[CALCULATOR])
        assert calls.choices[0].finish_reason == "tool_calls"
        final = ask(CALLING, conversation_after(calls.choices[0].message), tools=[CALCULATOR])
        assert told(final) == (SUMMED, "stop")


def check_one_call_at_a_time() -> None:
    answer = asked(CALLING, tools=[CALCULATOR], parallel_tool_calls=False)
    assert len(answer.choices[0].message.tool_calls) == 1


def check_structured_answers() -> None:
    for more in ({}, {"max_tokens": CAP}):
        for ask in (asked, streamed):
            text, reason = told(ask(REPORTING, response_format=Report, **more))
            assert reason == "stop"
            assert Report.model_validate_json(text).title == "Why agents stop"


def check_a_wrong_key() -> None:
    error = raised(litellm.AuthenticationError, partial(asked, DIRECT, api_key="wrong"))
    assert error.status_code == 401


def check_a_model_that_is_not_there() -> None:
    for ask in (asked, streamed):
        assert raised(litellm.NotFoundError, partial(ask, "nobody")).status_code == 404


def check_being_turned_away() -> None:
    for ask in (asked, streamed):
        error = raised(litellm.RateLimitError, partial(ask, LIMITED))
        assert error.litellm_response_headers["retry-after"] == str(WAIT)


def check_the_models() -> None:
    listed = litellm.get_valid_models(check_provider_endpoint=True, custom_llm_provider="openai", **PLACE)
    assert {model.removeprefix("openai/") for model in listed} >= AGENTS


if __name__ == "__main__":
    run_checks(globals())
