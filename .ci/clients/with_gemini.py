"""The official `google-genai` client, unmodified, against the gateway. Address and key come from its own variables."""

import os
from functools import partial
from typing import Any

from asked import (
    CALCULATOR,
    CALLING,
    CAP,
    CONTINUED,
    DIRECT,
    ESSAY,
    GEMINI,
    LIMITED,
    OBSERVED,
    QUESTION,
    REPORTING,
    SUMMED,
    SUMS,
    WAIT,
    WATCHED_GEMINI,
    raised,
    run_checks,
)
from google import genai
from google.genai import errors, types
from pydantic import BaseModel


def client_of(key: str) -> genai.Client:
    return genai.Client(api_key=key)


client = client_of(os.environ["GEMINI_API_KEY"])
FUNCTION = CALCULATOR["function"]
TOOL = types.Tool(
    function_declarations=[
        types.FunctionDeclaration(
            name=FUNCTION["name"],
            description=FUNCTION["description"],
            parameters_json_schema=FUNCTION["parameters"],
        )
    ]
)
BY_HAND = types.AutomaticFunctionCallingConfig(disable=True)
SHORT: dict[str, Any] = {"max_output_tokens": CAP}


class Report(BaseModel):
    title: str
    points: list[str]
    confidence: float
    complete: bool


def asked(model: str, contents: Any = QUESTION, **config: Any) -> types.GenerateContentResponse:
    return client.models.generate_content(model=model, contents=contents, config=config)


def streamed(model: str, contents: Any = QUESTION, **config: Any) -> list[types.GenerateContentResponse]:
    return list(client.models.generate_content_stream(model=model, contents=contents, config=config))


def text_of(chunks: list[types.GenerateContentResponse]) -> str:
    return "".join(chunk.text or "" for chunk in chunks)


def end_of(answer: types.GenerateContentResponse) -> str:
    assert answer.candidates, "there is an answer"
    return answer.candidates[0].finish_reason.name


def check_a_whole_answer() -> None:
    for model in (DIRECT, GEMINI, WATCHED_GEMINI):
        answer = asked(model)
        assert (answer.text, end_of(answer)) == (ESSAY, "STOP")
        usage = answer.usage_metadata
        assert usage.prompt_token_count > 0
        assert usage.total_token_count == usage.prompt_token_count + usage.candidates_token_count


def check_a_streamed_answer() -> None:
    for model in (DIRECT, GEMINI, WATCHED_GEMINI):
        chunks = streamed(model)
        assert text_of(chunks) == ESSAY
        assert len(chunks) > 20, "it did not come in pieces"
        assert (end_of(chunks[-1]), chunks[-1].usage_metadata.candidates_token_count > 0) == ("STOP", True)


def check_an_answer_without_blocking() -> None:
    import asyncio

    async def ask() -> str:
        stream = await client.aio.models.generate_content_stream(model=CONTINUED, contents=QUESTION, config=SHORT)
        return "".join([chunk.text or "" async for chunk in stream])

    assert asyncio.run(ask()) == ESSAY


def check_a_cut_answer_comes_back_whole() -> None:
    for model in (CONTINUED, GEMINI):
        answer = asked(model, **SHORT)
        assert (answer.text, end_of(answer)) == (ESSAY, "STOP")
        assert int(answer.sdk_http_response.headers["x-whystop-attempts"]) > 1


def check_a_cut_answer_streams_on_to_its_end() -> None:
    for model in (CONTINUED, GEMINI):
        chunks = streamed(model, **SHORT)
        assert (text_of(chunks), end_of(chunks[-1])) == (ESSAY, "STOP")


def check_a_watched_answer_is_cut_where_the_provider_cut_it() -> None:
    for model in (OBSERVED, WATCHED_GEMINI):
        answer = asked(model, **SHORT)
        assert end_of(answer) == "MAX_TOKENS"
        assert ESSAY.startswith(answer.text)
        assert end_of(streamed(model, **SHORT)[-1]) == "MAX_TOKENS"


def check_settings_that_are_told_to_any_upstream() -> None:
    off = types.SafetySetting(category="HARM_CATEGORY_HARASSMENT", threshold="BLOCK_NONE")
    thinking = types.ThinkingConfig(thinking_budget=0)
    more = {"system_instruction": "Be brief.", "temperature": 0.1, "top_p": 0.9, "stop_sequences": ["never said"]}
    for model in (DIRECT, GEMINI):
        assert asked(model, safety_settings=[off], thinking_config=thinking, **more).text == ESSAY


