"""Langfuse's observations, as its API and its exports tell them: what was asked and said, without the wire."""

from collections.abc import Mapping
from typing import Any

from dashboard.ingest.conventions.attributes import as_count, first, with_details
from dashboard.ingest.conventions.content.shapes import kind_of, mapping, words
from dashboard.ingest.logs.dialects import dialect_of_answer
from dashboard.ingest.logs.exchanges import LoggedCall
from dashboard.ingest.logs.formats.pairs import body_of
from dashboard.ingest.logs.timestamps import first_moment
from dashboard.ingest.logs.values import Json

SOURCE = "Langfuse export"
_KINDS = frozenset({"GENERATION", "SPAN", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EMBEDDING", "GUARDRAIL"})
_REASONS = ("finish_reason", "finishReason", "stop_reason", "stopReason")


def fits(told: Json) -> bool:
    is_named = "traceId" in told or "trace_id" in told
    return kind_of(told) in _KINDS and is_named and ("startTime" in told or "start_time" in told)


def logged(told: Json) -> LoggedCall | None:
    """None where it is another observation than a call of a model."""
    if told["type"] != "GENERATION":
        return None
    failed = words(told.get("level")) == "ERROR"
    output = body_of(told.get("output"))
    is_wire = dialect_of_answer(output) is not None
    answer = output if is_wire else _composed(told, output)
    return LoggedCall(
        request=_request(told),
        answer=None if failed and output is None else answer,
        source=SOURCE,
        begun=first_moment(told, ("startTime", "start_time")),
        ended=first_moment(told, ("endTime", "end_time")),
        name=words(told.get("id")),
        agent=words(first(told, ("traceName", "trace_name", "name")))[:200],
        error=words(first(told, ("statusMessage", "status_message")))[:2_000] or ("It failed." if failed else ""),
        dialect="" if is_wire else "openai",
        is_composed=not is_wire,
    )


def _request(told: Json) -> Json | None:
    asked = body_of(told.get("input"))
    if asked is None:
        return None
    parameters = mapping(body_of(first(told, ("modelParameters", "model_parameters"))))
    known = {**parameters, "model": _model(told)}
    if isinstance(asked, dict) and ("messages" in asked or "contents" in asked or "input" in asked):
        return {**known, **asked}
    if isinstance(asked, list) and all(isinstance(one, dict) for one in asked):
        return {**known, "messages": asked}
    return {**known, "messages": [{"role": "user", "content": words(asked)}]}


def _model(told: Json) -> str:
    return words(first(told, ("model", "providedModelName", "provided_model_name", "model_id")))


def _composed(told: Json, output: Any) -> Json:
    """What was said as a chat completion, for the codec to read. Its reason stands in the metadata, if anywhere."""
    message = output[0] if isinstance(output, list) and output else output
    message = mapping(message).get("message", message)
    if not isinstance(message, dict) or not ("content" in message or "tool_calls" in message):
        message = {"role": "assistant", "content": None if message is None else words(message)}
    reason = first({**mapping(body_of(told.get("metadata"))), **mapping(output)}, _REASONS)
    choice = {"index": 0, "message": message, "finish_reason": reason if isinstance(reason, str) else None}
    return {"object": "chat.completion", "model": _model(told), "choices": [choice], **_usage(told)}


def _usage(told: Json) -> Mapping[str, Any]:
    counts = with_details(mapping(body_of(first(told, ("usageDetails", "usage_details", "usage")))))
    output = as_count(first(counts, ("output", "completionTokens", "output_tokens")))
    if output is None:
        return {}
    asked = as_count(first(counts, ("input", "promptTokens", "input_tokens"))) or 0
    return {"usage": {"prompt_tokens": asked, "completion_tokens": output, "total_tokens": asked + output}}
