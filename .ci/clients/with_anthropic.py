"""The official `anthropic` client, unmodified, against the gateway. Address and key come from its own variables."""

import os
from functools import partial
from typing import Any

import anthropic
from anthropic.types import Message, ToolUseBlock
from asked import (
    CALCULATOR,
    CALLING,
    CAP,
    CLAUDE,
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
    WATCHED_CLAUDE,
    raised,
    run_checks,
)
from pydantic import BaseModel

client = anthropic.Anthropic(max_retries=0, timeout=30)
TOOL: Any = {
    "name": CALCULATOR["function"]["name"],
    "description": CALCULATOR["function"]["description"],
    "input_schema": CALCULATOR["function"]["parameters"],
}
MUCH = 4_000  #: tokens: nothing is cut


class Report(BaseModel):
    title: str
    points: list[str]
    confidence: float
    complete: bool


def question() -> list[Any]:
    return [{"role": "user", "content": QUESTION}]


def asked(model: str, **more: Any) -> Message:
    return client.messages.create(**{"model": model, "messages": question(), "max_tokens": MUCH, **more})


def streamed(model: str, **more: Any) -> Message:
    """The message that the client puts together of a stream."""
    with client.messages.stream(**{"model": model, "messages": question(), "max_tokens": MUCH, **more}) as stream:
        return stream.get_final_message()


def text_of(message: Message) -> str:
    return "".join(block.text for block in message.content if block.type == "text")


def check_a_whole_answer() -> None:
    for model in (DIRECT, CLAUDE, WATCHED_CLAUDE):
        answer = asked(model)
        assert (answer.type, answer.role, answer.stop_reason, text_of(answer)) == (
            "message",
            "assistant",
            "end_turn",
            ESSAY,
        )
        assert answer.usage.input_tokens > 0
        assert answer.usage.output_tokens > 0


def check_a_streamed_answer() -> None:
    for model in (DIRECT, CLAUDE, WATCHED_CLAUDE):
        with client.messages.stream(model=model, messages=question(), max_tokens=MUCH) as stream:
            pieces = list(stream.text_stream)
            answer = stream.get_final_message()
        assert "".join(pieces) == text_of(answer) == ESSAY
        assert len(pieces) > 20, "it did not come in pieces"
        assert (answer.stop_reason, answer.usage.output_tokens > 0) == ("end_turn", True)


def check_raw_events_of_a_stream() -> None:
    kinds = [
        event.type
        for event in client.messages.create(model=CONTINUED, messages=question(), max_tokens=MUCH, stream=True)
    ]
    assert (kinds[0], kinds[-2:]) == ("message_start", ["message_delta", "message_stop"])


def check_a_cut_answer_comes_back_whole() -> None:
    for model in (CONTINUED, CLAUDE):
        raw = client.messages.with_raw_response.create(model=model, messages=question(), max_tokens=CAP)
        answer = raw.parse()
        assert (text_of(answer), answer.stop_reason) == (ESSAY, "end_turn")
        assert int(raw.headers["x-whystop-attempts"]) > 1
        assert raw.headers["request-id"] == answer._request_id


def check_a_cut_answer_streams_on_to_its_end() -> None:
    for model in (CONTINUED, CLAUDE):
        answer = streamed(model, max_tokens=CAP)
        assert (text_of(answer), answer.stop_reason, len(answer.content)) == (ESSAY, "end_turn", 1)


def check_a_watched_answer_is_cut_where_the_provider_cut_it() -> None:
    for model in (OBSERVED, WATCHED_CLAUDE):
        answer = asked(model, max_tokens=CAP)
        assert answer.stop_reason == "max_tokens"
        assert ESSAY.startswith(text_of(answer))
        stream = streamed(model, max_tokens=CAP)
        assert (text_of(stream), stream.stop_reason) == (text_of(answer), "max_tokens")


def results_of(answer: Message) -> list[Any]:
    """The conversation after these calls: the question, the calls, and what each returned."""
    returned = [
        {"type": "tool_result", "tool_use_id": call.id, "content": SUMS[str(call.input["expression"])]}
        for call in calls_in(answer)
    ]
    return [*question(), {"role": "assistant", "content": answer.content}, {"role": "user", "content": returned}]


def calls_in(answer: Message) -> list[ToolUseBlock]:
    return [block for block in answer.content if block.type == "tool_use"]