def check_parallel_calls_and_their_results() -> None:
    answer = asked(CALLING, tools=[TOOL], automatic_function_calling=BY_HAND)
    assert [call.args["expression"] for call in answer.function_calls] == [*SUMS]
    chunks = streamed(CALLING, tools=[TOOL], automatic_function_calling=BY_HAND)
    called = [call for chunk in chunks for call in chunk.function_calls or ()]
    assert [call.args["expression"] for call in called] == [*SUMS]
    results = [
        types.Part(
            function_response=types.FunctionResponse(
                id=call.id, name=call.name, response={"output": SUMS[call.args["expression"]]}
            )
        )
        for call in answer.function_calls
    ]
    question = types.Content(role="user", parts=[types.Part(text=QUESTION)])
    history = [question, answer.candidates[0].content, types.Content(role="user", parts=results)]
    final = asked(CALLING, history, tools=[TOOL], automatic_function_calling=BY_HAND)
    assert (final.text, end_of(final)) == (SUMMED, "STOP")


def calculator(expression: str) -> str:
    """Works out an expression."""
    return SUMS[expression]


def check_functions_that_the_client_calls_itself() -> None:
    assert asked(CALLING, tools=[calculator]).text == SUMMED


def check_a_structured_answer_also_where_it_was_cut() -> None:
    for schema in ({"response_schema": Report}, {"response_json_schema": Report.model_json_schema()}):
        for cap in ({}, SHORT):
            answer = asked(REPORTING, response_mime_type="application/json", **schema, **cap)
            report = Report.model_validate_json(answer.text)
            assert (report.title, len(report.points), report.complete) == ("Why agents stop", 5, True)


def check_a_chat_keeps_its_history() -> None:
    for model in (CONTINUED, GEMINI):
        chat = client.chats.create(model=model, config=SHORT)
        assert chat.send_message(QUESTION).text == ESSAY
        assert text_of(list(chat.send_message_stream("And again?"))) == ESSAY
        roles = [content.role for content in chat.get_history(curated=True)]
        assert roles.count("user") == 2
        assert roles[-1] == "model"


def check_tokens_are_counted_by_an_upstream_of_this_dialect() -> None:
    assert client.models.count_tokens(model=GEMINI, contents=QUESTION).total_tokens > 0
    error = raised(errors.ClientError, partial(client.models.count_tokens, model=DIRECT, contents=QUESTION))
    assert (error.code, "has no address" in error.message) == (400, True)


def check_models_are_listed() -> None:
    names = [model.name for model in client.models.list()]
    assert f"models/{CONTINUED}" in names
    assert client.models.get(model=CONTINUED).name == f"models/{CONTINUED}"


def check_a_wrong_key() -> None:
    wrong = client_of("wrong")  # a client that nobody holds closes its connection
    error = raised(errors.ClientError, partial(wrong.models.generate_content, model=DIRECT, contents=QUESTION))
    assert (error.code, error.status) == (401, "UNAUTHENTICATED")


def check_a_model_that_is_not_there() -> None:
    for model in ("nobody", "simulator/nobody", "nowhere/sim-essay"):
        for ask in (asked, streamed):
            assert raised(errors.ClientError, partial(ask, model)).status == "NOT_FOUND"


def check_being_turned_away() -> None:
    for ask in (asked, streamed):
        error = raised(errors.ClientError, partial(ask, LIMITED))
        assert (error.code, error.status) == (429, "RESOURCE_EXHAUSTED")
        waits = [detail["retryDelay"] for detail in error.details["error"]["details"] if "retryDelay" in detail]
        assert waits == [f"{WAIT}s"]


def check_a_key_that_only_watches_and_one_that_may_call_one_agent() -> None:
    watching = client_of(os.environ["OBSERVING_KEY"])
    assert end_of(watching.models.generate_content(model=CONTINUED, contents=QUESTION, config=SHORT)) == "MAX_TOKENS"
    narrow = client_of(os.environ["NARROW_KEY"])
    ask = partial(narrow.models.generate_content, contents=QUESTION)
    assert ask(model=CONTINUED).text == ESSAY
    assert raised(errors.ClientError, partial(ask, model=CALLING)).status == "PERMISSION_DENIED"


def check_a_key_that_has_used_up_its_minute() -> None:
    paced = client_of(os.environ["PACED_KEY"])
    ask = partial(paced.models.generate_content, model=CONTINUED, contents=QUESTION)
    ask()
    assert raised(errors.ClientError, ask).code == 429


def check_a_request_that_makes_no_sense() -> None:
    error = raised(errors.ClientError, partial(asked, DIRECT, max_output_tokens=-1))
    assert (error.status, "maxOutputTokens" in error.message) == ("INVALID_ARGUMENT", True)


def check_what_another_dialect_cannot_be_told() -> None:
    image = types.Part.from_bytes(data=b"x", mime_type="image/png")
    error = raised(errors.ClientError, partial(asked, DIRECT, [QUESTION, image]))
    assert "contents[0].parts[1]" in error.message
    assert "topK" in raised(errors.ClientError, partial(asked, DIRECT, top_k=3)).message
    search = types.Tool(google_search=types.GoogleSearch())
    assert "'tools'" in raised(errors.ClientError, partial(asked, DIRECT, tools=[search])).message


if __name__ == "__main__":
    run_checks(globals())
