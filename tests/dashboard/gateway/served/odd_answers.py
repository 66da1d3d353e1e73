"""Answers nobody promised, as the bytes a provider sends: of a stream, and of a whole answer."""

import gzip
import json
import zlib
from collections.abc import Mapping

from tests.dashboard.gateway.served.raw_provider import CUT, DONE, Steps, body, chunked, data, event, head

WORD, HALF, STOP = event({"content": "whole"}), event({"content": "half"}), event({}, "stop")
WHOLE = WORD + STOP + DONE
GOOD = body({"content": "whole"})
SSE, JSON = head(), head("application/json")
PAGE = b"<!doctype html><html><body>Sign in to the network</body></html>"
FAMILY = "of “most” — 👩‍👩‍👧"  #: characters of two to four bytes
DEEP = b"[" * 5000 + b"]" * 5000


def call(arguments: str, *, index: object = 0, name: object = "calculator") -> bytes:
    part = {"index": index, "id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}
    return event({"tool_calls": [part]}) + event({}, "tool_calls") + DONE


def one_by_one(data: bytes, seconds: float = 0.0) -> list[bytes | float]:
    return [step for byte in data for step in (bytes([byte]), seconds)]


#: What ends well, however oddly it is sent: the text is "whole", the reason `stop`.
WELL: Mapping[str, Steps] = {
    "no [DONE]": [SSE + WORD + STOP],
    "the reason with the last word": [SSE + event({"content": "whole"}, "stop") + DONE],
    "a reset after the reason": [SSE + WORD + STOP, CUT],
    "an event after [DONE]": [SSE + WHOLE + data({"choices": []})],
    "empty reasons before it": [SSE + event({"role": "assistant"}, "") + event({"content": "whole"}, "") + STOP + DONE],
    "no closing event, and its length": [
        head("text/event-stream", f"Content-Length: {len(WORD + STOP)}") + WORD + STOP,
    ],
    "garbage after [DONE]": [SSE + WHOLE + b"data: {not json}\n\n\xff\xfe<html>"],
    "a second finish": [SSE + WORD + STOP + STOP + DONE],
    "usage beside the finish": [
        SSE + WORD + event({}, "stop", usage={"prompt_tokens": 1, "completion_tokens": 1}) + DONE
    ],
    "byte by byte": [SSE, *one_by_one(WHOLE)],
    "a slow drip": [SSE, *one_by_one(WORD[:40], 0.004), WORD[40:] + STOP + DONE],
    "carriage returns": [SSE + WHOLE.replace(b"\n", b"\r\n")],
    "no space after data": [SSE + WHOLE.replace(b"data: ", b"data:")],
    "a byte order mark": [SSE + b"\xef\xbb\xbf" + WHOLE],
    "comments, ids and names": [
        SSE + b": hello\nid: 7\nretry: 9\nevent: message\n" + WHOLE.replace(b"\n\n", b"\n\n: ping\n\n")
    ],
    "no content type": [head("") + WHOLE],
    "a wrong content type": [head("text/plain") + WHOLE],
    "a content type in capitals": [head("TEXT/EVENT-STREAM") + WHOLE],
    "headers no server may send": [head("text/event-stream; a=\x7f", "x-request-id: a\x01b") + WHOLE],
    "called JSON": [head("application/json") + WHOLE],
    "gzip": [head("text/event-stream", "Content-Encoding: gzip") + gzip.compress(WHOLE)],
    "deflate": [head("text/event-stream", "Content-Encoding: deflate") + zlib.compress(WHOLE)],
    "chunks that split characters": [
        head("text/event-stream", "Transfer-Encoding: chunked") + chunked(*(bytes([b]) for b in WHOLE))
    ],
    "chunk extensions and trailers": [
        head("text/event-stream", "Transfer-Encoding: chunked", "Trailer: x-sum")
        + chunked(WHOLE, last=b"0\r\nx-sum: 1\r\n\r\n").replace(b"\r\n", b";a=b\r\n", 1)
    ],
    "no last chunk": [head("text/event-stream", "Transfer-Encoding: chunked") + chunked(WHOLE, last=b"")],
    "less than its length": [head("text/event-stream", "Content-Length: 99999") + WHOLE],
    "hints before it": [b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + SSE + WHOLE],
    "HTTP/1.0": [SSE.replace(b"HTTP/1.1", b"HTTP/1.0") + WHOLE],
    "a status of its own": [head(status="299 Fine") + WHOLE],
    "no choices first": [SSE + data({"choices": [], "prompt_filter_results": []}) + WHOLE],
    "nulls everywhere": [SSE + event({"role": None, "content": None, "tool_calls": None, "refusal": None}) + WHOLE],
    "a delta of null": [SSE + data({"choices": [{"index": 0, "delta": None, "finish_reason": None}]}) + WHOLE],
    "an error of null": [SSE + event({"content": "whole"}, error=None) + STOP + DONE],
    "names of the wrong type": [SSE + event({"content": "whole"}, id=7, model=None, created="now") + STOP + DONE],
    "usage of the wrong type": [SSE + WORD + event({}, "stop", usage="much") + DONE],
    "usage beyond counting": [
        SSE
        + WORD
        + event({}, "stop", usage={"prompt_tokens": 10**30, "completion_tokens": -5, "total_tokens": None})
        + DONE
    ],
    "a reason in capitals": [SSE + WORD + event({}, " STOP ") + DONE],
    "a thousand empty deltas": [SSE + event({"content": ""}) * 1000 + WHOLE],
    "another answer beside it": [
        SSE + data({"choices": [{"index": 1, "delta": {"content": "other"}, "finish_reason": None}]}) + WHOLE
    ],
}
#: The same for whole answers.
WELL_WHOLE: Mapping[str, Steps] = {
    "no content type": [head("") + GOOD],
    "a wrong content type": [head("text/html") + GOOD],
    "gzip": [head("application/json", "Content-Encoding: gzip") + gzip.compress(GOOD)],
    "byte by byte": [JSON, *one_by_one(GOOD)],
    "spaces around it": [JSON + b"\n\n  " + GOOD + b"\n\n"],
    "a byte order mark": [JSON + b"\xef\xbb\xbf" + GOOD],
    "no last chunk": [head("application/json", "Transfer-Encoding: chunked") + chunked(GOOD, last=b"")],
    "an error of null": [JSON + body({"content": "whole"}, error=None)],
    "nothing beyond the choice": [JSON + json.dumps({"choices": json.loads(GOOD)["choices"]}).encode()],
    "usage of the wrong type": [JSON + body({"content": "whole"}, usage=[1, 2])],
    "usage beyond counting": [
        JSON + body({"content": "whole"}, usage={"prompt_tokens": 10**30, "completion_tokens": -5})
    ],
    "names of the wrong type": [JSON + body({"content": "whole"}, model=7, created="now")],
    "content in parts": [JSON + body({"content": [{"type": "text", "text": "whole"}]})],
    "a reason in capitals": [JSON + body({"content": "whole"}, " STOP ")],
}
#: What breaks off after "half".
BROKEN: Mapping[str, Steps] = {
    "closed without a reason": [SSE + HALF],
    "reset without a reason": [SSE + HALF, CUT],
    "reset within a line": [SSE + HALF + WORD[:20], CUT],
    "reset within a character": [SSE + HALF + 'data: {"é'.encode()[:-1], CUT],
    "an error object": [SSE + HALF + data({"error": {"message": "overloaded", "code": 503}})],
    "an error object after the reason": [
        SSE + HALF + STOP + data({"error": {"message": "overloaded", "code": 503}}) + DONE
    ],
    "an error of words": [SSE + HALF + data({"error": "boom"}) + DONE],
    "chunks that are none": [
        head("text/event-stream", "Transfer-Encoding: chunked") + chunked(HALF, last=b""),
        0.05,
        b"zz\r\n",
    ],
    "half of a gzip": [
        head("text/event-stream", "Content-Encoding: gzip") + gzip.compress(HALF + b"x" * 9000, 0)[:200]
    ],
}
#: What is no answer at all.
NONE: Mapping[str, Steps] = {
    "a page": [head("text/html") + PAGE],
    "a page that says it is a stream": [SSE + PAGE],
    "a page that says it is JSON": [JSON + PAGE],
    "nothing": [SSE],
    "nothing of no length": [head("application/json", "Content-Length: 0")],
    "no content": [head("", status="204 No Content")],
    "no head": [b""],
    "a reset at once": [CUT],
    "no HTTP": [b"220 smtp.example ESMTP\r\n"],
    "a status that is none": [b"HTTP/1.1 banana\r\n\r\n"],
    "a head without an end": [b"HTTP/1.1 200 OK\r\n" + b"x-a: " + b"a" * 70_000],
    "gzip that is none": [head("text/event-stream", "Content-Encoding: gzip") + WHOLE],
    "a number": [JSON + b"42"],
    "an empty list": [JSON + b"[]"],
    "an empty object": [JSON + b"{}"],
    "too deep": [JSON + DEEP],
    "events that are no JSON": [SSE + b"data: {not json}\n\ndata: nor this\n\n" + DONE],
    "events that are numbers": [SSE + data(7) + data([1]) + data("x") + DONE],
    "only comments": [SSE + b": ping\n\n" * 50],
    "a redirect": [head("text/html", "Location: http://127.0.0.1:1/", status="302 Found")],
    "a refused key": [JSON.replace(b"200 OK", b"401 Unauthorized") + json.dumps({"error": {"message": "no"}}).encode()],
    "an error under 200": [JSON + json.dumps({"error": {"message": "boom", "type": "x", "code": None}}).encode()],
    "a status beyond all": [JSON.replace(b"200 OK", b"999 Request Denied") + b'{"error": {"message": "no"}}'],
    "a page under 503": [head("text/html", status="503 Service Unavailable") + PAGE],
    "choices that are none": [JSON + b'{"choices": {"a": 1}}'],
}
#: What the model means by oddly told calls, endings and texts, in `continue`.
MEANT: Mapping[str, tuple[Steps, str]] = {
    "a call without an index": ([SSE + call("{}", index=None)], "tool_calls: "),
    "a call of a huge index": ([SSE + call("{}", index=10**9)], "tool_calls: "),
    "a call that says stop": ([SSE + call("{}").replace(b'"tool_calls"}', b'"stop"}')], "tool_calls: "),
    "a reason and no call": ([SSE + WORD + event({}, "tool_calls") + DONE], "stop: whole"),
    "two reasons": ([SSE + WORD + STOP + event({}, "length") + DONE], "length: whole"),
    "a word after the reason": (
        [SSE + event({"content": "who"}) + STOP + event({"content": "le"}) + DONE],
        "stop: whole",
    ),
    "no reason but the end": ([SSE + WORD + DONE], "length: whole"),
    "a word nobody knows": ([SSE + WORD + event({}, "solar_flare") + DONE], "length: whole"),
    "a word of ten thousand letters": ([SSE + WORD + event({}, "x" * 10_000) + DONE], "length: whole"),
    "a reason that is a number": ([SSE + WORD + event({}, 7) + DONE], "length: whole"),
    "an error word": ([SSE + WORD + event({}, "network_error") + DONE], "length: whole"),
    "a native reason": (
        [
            SSE
            + WORD
            + data(
                {
                    "choices": [
                        {"index": 0, "delta": {}, "finish_reason": "stop", "native_finish_reason": "max_output_tokens"}
                    ]
                }
            )
            + DONE
        ],
        "length: whole",
    ),
    "a filter": ([SSE + WORD + event({}, "content_filter") + DONE], "content_filter: whole"),
    "a filter at once": ([SSE + event({}, "content_filter") + DONE], "content_filter: "),
    "nothing under stop": ([SSE + STOP + DONE], "stop: "),
    "nothing under no reason": ([SSE + event({}) + DONE], "error 502 empty_output"),
    "a character of nothing": ([SSE + event({"content": "a\0b"}) + STOP + DONE], "stop: a\0b"),
    "half a surrogate pair": (
        [SSE + event({"content": "x"}).replace(b'"x"', b'"a\\ud83db"') + STOP + DONE],
        "stop: a\ufffdb",
    ),
    "a split surrogate pair": (
        [
            SSE
            + event({"content": "x"}).replace(b'"x"', b'"\\ud83d"')
            + event({"content": "x"}).replace(b'"x"', b'"\\ude00"')
            + STOP
            + DONE
        ],
        "stop: 😀",
    ),
    "characters cut anywhere": (
        [SSE, *one_by_one(event({"content": "@"}, "stop").replace(b"@", FAMILY.encode()))],
        f"stop: {FAMILY}",
    ),
    "a broken call": ([SSE + call('{"expression": ')], "error 502 tool_repair_failed"),
}
