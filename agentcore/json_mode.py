"""Whether a request's own fields ask for JSON, each dialect in its own words. Pure.

Such an answer is never continued by joining: where a grammar writes it, the grammar begins anew at each call.
"""

from collections.abc import Callable, Mapping
from typing import Any

Schema = Mapping[str, Any]

_OPENAI = frozenset({"response_format", "guided_json", "json_schema"})
ANY_OBJECT: Schema = {"type": "object"}  #: what `json_object` promises
ANY_VALUE: Schema = {}  #: where any JSON may come, or the provider alone knows the schema


def json_asked(dialect: str, extra: Mapping[str, Any]) -> Schema | None:
    """What an answer to a request with these fields has to be; None: free text.

    A schema in the fields is the provider's to keep to: here it means JSON, and no more. The JSON protocol (`llama`)
    writes JSON around every answer, so there the fields say nothing of the answer.
    """
    look = _DIALECTS.get(dialect)
    return look(extra) if look else None


def _typed(described: Any) -> Schema | None:
    """What `{"type": …}` asks for."""
    if not isinstance(described, Mapping):
        return None
    word = described.get("type")
    if word == "json_object":
        return ANY_OBJECT
    return ANY_VALUE if word == "json_schema" else None


def _at(extra: Mapping[str, Any], group: str, name: str) -> Any:
    holder = extra.get(group)
    return holder.get(name) if isinstance(holder, Mapping) else None


def _openai(extra: Mapping[str, Any]) -> Schema | None:
    """Also the fields by which vLLM (`guided_json`) and llama.cpp (`json_schema`) are asked."""
    if _OPENAI.isdisjoint(extra):
        return None  # nearly every request
    asked = _typed(extra.get("response_format"))
    if asked is None and any(isinstance(extra.get(name), Mapping | str) for name in ("guided_json", "json_schema")):
        return ANY_VALUE
    return asked


def _gemini(extra: Mapping[str, Any]) -> Schema | None:
    words = (_at(extra, "generationConfig", name) for name in ("responseMimeType", "response_mime_type"))
    return ANY_VALUE if "application/json" in words else None


def _ollama(extra: Mapping[str, Any]) -> Schema | None:
    asked = extra.get("format")
    return ANY_VALUE if asked == "json" or (isinstance(asked, Mapping) and asked) else None


_DIALECTS: Mapping[str, Callable[[Mapping[str, Any]], Schema | None]] = {
    "openai": _openai,
    "openai_responses": lambda extra: _typed(_at(extra, "text", "format")),
    "anthropic": lambda extra: _typed(_at(extra, "output_config", "format")),
    "bedrock": lambda extra: _typed(_at(extra, "outputConfig", "textFormat")),
    "cohere": lambda extra: _typed(extra.get("response_format")),
    "gemini": _gemini,
    "ollama": _ollama,
}
