"""Wrong tokens of an address are bounded; those that work are let through whatever else comes from there."""

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

from dashboard.runtime.request_guard.guess_limits import GuessCounter, GuessLimits

UNASKED = {"/healthz": 200, "/static/x.css": 200, "/v1/large": 413}  #: what is answered without a look at the token
HERE, THERE = "192.0.2.1", "2001:db8::1"


class Site:
    """An application with one token that works; it remembers what it was asked."""

    def __init__(self, most: int = 3) -> None:
        self.asked: list[str] = []
        self.closed = False
        self.application = GuessCounter(self._answer, GuessLimits(most=most))

    async def _answer(self, scope, receive, send):
        token = dict(scope["headers"]).get(b"authorization", b"").decode()
        self.asked.append(token)
        await asyncio.sleep(0)
        if scope["type"] == "websocket":
            answer = {"type": "websocket.http.response.start", "status": 401, "headers": []}
            await send({"type": "websocket.accept"} if self._good(token) else answer)
            return
        status = UNASKED.get(scope["path"]) or (200 if self._good(token) else 401)
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    def _good(self, token: str) -> bool:
        return token == "Bearer good" and not self.closed

    async def ask(
        self,
        token: str,
        path: str = "/api/v1/turns",
        *,
        address: str = HERE,
        kind: str = "http",
        named: str = "whystop.example",
        forwards: str = "",
    ) -> MutableMapping[str, Any]:
        """The first that is answered."""
        said: list[MutableMapping[str, Any]] = []

        async def send(message):
            said.append(message)

        async def receive():
            return {"type": "websocket.connect"}

        headers = [(b"authorization", f"Bearer {token}".encode())] if token else []
        headers += [(b"host", named.encode()), *([(forwards.encode(), b"192.0.2.9")] if forwards else [])]
        scope = {
            "type": kind,
            "path": path,
            "headers": headers,
            "client": (address, 1),
            "extensions": {"websocket.http.response": {}},
        }
        await self.application(scope, receive, send)
        return said[0]

    async def status(self, token: str, path: str = "/api/v1/turns", **more: Any) -> int:
        return (await self.ask(token, path, **more)).get("status", 200)


async def test_the_number_of_wrong_tokens_checked_is_limited():
    site = Site()
    assert [await site.status(f"wrong {n}") for n in range(5)] == [401] * 3 + [429] * 2
    assert len(site.asked) == 3
    assert await site.status("wrong", address=THERE) == 401
    answer = await site.ask("wrong", "/v1/models")
    assert 0 < int(dict(answer["headers"])[b"retry-after"]) <= 60
    assert await site.status("") == 401  # who sends none guesses nothing


async def test_programs_on_this_machine_are_not_counted():
    site = Site()
    assert {await site.status(f"wrong {n}", address="127.0.0.1", named="localhost:8321") for n in range(9)} == {401}


@pytest.mark.parametrize("sign", [{"forwards": "x-forwarded-for"}, {"forwards": "via"}, {"named": "whystop.example"}])
async def test_a_client_of_a_proxy_on_this_machine_is_counted(sign: dict[str, str]):
    """A tunnel or a proxy that no setting names: its clients are strangers, and count as one address."""
    site = Site()
    through = {"address": "127.0.0.1", "named": "localhost:8321"} | sign
    assert [await site.status(f"wrong {n}", **through) for n in range(5)] == [401] * 3 + [429] * 2
    assert await site.status("wrong", address="127.0.0.1", named="localhost:8321") == 401


async def test_the_limit_also_holds_for_simultaneous_attempts():
    site = Site()
    said = await asyncio.gather(*(site.status(f"wrong {n}") for n in range(40)))
    assert sorted(said) == [401] * 3 + [429] * 37


async def test_a_valid_token_keeps_working_and_allows_no_further_attempts():
    site = Site()
    for n in range(5):
        assert await site.status("good") == 200
        await site.status(f"wrong {n}")
    assert await site.status("wrong") == 429
    assert await site.status("good") == 200
    site.closed = True
    assert await site.status("good") == 401  # revoked
    assert await site.status("good") == 429


@pytest.mark.parametrize("path", UNASKED)
async def test_a_response_without_a_token_check_says_nothing_about_it(path: str):
    site = Site()
    for n in range(5):
        await site.status(f"wrong {n}", path)
    assert [await site.status(f"wrong {n}") for n in range(4)] == [401] * 3 + [429]


async def test_websockets_count_towards_the_same_limit():
    site = Site()
    for n in range(3):
        assert await site.status(f"wrong {n}", "/ws/turns/1/", kind="websocket") == 401
    answer = await site.ask("wrong", "/ws/turns/1/", kind="websocket")
    assert (answer["type"], answer["status"]) == ("websocket.http.response.start", 429)
    other = Site()
    assert (await other.ask("good", "/ws/turns/1/", kind="websocket"))["type"] == "websocket.accept"


def test_windows_expire_and_memory_is_bounded():
    guesses = GuessLimits(most=1, kept=2)
    assert guesses.add("a", "x", now=0) == 0
    assert guesses.add("a", "y", now=20) == 40
    assert guesses.add("a", "y", now=60) == 0
    for address in "bc":
        guesses.add(address, "x", now=60)
    assert guesses.add("a", "y", now=60) == 0  # the longest silent was forgotten
    for digest in "xyz":
        guesses.end("d", digest, wrong=False, right=True)
    guesses.add("e", "w", now=60)
    assert [guesses.add("e", digest, now=60) > 0 for digest in "xyz"] == [True, False, False]
