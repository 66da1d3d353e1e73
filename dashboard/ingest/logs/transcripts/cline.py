"""…/tasks/*/api_conversation_history.json of Cline and Roo Code: a list of messages in Anthropic's form.

What a call used stands in its message in newer releases of Cline, else in a file that is not read."""

from collections.abc import Iterator
from typing import Any

from agentcore.messages import TokenUsage
from dashboard.ingest.conventions.attributes import as_count
from dashboard.ingest.conventions.content.shapes import kind_of, mapping, mappings, words
from dashboard.ingest.conventions.observations import AskedCall
from dashboard.ingest.logs.request_reader import text_of
from dashboard.ingest.logs.timestamps import moment_of
from dashboard.ingest.logs.transcripts.message_sessions import Result, Spoken, provider_of
from dashboard.ingest.logs.transcripts.session_calls import ModelCallText
from dashboard.ingest.logs.values import Json

AGENT = "cline"
_ROLES = ("user", "assistant")
#: What stands in the messages that these agents write in the user's place.
_TAGS = ("<task>", "<environment_details>", "<user_message>", "<feedback>")


def fits(told: Json) -> bool:
    """Whether it is a message of theirs; also one of what the window shows, which stands in a file beside."""
    if isinstance(told.get("content"), str | list) and told.get("role") in _ROLES and "type" not in told:
        is_marked = not {"ts", "modelInfo", "metrics"}.isdisjoint(told)
        return is_marked or (set(told) == {"role", "content"} and any(tag in _text(told["content"]) for tag in _TAGS))
    return kind_of(told) in {"say", "ask"} and "ts" in told


def spoken(told: Json) -> Spoken | None:
    if "role" not in told:
        return None
    at, content = moment_of(told.get("ts")), told.get("content")
    if told["role"] == "user":
        return Spoken("", at, _text(content), tuple(_results(content)))
    return Spoken("", at, answer=_said(told, content))


def _said(told: Json, content: Any) -> ModelCallText:
    info = mapping(told.get("modelInfo"))
    model, blocks = words(info.get("modelId")), list(mappings(content))
    asked = (block for block in blocks if kind_of(block) == "tool_use")
    return ModelCallText(
        name="",
        model=model,
        provider=words(info.get("providerId")) or provider_of(model),
        text=_text(content),
        calls=tuple(AskedCall(words(one.get("id")), words(one.get("name")), words(one.get("input"))) for one in asked),
        reasoning="\n".join(words(block.get("thinking")) for block in blocks if kind_of(block) == "thinking"),
        usage=_usage(mapping(mapping(told.get("metrics")).get("tokens"))),
    )


def _usage(told: Json) -> TokenUsage | None:
    output = as_count(told.get("completion"))
    return None if output is None else TokenUsage(
        as_count(told.get("prompt")) or 0, output, 0, as_count(told.get("cached")) or 0
    )  # fmt: skip


def _results(content: Any) -> Iterator[Result]:
    for block in mappings(content):
        if kind_of(block) == "tool_result":
            failed = block.get("is_error") is True
            yield Result(words(block.get("tool_use_id")), text_of(block.get("content")), failed)


def _text(content: Any) -> str:
    return content if isinstance(content, str) else text_of([b for b in mappings(content) if kind_of(b) == "text"])
