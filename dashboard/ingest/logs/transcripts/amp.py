"""~/.local/share/amp/threads/T-*.json: a thread with its messages, in blocks like Anthropic's."""

import re
from collections.abc import Iterator

from agentcore.messages import TokenUsage
from dashboard.ingest.conventions.attributes import as_count
from dashboard.ingest.conventions.content.shapes import kind_of, mapping, mappings, words
from dashboard.ingest.conventions.observations import AskedCall, StopReasonSighting
from dashboard.ingest.logs.request_reader import text_of
from dashboard.ingest.logs.timestamps import moment_of
from dashboard.ingest.logs.transcripts.codex import INTERRUPTED
from dashboard.ingest.logs.transcripts.message_sessions import Document, Result, Spoken
from dashboard.ingest.logs.transcripts.session_calls import ModelCallText, usage_of
from dashboard.ingest.logs.values import Json

AGENT = "amp"
#: How a thread begins.
THREAD = re.compile(rb'\{\s*(?:"v"\s*:\s*\d+\s*,\s*)?"id"\s*:\s*"(T-[\w-]{1,100})"')
_CREATED = re.compile(rb'"created"\s*:\s*(\d{10,14})\b')
_ROLES = ("user", "assistant", "info")
_FAILED = ("error", "cancelled", "rejected-by-user")


def document_of(head: bytes) -> Document:
    """What a thread's file tells of itself at its beginning; of another file, nothing."""
    if (thread := THREAD.match(head)) is None:
        return Document()
    created = _CREATED.search(head)
    return Document(thread.group(1).decode(), (moment_of(int(created.group(1))) or 0) if created else 0)


def fits(told: Json) -> bool:
    return told.get("role") in _ROLES and as_count(told.get("messageId")) is not None


def spoken(told: Json) -> Spoken | None:
    blocks = list(mappings(told.get("content")))
    name = f"message {told['messageId']}"
    match told["role"]:
        case "assistant":
            usage = mapping(told.get("usage"))
            return Spoken(name, moment_of(usage.get("timestamp")), answer=_said(told, blocks, usage))
        case "user":
            at = moment_of(mapping(told.get("meta")).get("sentAt"))
            return Spoken(name, at, _text(blocks, "text"), tuple(_results(blocks)))
    return None


def _said(told: Json, blocks: list[Json], usage: Json) -> ModelCallText:
    state, model = mapping(told.get("state")), words(usage.get("model"))
    reason = words(state.get("stopReason"))
    asked = (block for block in blocks if kind_of(block) == "tool_use")
    return ModelCallText(
        name="",
        model=model,
        provider="",
        text=_text(blocks, "text"),
        calls=tuple(AskedCall(words(one.get("id")), words(one.get("name")), words(one.get("input"))) for one in asked),
        reasoning=_text(blocks, "thinking"),
        usage=_usage(usage, silent=not blocks),
        words=(StopReasonSighting("state.stopReason", reason),) if reason else (),
        notes=(INTERRUPTED,) if state.get("type") == "cancelled" else (),
    )


def _usage(told: Json, *, silent: bool) -> TokenUsage | None:
    """Its input does not count what was read from the cache or written there."""
    asked, cached = as_count(told.get("inputTokens")), as_count(told.get("cacheReadInputTokens"))
    if asked is not None:
        asked += (cached or 0) + (as_count(told.get("cacheCreationInputTokens")) or 0)
    whole = as_count(told.get("totalInputTokens"))
    return usage_of(asked if whole is None else whole, as_count(told.get("outputTokens")), cached, silent=silent)


def _results(blocks: list[Json]) -> Iterator[Result]:
    for block in blocks:
        if kind_of(block) == "tool_result":
            run = mapping(block.get("run"))
            told = run.get("result", run.get("error"))
            yield Result(words(block.get("toolUseID")), words(told), run.get("status") in _FAILED)


def _text(blocks: list[Json], kind: str) -> str:
    return "\n".join(filter(None, (text_of(block.get(kind)) for block in blocks if kind_of(block) == kind)))
