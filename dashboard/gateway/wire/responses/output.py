"""What a turn ended with as items of a Responses answer: thoughts, a message, calls. Pure.

The items of a single answer of this dialect stand as they came; others are made of what is said.

Maps the end of a turn to the Responses API's `status` and `incomplete_details`. Pure.

| chat completions would say | `status`     | `incomplete_details.reason` |
|----------------------------|--------------|-----------------------------|
| `stop`                     | `completed`  |                             |
| `tool_calls`               | `completed`  |                             |
| `length`                   | `incomplete` | `max_output_tokens`         |
| `content_filter`           | `incomplete` | `content_filter`            |
"""

from collections.abc import Iterator, Mapping
from typing import Any

from agentcore.messages import ToolCall
from agentcore.providers.openai_responses.items import call_id, client_calls
from dashboard.gateway.wire.answer_values import AnswerIdentity, EndedTurn
from dashboard.gateway.wire.finish_reasons import FILTERED, LENGTH
from dashboard.gateway.wire.responses.conversation import OUR_THOUGHTS, text_of

COMPLETED, INCOMPLETE, IN_PROGRESS, FAILED = "completed", "incomplete", "in_progress", "failed"
#: Why an answer is incomplete; all others are completed.
REASONS: Mapping[str, str] = {LENGTH: "max_output_tokens", FILTERED: "content_filter"}


def reason_of(ended: EndedTurn) -> str | None:
    """Why it is incomplete; None: it is not."""
    return REASONS.get(ended.said.finish_reason)


def status_of(ended: EndedTurn) -> str:
    return COMPLETED if reason_of(ended) is None else INCOMPLETE


def word_of(ended: EndedTurn) -> str:
    """The word that the caller is told: the status, or what makes it incomplete."""
    return reason_of(ended) or COMPLETED


Json = dict[str, Any]


def output_of(named: AnswerIdentity, ended: EndedTurn) -> list[Json]:
    """All items of a whole answer."""
    if (items := items_that_stand(ended)) is not None:
        return items
    said = ended.said
    nothing = said.text is None and said.refusal is None
    message = [] if nothing else [message_item(named, said.text, said.refusal, status_of(ended))]
    return [*thoughts_of(named, ended), *message, *calls_of(named, ended)]


def items_that_stand(ended: EndedTurn) -> list[Json] | None:
    """The items of the one answer that there was, where they are this dialect's and say what is said."""
    said, items = ended.said, _items(ended.echoes[0] if len(ended.echoes) == 1 else None)
    if not items or said.refusal is not None:
        return None
    text = "".join(text_of(item) for item in items if item["type"] == "message")
    calls = [call_id(item) for item in client_calls(items)]
    return items if text == (said.text or "") and calls == [call.id for call in said.calls] else None


def thoughts_of(named: AnswerIdentity, ended: EndedTurn) -> list[Json]:
    """What was thought before the answer: as it came where it is OpenAI's, else as a summary; none of what is
    withheld."""
    if ended.said.text is None and not ended.said.calls:
        return []
    kept = [item for item in _items(ended.echoes[0] if ended.echoes else None) if item["type"] == "reasoning"]
    return kept or ([thought_item(named, ended.reasoning)] if ended.reasoning else [])


def calls_of(named: AnswerIdentity, ended: EndedTurn) -> Iterator[Json]:
    return (_call_item(named, n, call) for n, call in enumerate(ended.said.calls))


def thought_item(named: AnswerIdentity, text: str) -> Json:
    """Thoughts of a model that does not sign them."""
    return {"id": f"{OUR_THOUGHTS}{_digits(named)}", "type": "reasoning", "summary": [summary(text)]}


def message_item(named: AnswerIdentity, text: str | None, refusal: str | None, status: str) -> Json:
    parts = [] if text is None else [text_part(text)]
    parts += [] if refusal is None else [refusal_part(refusal)]
    return {**begun_message(named), "status": status, "content": parts}


def begun_message(named: AnswerIdentity) -> Json:
    """A message before anything is said in it."""
    return {"id": f"msg_{_digits(named)}", "type": "message", "status": "in_progress", "role": "assistant"}


def text_part(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def refusal_part(words: str) -> Json:
    return {"type": "refusal", "refusal": words}


def summary(text: str) -> Json:
    return {"type": "summary_text", "text": text}


def _call_item(named: AnswerIdentity, n: int, call: ToolCall) -> Json:
    place, about = f"{_digits(named)}{n:04d}", {"call_id": call.id, "name": call.name}
    if call.custom:
        return {"id": f"ctc_{place}", "type": "custom_tool_call", "status": COMPLETED, **about, "input": call.raw}
    written = {**about, "arguments": call.raw or "{}"}
    return {"id": f"fc_{place}", "type": "function_call", "status": COMPLETED, **written}


def _items(echo: object) -> list[Json]:
    """An echo as items, where it is this dialect's: a list of objects, of which each has a type, and some an id."""
    items = echo if isinstance(echo, list) else []
    typed = all(isinstance(item, dict) and isinstance(item.get("type"), str) for item in items)
    known = any(item["type"] in ("message", "reasoning") or item["type"].endswith("_call") for item in items if typed)
    return items if typed and known else []


def _digits(named: AnswerIdentity) -> str:
    return named.id.removeprefix("resp_")
