"""~/.local/share/goose/sessions: a line for each message in files of older releases (*.jsonl), a row in the database of
newer ones (sessions.db)."""

from collections.abc import Iterator
from typing import Any

from dashboard.ingest.conventions.content.shapes import kind_of, mapping, mappings, words
from dashboard.ingest.conventions.observations import AskedCall
from dashboard.ingest.logs.request_reader import text_of
from dashboard.ingest.logs.timestamps import moment_of
from dashboard.ingest.logs.transcripts.message_sessions import Result, Spoken
from dashboard.ingest.logs.transcripts.session_calls import ModelCallText
from dashboard.ingest.logs.values import Json

AGENT = "goose"
_ROLES = ("user", "assistant")


def fits(told: Json) -> bool:
    """Whether it is a message, or the first line of a session, which tells of the session."""
    if told.get("role") in _ROLES:
        return "created" in told and isinstance(told.get("content"), list)
    return "working_dir" in told and "message_count" in told


def spoken(told: Json) -> Spoken | None:
    if "role" not in told:
        return None
    blocks, at = list(mappings(told["content"])), moment_of(told["created"])
    name = words(told.get("id"))
    if told["role"] == "user":
        return Spoken(name, at, _text(blocks), tuple(_results(blocks)))
    said = ModelCallText(
        name="",
        model="",
        provider="",
        text=_text(blocks),
        calls=tuple(map(_asked, (block for block in blocks if kind_of(block) == "toolRequest"))),
        reasoning="\n".join(words(block.get("thinking")) for block in blocks if kind_of(block) == "thinking"),
    )
    return Spoken(name, at, answer=said)


def _asked(block: Json) -> AskedCall:
    """A call that could not be read has its error in place of its name and arguments."""
    call = mapping(mapping(block.get("toolCall")).get("value"))
    return AskedCall(words(block.get("id")), words(call.get("name")), words(call.get("arguments", {})))


def _results(blocks: list[Json]) -> Iterator[Result]:
    for block in blocks:
        if kind_of(block) == "toolResponse":
            result = mapping(block.get("toolResult"))
            value = result.get("value", result.get("error"))
            failed = result.get("status") == "error" or mapping(value).get("isError") is True
            yield Result(words(block.get("id")), _value(value), failed)


def _value(value: Any) -> str:
    """A list of parts in older releases, an object with such a list in newer ones, a text for an error."""
    return text_of(value) or words(value)


def _text(blocks: list[Json]) -> str:
    return text_of([block for block in blocks if kind_of(block) == "text"])
