"""LiteLLM's standard log of a call, as its callbacks and its proxy's spend logs keep it."""

from typing import Any

from dashboard.ingest.conventions.attributes import as_count
from dashboard.ingest.conventions.content.shapes import mapping, words
from dashboard.ingest.logs.exchanges import LoggedCall
from dashboard.ingest.logs.formats.pairs import body_of
from dashboard.ingest.logs.timestamps import first_moment
from dashboard.ingest.logs.values import Json

SOURCE = "LiteLLM log"
RENAMED = (
    "reason_renamed",
    "LiteLLM reports OpenAI's stop reasons. The provider's own stop reason is not in the log.",
)
_MARKS = frozenset({"litellm_call_id", "custom_llm_provider", "model_group", "api_base", "hidden_params", "request_id"})
_CALLS = frozenset({"completion", "acompletion", "responses", "aresponses", "anthropic_messages", ""})
_RESPONSES_COUNTS = {
    "prompt_tokens": "input_tokens",
    "completion_tokens": "output_tokens",
    "prompt_tokens_details": "input_tokens_details",
    "completion_tokens_details": "output_tokens_details",
}
_OWN_WORDS = frozenset({"", "openai", "azure"})


def fits(told: Json) -> bool:
    return (
        isinstance(told.get("call_type"), str)
        and bool(_MARKS & set(told))
        and ("messages" in told or "response" in told)
    )


def logged(told: Json) -> LoggedCall | None:
    """None where it is no call that answers in words, such as an embedding."""
    if told["call_type"] not in _CALLS:
        return None
    failed = words(told.get("status")) == "failure"
    about = mapping(told.get("error_information"))
    status = as_count(about.get("error_code")) if failed else None
    provider = words(told.get("custom_llm_provider"))
    answer = None if failed else body_of(told.get("response")) or None
    answer = _in_own_names(answer) if isinstance(answer, dict) and "output" in answer else answer
    is_mapped = isinstance(answer, dict) and "choices" in answer and provider not in _OWN_WORDS
    return LoggedCall(
        request=_request(told),
        answer=answer,
        source=SOURCE,
        status=status if status is not None and 400 <= status < 600 else None,
        begun=first_moment(told, ("startTime", "start_time")),
        ended=first_moment(told, ("endTime", "end_time")),
        name=words(told.get("id") or told.get("request_id")),
        agent=words(told.get("end_user"))[:200],
        error=(words(told.get("error_str")) or words(about.get("error_message")))[:2_000] if failed else "",
        dialect="openai",
        notes=(RENAMED,) if is_mapped else (),
    )


def _in_own_names(answer: Json) -> Json:
    """An answer of the Responses API with its token counts by that API's names: LiteLLM logs them by chat's."""
    if not (used := mapping(answer.get("usage"))):
        return answer
    return {**answer, "usage": {_RESPONSES_COUNTS.get(name, name): told for name, told in used.items()}}


def _request(told: Json) -> Json | None:
    """As the proxy was sent it where it keeps that, else put together of its parts."""
    sent = body_of(told.get("proxy_server_request"))
    if isinstance(sent, dict) and ("messages" in sent or "input" in sent):
        return sent
    messages: Any = body_of(told.get("messages"))
    if not messages:
        return None
    key = "messages" if isinstance(messages, list) else "input"
    return {**mapping(told.get("model_parameters")), "model": words(told.get("model")), key: messages}
