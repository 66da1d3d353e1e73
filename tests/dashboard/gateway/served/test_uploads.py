"""Forms with files go through as they are, for the model that was meant, and memory does not grow with them."""

import asyncio
import io
import resource
from collections import Counter

import pytest
from aiohttp import web

from dashboard.gateway.models import GatewayCall
from dashboard.gateway.serving import uploads
from tests.dashboard.serving import provider_of
from tests.together import together

BOUNDARY = "----x7"
SOUND = bytes(range(256)) * 300 + b"\r\n--" + BOUNDARY.encode()[:4] + b"\r\n\r\n"


def part(name: str, value: bytes, more: str = "") -> bytes:
    return f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n'.encode() + value + b"\r\n"


def sound(value: bytes = SOUND) -> bytes:
    return part("file", value, '; filename="a name=b.mp3"\r\nContent-Type: audio/mpeg')


def form(*parts: bytes) -> bytes:
    return b"".join(parts) + f"--{BOUNDARY}--\r\n".encode()


@pytest.fixture
def heard(connected):
    """What a provider was sent: its path, fields and content type."""
    asked: list[tuple[str, dict[str, bytes | str], str]] = []

    async def answer(request: web.Request) -> web.Response:
        fields: dict[str, bytes | str] = {}
        async for one in await request.multipart():
            fields[one.name] = bytes(await one.read()) if one.filename else await one.text()
        asked.append((request.path, fields, request.headers["content-type"]))
        return web.json_response(
            {"text": "Hello.", "usage": {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11}}
        )

    with provider_of(answer, most=2**27) as address:
        connected("openai", name="voices", base_url=address)
        yield asked


@pytest.fixture
def send(gate, watched):
    def make(body: bytes, path: str = "/v1/audio/transcriptions", **headers: str):
        kind = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
        return gate.send("POST", path, body, {**kind, **headers})

    return make


@pytest.mark.parametrize("path", sorted(uploads.UPLOADED))
def test_a_form_is_forwarded_with_its_file_wherever_its_model_field_is(send, heard, path):
    for parts in ((sound(), part("model", b"voices/whisper-1")), (part("model", b"voices/whisper-1"), sound())):
        answer = send(form(part("language", "fr-é".encode()), *parts), path)
        assert (answer.status, answer.json["text"]) == (200, "Hello.")
    for went, fields, _ in heard:
        assert went == path.removeprefix("/v1")
        assert fields == {"model": "whisper-1", "language": "fr-é", "file": SOUND}
    assert not GatewayCall.objects.exists()


def named(disposition: str) -> bytes:
    return f"--{BOUNDARY}\r\n{disposition}\r\n\r\nvoices/other\r\n".encode()


@together
@pytest.mark.parametrize(
    "disposition",
    [
        'Content-Disposition: form-data; name="a"\r\nContent-Disposition: form-data; name="model"',
        "Content-Disposition: form-data; name=\"a\"; name*=utf-8''model",
        'Content-Disposition: form-data; name*0="mo"; name*1="del"',
        'Content-Disposition: form-data; name="a"; name="model"',
        'Content-Disposition: attachment; name="model"',
        "Content-Disposition: form-data; name=model",
        "Content-Disposition: form-data",
        "X-Nothing: model",
    ],
)
def test_a_part_that_a_provider_might_read_as_another_model_is_refused(send, heard, disposition):
    assert send(form(part("model", b"voices/whisper-1"), sound(), named(disposition))).status == 400
    assert not heard


def test_a_boundary_inside_a_file_splits_nothing_with_any_line_ending(send, heard):
    """As a provider may read them that takes a single line feed for the end of a line."""
    inner = f'x\n--{BOUNDARY}\nContent-Disposition: form-data; name="model"\n\nvoices/other\n'.encode()
    assert send(form(part("model", b"voices/whisper-1"), sound(inner))).status == 200
    ((_, fields, kind),) = heard
    assert fields == {"model": "whisper-1", "file": inner}
    assert BOUNDARY not in kind


@together
@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (form(sound()), {}, 400),
        (form(sound(), part("model", b"nobody")), {}, 404),
        (form(sound(), part("model", b"voices/w"))[:-10], {}, 400),
        (form(sound(), part("model", b"m" * 3000)), {}, 400),
        (b"nothing of the kind", {}, 400),
        (b"", {}, 400),
        (form(*(part(f"a{n}", b"") for n in range(300))), {}, 400),
        (form(part("model", b"\xff\xfe")), {}, 400),
        (b"{}", {"Content-Type": "application/json"}, 415),
        (form(sound()), {"Content-Type": "multipart/form-data"}, 415),
        (form(sound()), {"Content-Encoding": "gzip"}, 415),
    ],
)
def test_an_invalid_form_for_a_model_is_refused_with_an_explanation(send, heard, body, headers, status):
    answer = send(body, **headers)
    assert answer.status == status
    assert answer.json["error"]["message"]
    assert not heard


def test_a_large_form_takes_little_memory_and_an_oversized_one_is_refused(send, heard, monkeypatch):
    send(form(sound(), part("model", b"voices/w")))
    large = form(sound(b"x" * 60_000_000), part("model", b"voices/w"))
    kept: list[int] = []
    read_form = uploads.read_form

    async def noted(*args):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        read = await read_form(*args)
        kept.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
        return read

    monkeypatch.setattr("dashboard.gateway.app.read_form", noted)
    assert send(large).status == 200
    assert len(heard[-1][1]["file"]) == 60_000_000
    assert kept[0] < 30_000  # KiB; the form has twice as many
    monkeypatch.setattr(uploads, "MOST_BYTES", 1_000_000)
    assert send(large).status == 413


def test_uploads_per_caller_are_limited_without_affecting_others():
    taken: Counter[str] = Counter()
    taken["a"] = uploads.OF_ONE
    with uploads.place(taken, "a") as fault:
        assert fault is not None
        assert fault.status == 503
    with uploads.place(taken, "b") as fault:
        assert fault is None
        assert taken["b"] == 1
    assert taken["b"] == 0


def test_a_form_can_be_sent_again_from_its_start():
    uploaded = uploads.Uploaded("m", "/x", b"b", io.BytesIO(b"parts"))
    pieces = uploaded.wire("other", "")

    async def read() -> bytes:
        return b"".join([piece async for piece in pieces.read()])

    assert asyncio.run(read()) == asyncio.run(read())
    assert len(asyncio.run(read())) == len(pieces)
