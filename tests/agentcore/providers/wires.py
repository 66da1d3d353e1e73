"""Answers as Anthropic and AWS put them on the wire, made by hand; and a reader that takes them in pieces."""

import base64
import json
import struct
import zlib
from typing import Any

from agentcore.messages import ChatResponse, Delta
from agentcore.providers import StreamDecoder, get_provider

Event = dict[str, Any]


def sse(*events: Event) -> bytes:
    """Server-sent events, named by their type as Anthropic names them."""
    return b"".join(
        f"event: {event.get('type', '')}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n".encode()
        for event in events
    )


def framed(payload: object, **headers: str) -> bytes:
    """One message of AWS's event stream; `event_type="x"` becomes the header `:event-type`."""
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    head = b"".join(_header(":" + name.replace("_", "-"), value) for name, value in headers.items())
    prelude = struct.pack(">II", 16 + len(head) + len(body), len(head))
    prelude += struct.pack(">I", zlib.crc32(prelude))
    message = prelude + head + body
    return message + struct.pack(">I", zlib.crc32(message))


def _header(name: str, value: str) -> bytes:
    text = value.encode()
    return bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(text)) + text


def converse(*events: Event) -> bytes:
    """ConverseStream: each event is a union with one member, which names the message."""
    return b"".join(
        framed(payload, event_type=name, content_type="application/json", message_type="event")
        for event in events
        for name, payload in event.items()
    )


def chunks(*events: Event) -> bytes:
    """InvokeModelWithResponseStream: the vendor's own events in base64."""
    wrapped = [{"bytes": base64.b64encode(json.dumps(event).encode()).decode()} for event in events]
    return b"".join(framed(chunk, event_type="chunk", message_type="event") for chunk in wrapped)


def read(provider: str, body: bytes, *, size: int = 0, cap: int | None = None) -> ChatResponse:
    return read_with_deltas(provider, body, size=size, cap=cap)[0]


def read_with_deltas(
    provider: str, body: bytes, *, size: int = 0, cap: int | None = None
) -> tuple[ChatResponse, list[Delta]]:
    decoder = get_provider(provider).stream_decoder(max_tokens=cap)
    step = size or len(body) or 1
    deltas = [delta for start in range(0, len(body), step) for delta in decoder.feed(body[start : start + step])]
    return decoder.close(), deltas


def feed_and_close(decoder: StreamDecoder, body: bytes) -> ChatResponse:
    decoder.feed(body)
    return decoder.close()


def start(index: int, **block: Any) -> Event:
    return {"type": "content_block_start", "index": index, "content_block": block}


def piece(index: int, **delta: Any) -> Event:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def stop(index: int) -> Event:
    return {"type": "content_block_stop", "index": index}


def said(index: int, text: str) -> list[Event]:
    """A text block."""
    return [start(index, type="text", text=""), piece(index, type="text_delta", text=text), stop(index)]


def called(index: int, call_id: str, name: str, *pieces: str, ended: bool = True) -> list[Event]:
    """A tool call with its arguments in pieces, the first of which is always empty."""
    deltas = [piece(index, type="input_json_delta", partial_json=text) for text in ("", *pieces)]
    return [start(index, type="tool_use", id=call_id, name=name, input={}), *deltas, *([stop(index)] * ended)]


def thought(index: int, text: str, signature: str = "") -> list[Event]:
    deltas = [piece(index, type="thinking_delta", thinking=text)]
    signed = [piece(index, type="signature_delta", signature=signature)] if signature else []
    return [start(index, type="thinking", thinking="", signature=""), *deltas, *signed, stop(index)]


def message_stream(*blocks: list[Event], reason: str | None = "end_turn", output: int = 9, **end: Any) -> bytes:
    """A whole stream of the Messages API; without a reason it ends where that would come."""
    usage = {"input_tokens": 20, "cache_creation_input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 1}
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "content": [],
        "usage": usage,
    }
    events = [{"type": "message_start", "message": message}, {"type": "ping"}, *(e for block in blocks for e in block)]
    if reason is not None:
        delta = {"stop_reason": reason, "stop_sequence": None, **end}
        events += [
            {"type": "message_delta", "delta": delta, "usage": {"output_tokens": output}},
            {"type": "message_stop"},
        ]
    return sse(*events)


def message(*content: Event, reason: str | None = "end_turn", output: int = 9, **more: Any) -> Event:
    """A whole answer of the Messages API."""
    usage = {"input_tokens": 20, "output_tokens": output}
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "stop_sequence": None}
    return {**head, "content": list(content), "stop_reason": reason, "usage": usage, **more}


def answer(*content: Event, reason: str | None = "end_turn", output: int = 9, **more: Any) -> Event:
    """A whole answer of Converse."""
    usage = {"inputTokens": 20, "outputTokens": output, "totalTokens": 20 + output}
    said = {"message": {"role": "assistant", "content": list(content)}}
    return {"output": said, "stopReason": reason, "usage": usage, "metrics": {"latencyMs": 1}, **more}


def grown(index: int, **delta: Any) -> Event:
    return {"contentBlockDelta": {"contentBlockIndex": index, "delta": delta, "p": "abc"}}


def announced(index: int, **block: Any) -> Event:
    return {"contentBlockStart": {"contentBlockIndex": index, "start": block}}


def asked(index: int, call_id: str, name: str, *pieces: str, **more: str) -> list[Event]:
    """A tool call of Converse with its arguments in pieces."""
    begun = announced(index, toolUse={"toolUseId": call_id, "name": name, **more})
    return [
        begun,
        *(grown(index, toolUse={"input": text}) for text in pieces),
        {"contentBlockStop": {"contentBlockIndex": index}},
    ]


def answer_events(*events: Event, reason: str | None = "end_turn", output: int = 9) -> list[Event]:
    """The events of ConverseStream; without a reason they end where that would come."""
    usage = {"inputTokens": 20, "outputTokens": output, "cacheReadInputTokens": 4, "cacheWriteInputTokens": 3}
    end = [{"messageStop": {"stopReason": reason}}, {"metadata": {"usage": usage}}]
    return [{"messageStart": {"role": "assistant"}}, *events, *(end if reason is not None else [])]
