"""The transport over real sockets: connections kept, proxies used, certificates checked, waiting ended."""

import asyncio
import contextlib
import datetime
import ipaddress
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from dashboard.live.body_reader import FIRST_BYTES
from dashboard.live.transport import Head, Transport, TransportError
from tests.dashboard.raw_server import raw_server

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"
PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE")


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)


@dataclass
class Server:
    """A server that counts its connections, and keeps the first line of every request."""

    port: int = 0
    connections: int = 0
    lines: list[str] = field(default_factory=list)


Answer = Callable[[asyncio.StreamWriter], Coroutine[Any, Any, None]]


async def says_ok(writer: asyncio.StreamWriter) -> None:
    writer.write(OK)
    await writer.drain()


@contextlib.asynccontextmanager
async def serving(answer: Answer = says_ok, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    seen = Server()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.connections += 1
        with contextlib.suppress(ValueError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-len"))
                seen.lines.append(head.split(b"\r\n")[0].decode())
                await reader.readexactly(length)
                await answer(writer)

    async with raw_server(handle, tls=tls) as seen.port:
        yield seen


async def posted(transport: Transport, url: str, *, seconds: float | None = 5) -> tuple[int, bytes]:
    status, body = 0, b""
    async with contextlib.aclosing(transport.post(url, headers={}, body=b"{}", seconds=seconds)) as parts:  # type: ignore[type-var]
        async for part in parts:
            if isinstance(part, Head):
                status = part.status
            else:
                body += part
    return status, body


async def test_one_connection_serves_many_calls():
    async with serving() as server, Transport() as transport:
        for _ in range(3):
            assert await posted(transport, f"http://127.0.0.1:{server.port}/x") == (200, b"ok")
        assert (server.connections, len(server.lines)) == (1, 3)


async def hangs_up(writer: asyncio.StreamWriter) -> None:
    writer.close()


def until_asked_again() -> Answer:
    """Its first connection is closed by the second request on it."""
    answered = 0

    async def answer(writer: asyncio.StreamWriter) -> None:
        nonlocal answered
        answered += 1
        await (hangs_up if answered == 2 else says_ok)(writer)

    return answer


async def test_a_kept_connection_closed_in_the_meantime_is_not_used():
    closed = asyncio.Queue[None]()

    async def closes(writer: asyncio.StreamWriter) -> None:
        """It says nothing of that before."""
        await says_ok(writer)
        writer.close()
        await writer.wait_closed()
        closed.put_nowait(None)

    async with serving(closes) as server, Transport() as transport:
        for _ in range(5):
            assert await posted(transport, f"http://127.0.0.1:{server.port}/x") == (200, b"ok")
            await closed.get()
        assert (server.connections, len(server.lines)) == (5, 5)


async def test_a_kept_connection_that_ends_before_the_first_byte_is_retried_on_a_fresh_one():
    async with serving(until_asked_again()) as server, Transport() as transport:
        for _ in range(2):
            assert await posted(transport, f"http://127.0.0.1:{server.port}/x") == (200, b"ok")
        assert (server.connections, len(server.lines)) == (2, 3)


async def test_the_start_of_a_long_answer_is_not_delayed_by_the_rest():
    body = bytes(range(256)) * 400

    async def says_much(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()

    async with serving(says_much) as server, Transport() as transport:
        parts = transport.post(f"http://127.0.0.1:{server.port}/", headers={}, body=b"{}", seconds=5)
        came = [part async for part in parts if isinstance(part, bytes)]
    assert b"".join(came) == body
    assert len(came[0]) <= FIRST_BYTES


async def test_an_already_encoded_path_is_sent_unchanged():
    async with serving() as server, Transport() as transport:
        await posted(transport, f"http://127.0.0.1:{server.port}/model/arn%3Aaws%3Ax%2Fy%20z/converse?alt=sse")
        assert server.lines == ["POST /model/arn%3Aaws%3Ax%2Fy%20z/converse?alt=sse HTTP/1.1"]


async def test_a_proxy_from_the_environment_is_used(monkeypatch: pytest.MonkeyPatch):
    async with serving() as proxy, Transport() as transport:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        assert await posted(transport, "http://provider.example/v1/chat") == (200, b"ok")
        assert proxy.lines == ["POST http://provider.example/v1/chat HTTP/1.1"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_services_on_this_machine_are_called_without_a_proxy(monkeypatch: pytest.MonkeyPatch, host: str):
    async with serving() as proxy, serving() as direct, Transport() as transport:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        await posted(transport, f"http://{host}:{direct.port}/x")
        assert (proxy.lines, direct.lines) == ([], ["POST /x HTTP/1.1"])


async def test_an_unreachable_proxy_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    async with Transport() as transport:
        with pytest.raises(TransportError, match=r"provider\.example failed: the proxy at 127\.0\.0\.1:1"):
            await posted(transport, "http://provider.example/v1/chat")


def certificate(folder: Path) -> ssl.SSLContext:
    """A server's side of TLS, with a certificate for 127.0.0.1 that it signed itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "self")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "cert.pem").write_bytes(made.public_bytes(pem))
    (folder / "key.pem").write_bytes(secret)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context


async def test_an_untrusted_certificate_is_refused_in_a_sentence(tmp_path: Path):
    async with serving(tls=certificate(tmp_path)) as server, Transport() as transport:
        with pytest.raises(TransportError) as caught:
            await posted(transport, f"https://127.0.0.1:{server.port}/x?key=secret")
        words = f"The connection to https://127.0.0.1:{server.port} failed: its certificate is not trusted (self-signed"
        assert str(caught.value).startswith(words)
        assert "secret" not in str(caught.value)
        assert server.lines == [], "nothing was sent before the certificate was checked"


async def test_a_server_without_tls_is_recognized():
    async def plain(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with raw_server(plain) as port, Transport() as transport:
        with pytest.raises(TransportError, match="its TLS connection failed"):
            await posted(transport, f"https://127.0.0.1:{port}/x")


async def silent(writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(0)


async def begins(writer: asyncio.StreamWriter) -> None:
    writer.write(OK.replace(b"Length: 2", b"Length: 9"))
    await writer.drain()


async def breaks_off(writer: asyncio.StreamWriter) -> None:
    await begins(writer)
    writer.close()


@pytest.mark.parametrize("answer", [silent, begins])
async def test_the_time_limit_of_a_call_ends_it_at_any_stage(answer: Answer):
    async with serving(answer) as server, Transport() as transport:
        with pytest.raises(TransportError, match="did not answer in time") as caught:
            await posted(transport, f"http://127.0.0.1:{server.port}/x", seconds=0.2)
        assert caught.value.timed_out


@pytest.mark.parametrize("answer", [silent, begins])
async def test_silence_ends_a_call_and_names_its_setting(answer: Answer, settings: Any):
    settings.SILENCE_SECONDS = 0.2
    async with serving(answer) as server, Transport() as transport:
        with pytest.raises(TransportError, match=r"sent nothing for 0\.2 s \(WHYSTOP_SILENCE_SECONDS\)") as caught:
            await posted(transport, f"http://127.0.0.1:{server.port}/x", seconds=None)
        assert caught.value.timed_out


async def test_a_closed_or_refused_connection_is_not_a_timeout():
    async with serving(breaks_off) as server, Transport() as transport:
        with pytest.raises(TransportError, match="closed before the answer was whole") as caught:
            await posted(transport, f"http://127.0.0.1:{server.port}/x")
        assert not caught.value.timed_out
        with pytest.raises(TransportError, match="it refused the connection"):
            await posted(transport, "http://127.0.0.1:1/x")
        with pytest.raises(TransportError, match="its name is not known"):
            await posted(transport, "http://no-such-host.invalid/x")


async def packs_unasked(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\nContent-Length: 2\r\n\r\nhi")
    await writer.drain()


async def puts_too_much_above_it(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nX-A: " + b"a" * 20_000 + b"\r\n\r\n")
    await writer.drain()


@pytest.mark.parametrize("answer", [packs_unasked, puts_too_much_above_it])
async def test_an_unreadable_answer_is_reported_without_its_url(answer: Answer):
    async with serving(answer) as server, Transport() as transport:
        with pytest.raises(TransportError, match="its response is not valid HTTP") as caught:
            await posted(transport, f"http://127.0.0.1:{server.port}/x?key=secret")
        assert "secret" not in str(caught.value)


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"


async def breaks_its_framing(writer: asyncio.StreamWriter) -> None:
    writer.write(CHUNKED)
    await writer.drain()
    await asyncio.sleep(0.05)
    writer.write(b"zz\r\n")
    await writer.drain()


async def is_slow(writer: asyncio.StreamWriter) -> None:
    writer.write(CHUNKED)
    await writer.drain()
    await asyncio.sleep(1.2)
    writer.write(b"0\r\n\r\n")
    await writer.drain()


@pytest.mark.parametrize(
    "url", ["http://127.1:81/h?key=sekret", "http://127.0.0.1:1?key=sekret", "http://a..b/?key=sekret"]
)
async def test_a_failure_is_reported_without_the_path_and_query_of_the_url(url: str):
    async with Transport() as transport:
        with pytest.raises(TransportError) as failed:
            await posted(transport, url)
    assert str(failed.value).startswith(
        f"The connection to {url.partition('?')[0].removesuffix('/h').rstrip('/')} failed"
    )
    assert "sekret" not in str(failed.value)


async def test_a_chunk_without_a_length_ends_the_call():
    async with serving(breaks_its_framing) as server, Transport() as transport:
        with pytest.raises(TransportError, match="closed before the answer was whole"):
            await posted(transport, f"http://127.0.0.1:{server.port}/x", seconds=20)


async def test_a_slow_answer_is_awaited():
    async with serving(is_slow) as server, Transport() as transport:
        assert await posted(transport, f"http://127.0.0.1:{server.port}/x") == (200, b"hello")