def check_parallel_calls_and_their_results() -> None:
    for ask in (asked, streamed):
        answer = ask(CALLING, tools=[TOOL])
        assert answer.stop_reason == "tool_use"
        assert [call.input["expression"] for call in calls_in(answer)] == [*SUMS]
        final = ask(CALLING, messages=results_of(answer), tools=[TOOL])
        assert (final.stop_reason, text_of(final)) == ("end_turn", SUMMED)


def check_one_call_at_a_time() -> None:
    choice = {"type": "auto", "disable_parallel_tool_use": True}
    assert len(calls_in(asked(CALLING, tools=[TOOL], tool_choice=choice))) == 1


def check_a_structured_answer_also_where_it_was_cut() -> None:
    for cap in (MUCH, CAP):
        answer = client.messages.parse(model=REPORTING, messages=question(), max_tokens=cap, output_format=Report)
        report = answer.parsed_output
        assert report is not None
        assert (report.title, len(report.points), report.complete) == ("Why agents stop", 5, True)


def check_tokens_are_counted_by_an_upstream_of_this_dialect() -> None:
    counted = client.messages.count_tokens(model=CLAUDE, messages=question(), system="Be brief.")
    assert counted.input_tokens > 0
    error = raised(anthropic.BadRequestError, partial(client.messages.count_tokens, model=DIRECT, messages=question()))
    assert "no address /v1/messages/count_tokens" in str(error)


def check_betas_are_handed_on() -> None:
    answer = client.beta.messages.create(
        model=CLAUDE, messages=question(), max_tokens=MUCH, betas=["a-beta-2026-01-01"]
    )
    assert answer.content[0].text == ESSAY


def check_a_bearer_token_does_as_well() -> None:
    bearing = anthropic.Anthropic(api_key=None, auth_token=os.environ["ANTHROPIC_API_KEY"], max_retries=0)
    answer = bearing.messages.create(model=DIRECT, messages=question(), max_tokens=MUCH)
    assert text_of(answer) == ESSAY


def check_a_wrong_key() -> None:
    wrong = client.with_options(api_key="wrong").messages
    error = raised(
        anthropic.AuthenticationError, partial(wrong.create, model=DIRECT, messages=question(), max_tokens=9)
    )
    assert (error.status_code, error.type) == (401, "authentication_error")
    assert error.request_id


def check_a_model_that_is_not_there() -> None:
    for model in ("nobody", "simulator/nobody", "nowhere/sim-essay"):
        for ask in (asked, streamed):
            assert raised(anthropic.NotFoundError, partial(ask, model)).type == "not_found_error"


def check_being_turned_away() -> None:
    for ask in (asked, streamed):
        error = raised(anthropic.RateLimitError, partial(ask, LIMITED))
        assert (error.type, error.response.headers["retry-after"]) == ("rate_limit_error", str(WAIT))


def check_a_key_that_only_watches_and_one_that_may_call_one_agent() -> None:
    watching = client.with_options(api_key=os.environ["OBSERVING_KEY"]).messages
    assert watching.create(model=CONTINUED, messages=question(), max_tokens=CAP).stop_reason == "max_tokens"
    narrow = client.with_options(api_key=os.environ["NARROW_KEY"]).messages
    ask = partial(narrow.create, messages=question(), max_tokens=MUCH)
    assert ask(model=CONTINUED).stop_reason == "end_turn"
    assert raised(anthropic.PermissionDeniedError, partial(ask, model=CALLING)).type == "permission_error"


def check_a_key_that_has_used_up_its_minute() -> None:
    paced = client.with_options(api_key=os.environ["PACED_KEY"]).messages
    ask = partial(paced.create, model=CONTINUED, messages=question(), max_tokens=MUCH)
    ask()
    assert int(raised(anthropic.RateLimitError, ask).response.headers["retry-after"]) >= 1


def check_a_request_that_makes_no_sense() -> None:
    error = raised(anthropic.BadRequestError, partial(asked, DIRECT, max_tokens=-1))
    assert "max_tokens: Input should be" in str(error)


def check_what_another_dialect_cannot_be_told() -> None:
    image = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    messages = [{"role": "user", "content": [{"type": "text", "text": QUESTION}, image]}]
    error = raised(anthropic.BadRequestError, partial(asked, DIRECT, messages=messages))
    assert "messages.0.content.1" in str(error)


if __name__ == "__main__":
    run_checks(globals())
