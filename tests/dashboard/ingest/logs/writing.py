"""Log files as others write them, and how they are imported."""

import json
from collections.abc import Iterable, Mapping
from io import BytesIO
from typing import Any

from dashboard.agents.selectors import project_default
from dashboard.ingest.logs.format_detection import read
from dashboard.ingest.logs.services import ImportProgress, log_import
from dashboard.ingest.logs.values import Episode, Fault

FILE_TIME = 1_750_000_000 * 10**9
AT = "2026-03-01T10:00:00Z"

Json = Mapping[str, Any]


def lines(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def found_in(content: bytes) -> list[Any]:
    return list(read(BytesIO(content), size=len(content), file_time=FILE_TIME, told=lambda _: None))


def faults_in(content: bytes) -> list[tuple[int, str]]:
    return [(one.line, one.words) for one in found_in(content) if isinstance(one, Fault)]


def calls_in(content: bytes) -> list[Any]:
    """The calls of all episodes."""
    episodes: Iterable[Episode] = (one for one in found_in(content) if isinstance(one, Episode))
    return [one for episode in episodes for one in episode.seen if hasattr(one, "exchange")]


def imported(
    content: bytes, *, name: str = "log.jsonl", dry: bool = False, by: int | None = None
) -> tuple[ImportProgress, list[Fault]]:
    taken = ImportProgress()
    found = read(BytesIO(content), size=len(content), file_time=FILE_TIME, told=lambda _: None)
    faults = list(log_import(found, name=name, project_id=project_default().id, by=by, taken=taken, dry=dry))
    return taken, faults


def chat_request(**other: Any) -> dict[str, Any]:
    return {"model": "gpt-4o", "max_tokens": 16, "messages": [{"role": "user", "content": "Tell me a story."}], **other}


def chat_answer(text: str = "Once upon", reason: str = "length", tokens: int = 16) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 9, "completion_tokens": tokens, "total_tokens": 9 + tokens}
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_772_359_200, "model": "gpt-4o-2024",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}], "usage": usage,
    }  # fmt: skip


def anthropic_answer(text: str = "Once upon", reason: str = "max_tokens") -> dict[str, Any]:
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
        "content": [{"type": "text", "text": text}], "stop_reason": reason, "stop_sequence": None,
        "usage": {"input_tokens": 9, "output_tokens": 16},
    }  # fmt: skip
