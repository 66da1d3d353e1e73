"""The transport of model calls and that of MCP servers, over real sockets: what is judged is what is connected to."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ThreadedResolver

from dashboard.live.transport import Transport, TransportError
from dashboard.platform.egress import address_check, proxies
from dashboard.platform.egress.rules import APART, Rules
from dashboard.tools.mcp.guarded_transport import GuardedTransport
from dashboard.tools.mcp.servers import Server
from dashboard.tools.mcp.session import look
from dashboard.tools.tool import ToolProblem
from tests.dashboard.raw_server import raw_server

PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


@dataclass
class Listener:
    """Counts who comes, keeps what they say, and answers all alike."""

    port: int = 0
    heads: list[str] = field(default_factory=list)


@contextlib.asynccontextmanager
async def listening(answer: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") -> AsyncIterator[Listener]:
    seen = Listener()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(answer)
        await writer.drain()

    async with raw_server(handle) as seen.port:
        yield seen


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)


async def posted(url: str, headers: dict[str, str] | None = None) -> None:
    async with Transport() as transport:
        async for _ in transport.post(url, headers=headers or {}, body=b"{}", seconds=5):
            pass


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[list[str]]]:
    """Names that resolve as an attacker wants: to the next list at each look, the last for ever."""
    known: dict[str, list[list[str]]] = {}

    def found(host: str) -> list[str]:
        answers = known[host]
        return answers.pop(0) if len(answers) > 1 else answers[0]

    async def resolve(_self: Any, host: str, port: int = 0, family: int = 0) -> list[dict[str, Any]]:
        base = {"hostname": host, "port": port, "family": socket.AF_INET, "proto": 0, "flags": 0}
        return [{**base, "host": address} for address in found(host)]

    async def getaddrinfo(_self: Any, host: str, port: int, **_: Any) -> list[Any]:
        if host not in known:
            raise socket.gaierror("not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found(host)]

    monkeypatch.setattr(ThreadedResolver, "resolve", resolve)
    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", getaddrinfo)
    return known


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "rebound.example"])
async def test_a_model_call_reaches_no_address_refused_by_the_rules(host: str, settings, names):
    names |= {"rebound.example": [["127.0.0.1"]], "localhost": [["127.0.0.1"]]}
    settings.EGRESS = APART
    async with listening() as listener:
        with pytest.raises(TransportError, match=r"may not be called: it is at this machine itself") as refused:
            await posted(f"http://{host}:{listener.port}/v1")
        assert refused.value.refused
        assert listener.heads == []


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://[fd00:ec2::254]/",
        "http://10.0.0.1/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://[2002:a9fe:a9fe::1]/",
        "http://0.0.0.0:1/",
        "https://192.168.0.1:8443/",
    ],
)
async def test_private_link_local_and_metadata_addresses_are_refused_by_default(url: str):
    with pytest.raises(TransportError, match="WHYSTOP_EGRESS does not allow"):
        await posted(url)


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "127.1", "0177.0.0.1"])
async def test_an_address_in_a_legacy_notation_reaches_nothing_refused(host: str, settings):
    settings.EGRESS = APART
    async with listening() as listener:
        with pytest.raises(TransportError):
            await posted(f"http://{host}:{listener.port}/")
        assert listener.heads == []


async def test_a_name_that_changes_after_the_check_is_connected_to_the_checked_address(settings, names):
    """Rebinding: the second look at the name would give this machine. There is no second look."""
    settings.EGRESS = Rules.read("127.0.0.1")
    names["rebound.example"] = [["127.0.0.1"], ["127.0.0.2"]]
    async with listening() as listener:
        await posted(f"http://rebound.example:{listener.port}/")
        assert len(listener.heads) == 1
        assert names["rebound.example"] == [["127.0.0.2"]], "it was resolved once"


async def test_only_the_allowed_ones_of_several_addresses_are_tried(settings, names):
    settings.EGRESS = Rules.read("127.0.0.1")
    names["both.example"] = [["127.0.0.2", "127.0.0.1"]]
    async with listening() as listener:
        await posted(f"http://both.example:{listener.port}/")
        assert len(listener.heads) == 1


async def test_a_redirect_is_not_followed():
    async with listening() as secret:
        moved = f"HTTP/1.1 307 x\r\nLocation: http://127.0.0.1:{secret.port}/\r\nContent-Length: 0\r\n\r\n"
        async with listening(moved.encode()) as listener:
            await posted(f"http://127.0.0.1:{listener.port}/", {"Authorization": "Bearer k"})
        assert secret.heads == []


async def test_netrc_credentials_are_sent_nowhere(tmp_path: Path, settings, names, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / ".netrc").write_text("default login me password s3cret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    monkeypatch.setenv("HOME", str(tmp_path))
    settings.EGRESS = Rules.read("loopback")
    names["provider.example"] = [["127.0.0.1"]]
    async with listening() as listener:
        await posted(f"http://provider.example:{listener.port}/v1")
        with contextlib.suppress(ToolProblem):
            await asyncio.to_thread(look, at(f"http://provider.example:{listener.port}/mcp"))
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{listener.port}")
        settings.EGRESS = Rules.read("public,loopback")
        names["far.example"] = [["8.8.8.8"]]
        await posted("http://far.example/v1")
        assert len(listener.heads) >= 3
        assert not [head for head in listener.heads if "authorization" in head.lower()]


async def test_a_proxy_is_not_asked_for_a_host_refused_by_the_rules(settings, names, monkeypatch: pytest.MonkeyPatch):
    """The proxy itself was chosen by whoever started Whystop, so its own address is not judged."""
    names |= {"inside.example": [["10.0.0.1"]], "far.example": [["8.8.8.8"]]}
    settings.EGRESS = Rules.read("public,!bad.example")
    async with listening() as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"http://me:pass@127.0.0.1:{proxy.port}")
        refused = ("inside.example", "169.254.169.254", "10.1.1.1", "metadata.google.internal", "bad.example")
        for host in (*refused, "2852039166"):
            with pytest.raises(TransportError, match=r"may not be called|not a canonical"):
                await posted(f"http://{host}/")
        assert proxy.heads == []
        await posted("http://far.example/a")
        await posted("http://known-to-the-proxy.example/b")
        assert [head.split()[1] for head in proxy.heads] == [
            "http://far.example/a",
            "http://known-to-the-proxy.example/b",
        ]
        assert "Proxy-Authorization: Basic bWU6cGFzcw==" in proxy.heads[0]


async def test_an_unsupported_proxy_is_reported_and_not_bypassed(settings, names, monkeypatch: pytest.MonkeyPatch):
    names["far.example"] = [["8.8.8.8"]]
    monkeypatch.setenv("HTTP_PROXY", "socks5://127.0.0.1:1")
    with pytest.raises(TransportError, match=r"HTTP_PROXY must be an http:// or https:// address"):
        await posted("http://far.example/")


def at(url: str) -> Server:
    return Server("rogue", "http", url, "", (), "", "Authorization", 3.0, stdio_allowed=False)


@pytest.mark.parametrize("host", ["127.0.0.1", "[::ffff:127.0.0.1]", "rebound.example", "2130706433", "127.1"])
async def test_the_same_rules_apply_to_an_mcp_server(host: str, settings, names):
    names["rebound.example"] = [["127.0.0.1"]]
    settings.EGRESS = APART
    async with listening() as listener:
        with pytest.raises(ToolProblem, match="may not be called: it is at this machine itself"):
            await asyncio.to_thread(look, at(f"http://{host}:{listener.port}/mcp"))
        assert listener.heads == []


async def test_a_redirect_of_an_mcp_server_to_another_host_is_not_followed(settings):
    async with listening() as secret:
        moved = f"HTTP/1.1 307 x\r\nLocation: http://127.0.0.1:{secret.port}/\r\nContent-Length: 0\r\n\r\n"
        async with listening(moved.encode()) as listener:
            with pytest.raises(ToolProblem):
                await asyncio.to_thread(look, at(f"http://127.0.0.1:{listener.port}/mcp"))
        assert secret.heads == []


async def test_an_mcp_server_is_called_by_name_at_the_checked_address(settings, names):
    import httpx2

    settings.EGRESS = Rules.read("127.0.0.1")
    names["rebound.example"] = [["127.0.0.2", "127.0.0.1"], ["127.0.0.3"]]
    async with listening() as listener, httpx2.AsyncClient(transport=GuardedTransport(), trust_env=False) as client:
        answer = await client.post(f"http://rebound.example:{listener.port}/mcp", json={})
        assert answer.text == "ok"
        assert f"host: rebound.example:{listener.port}" in listener.heads[0].lower()


@pytest.mark.parametrize("url", ["unix:///run/docker.sock", "http+unix://%2Frun%2Fdocker.sock/", "file:///etc/passwd"])
async def test_a_unix_socket_or_a_file_is_not_a_valid_url(url: str):
    with pytest.raises(TransportError):
        await posted(url)


@pytest.mark.parametrize("host", ["localhost.", "LOCALHOST", "model.localhost.", "127.0.0.1"])
def test_this_machine_is_called_directly_in_any_spelling(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")

    assert proxies.proxy_for(f"http://{host}:8000/v1") is None


async def test_a_proxy_is_not_used_for_a_name_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    async def resolved(_host: str, _port: int) -> tuple[str, ...]:
        return ("127.0.0.1",)

    monkeypatch.setattr(address_check, "resolved", resolved)

    assert await address_check.refusal_by_proxy("near.example", 8000) == address_check.OF_THE_PROXY
