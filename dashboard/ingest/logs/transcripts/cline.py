"""…/tasks/*/api_conversation_history.json of Cline and Roo Code: a list of messages in Anthropic's form.

What a call used stands in its message in newer releases of Cline, else in a file that is not read."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from agentcore.messages import TokenUsage
from dashboard.ingest.conventions.attributes import as_count
from dashboard.ingest.conventions.content.shapes import kind_of, mapping, mappings, words
from dashboard.ingest.conventions.observations import AskedCall
from dashboard.ingest.logs.request_reader import text_of
from dashboard.ingest.logs.timestamps import moment_of
from dashboard.ingest.logs.transcripts.codex import INTERRUPTED
from dashboard.ingest.logs.transcripts.message_sessions import Result, Spoken
from dashboard.ingest.logs.transcripts.session_calls import ModelCallText, Note, usage_of
from dashboard.ingest.logs.values import Json

AGENT = "cline"
_ROLES = ("user", "assistant")
#: What stands in the messages that these agents write in the user's place.
_TAGS = ("<task>", "<environment_details>", "<user_message>", "<feedback>")
#: What they write in the model's place, and behind an answer that was not whole.
_NO_ANSWER = "Failure: I did not provide a response."
_INTERRUPTED = re.compile(r"\s*\[Response interrupted by [^\[\]]{1,200}\]\s*\Z")
_UTC = re.compile(r"ISO 8601 UTC format: (\S{10,40})")
_LOCAL = re.compile(
    r"# Current Time\s+(\d{1,2}/\d{1,2}/\d{4}, \d{1,2}:\d{2}:\d{2}\s[AP]M)"
    r"(?: \([^()]{0,80}UTC([+-]\d{1,2})(?::(\d{2}))?\))?"
)


def fits(told: Json) -> bool:
    """Whether it is a message of theirs; also one of what the window shows, which stands in a file beside."""
    if goes_on(told):
        is_marked = not {"ts", "modelInfo", "metrics"}.isdisjoint(told)
        return is_marked or (set(told) == {"role", "content"} and any(tag in _text(told["content"]) for tag in _TAGS))
    return kind_of(told) in {"say", "ask"} and "ts" in told


def goes_on(told: Json) -> bool:
    """Whether it is one within a task: in older releases, messages have nothing that tells whose they are."""
    return isinstance(told.get("content"), str | list) and told.get("role") in _ROLES and "type" not in told


def spoken(told: Json) -> Spoken | None:
    if "role" not in told:
        return None
    at, content = moment_of(told.get("ts")), told.get("content")
    if told["role"] == "user":
        text = _text(content)
        return Spoken("", _time(text) if at is None else at, text, tuple(_results(content)))
    return Spoken("", at, answer=_said(told, content))


def _said(told: Json, content: Any) -> ModelCallText:
    info = mapping(told.get("modelInfo"))
    blocks, (text, notes) = list(mappings(content)), _own_words_apart(_text(content))
    asked = [block for block in blocks if kind_of(block) == "tool_use"]
    return ModelCallText(
        name="",
        model=words(info.get("modelId")),
        provider=words(info.get("providerId")),
        text=text,
        calls=tuple(AskedCall(words(one.get("id")), words(one.get("name")), words(one.get("input"))) for one in asked),
        reasoning="\n".join(words(block.get("thinking")) for block in blocks if kind_of(block) == "thinking"),
        usage=_usage(mapping(mapping(told.get("metrics")).get("tokens")), silent=not (text or asked)),
        notes=notes,
    )


def _own_words_apart(text: str) -> tuple[str, tuple[Note, ...]]:
    """What the model said, without what the agent wrote in its place, which is told as a note."""
    if text.strip() == _NO_ANSWER:
        return "", ()
    found = _INTERRUPTED.search(text)
    return (text, ()) if found is None else (text[: found.start()], (INTERRUPTED,))


def _usage(told: Json, *, silent: bool) -> TokenUsage | None:
    asked, output, cached = (as_count(told.get(name)) for name in ("prompt", "completion", "cached"))
    return usage_of(asked, output, cached, silent=silent)


def _time(text: str) -> int | None:
    """That which the agent told the model, in tasks whose messages have no time of their own."""
    if (found := _UTC.search(text)) is not None:
        return moment_of(found.group(1))
    if (found := _LOCAL.search(text)) is None:
        return None
    offset = f"{int(found.group(2) or 0):+03d}{found.group(3) or '00'}"
    try:
        local = datetime.strptime(" ".join((*found.group(1).split(), offset)), "%m/%d/%Y, %I:%M:%S %p %z")
    except ValueError:
        return None
    return moment_of(local.isoformat())


def _results(content: Any) -> Iterator[Result]:
    for block in mappings(content):
        if kind_of(block) == "tool_result":
            failed = block.get("is_error") is True
            yield Result(words(block.get("tool_use_id")), text_of(block.get("content")), failed)


def _text(content: Any) -> str:
    return content if isinstance(content, str) else text_of([b for b in mappings(content) if kind_of(b) == "text"])
