"""Answers that an instrumentation writes piece by piece or as its own object, as recorded around a small provider."""

import json
from typing import Any

from tests.dashboard.ingest.conventions.test_span_reader import call

ADK = {"gen_ai.operation.name": "generate_content", "gen_ai.request.model": "m", "gcp.vertex.agent.event_id": "e"}


def message(text: str, reason: str) -> dict[str, Any]:
    return {"role": "assistant", "parts": [{"type": "text", "content": text}], "finish_reason": reason}


def text_of(*messages: Any, **about: Any) -> str | None:
    return call(**about, **{"gen_ai.output.messages": json.dumps(messages)}).content.text


def test_a_stream_of_googles_kit_is_the_text_of_all_its_chunks() -> None:
    told = call(**ADK, **{"gen_ai.output.messages": json.dumps([message("Agents ", ""), message("stop", "length")])})
    assert (told.content.text, [word.raw for word in told.words]) == ("Agents stop", ["length"])


def test_several_choices_are_not_chunks_of_one() -> None:
    other = {name: value for name, value in ADK.items() if not name.startswith("gcp")}
    assert text_of(message("One", "stop"), message("Two", "stop"), **ADK) == "One"
    assert text_of(message("One", ""), message("Two", "stop"), **other) == "One"


def test_chunks_of_another_format_are_ignored() -> None:
    assert text_of({"role": "assistant", "parts": 7}, message("Two", "stop"), **ADK) == ""
    assert text_of(**ADK) == ""


def test_the_answer_of_a_mastra_generation_is_its_text() -> None:
    about = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "mastra.span.type": "model_generation"}
    told = {"files": [], "reasoning": [], "sources": [], "text": "Agents stop", "warnings": []}
    content = call(**about, **{"gen_ai.completion": json.dumps(told)}).content
    assert (content.text, content.calls) == ("Agents stop", None)
    assert call(**about, **{"gen_ai.completion": json.dumps({**told, "text": ""})}).content.text is None
