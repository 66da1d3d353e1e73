"""The simulator's addresses, as an ASGI application: `app`.

Also holds `/v1/embeddings`: a short vector for each text, the same for the same text.
"""

import asyncio
import base64
import os
import struct
import time
from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256

from dashboard.simulator import errors
from dashboard.simulator.behaviour import Behaviour, Response, Silence
from dashboard.simulator.delivery import Delivery
from dashboard.simulator.dialects import Address, find
from dashboard.simulator.dialects.base import Dialect, encoded
from dashboard.simulator.dialects.openai import OPENAI, models_reply
from dashboard.simulator.dialects.request_reader import model_of, payload_of
from dashboard.simulator.errors import Reply, RequestError
from dashboard.simulator.http_exchange import ConnectionEndedError, Exchange, Receive, Scope, Send
from dashboard.simulator.model_table import MODELS
from dashboard.simulator.request_values import SLOWEST_MS, CheckedRequest, Incoming
from dashboard.simulator.script_player import Script, speak
from dashboard.simulator.scripts import SCRIPTS, Scripts
from dashboard.simulator.texts import count_tokens

DIMENSIONS = 8


def embedded(body: bytes) -> Reply:
    """The vectors of one text or of several. Raises `RequestError`."""
    payload = payload_of(body)
    model, given = model_of(payload), payload.get("input")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise errors.wrong_type("input", "a string or an array of strings", given)
    packed = payload.get("encoding_format") == "base64"
    data = [
        {"object": "embedding", "index": index, "embedding": _packed(text) if packed else _vector(text)}
        for index, text in enumerate(texts)
    ]
    tokens = sum(count_tokens(text) for text in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return Reply(200, encoded({"object": "list", "data": data, "model": model, "usage": usage}))


def _vector(text: str) -> list[float]:
    digest = sha256(text.encode(errors="replace")).digest()
    return [byte / 256 for byte in digest[:DIMENSIONS]]


def _packed(text: str) -> str:
    return base64.b64encode(struct.pack(f"<{DIMENSIONS}f", *_vector(text))).decode()


_DEFAULT_TOKEN_MS = 8.0
LARGE = 100_000  #: bytes of a request that takes milliseconds to read; `up` serves more on this event loop
_WELCOME = (
    b"This is Whystop's simulator. It speaks OpenAI's chat completions and responses under /v1, and the formats of "
    b"Anthropic, Gemini, Bedrock, Ollama, Cohere and llama.cpp at the addresses of each.\n"
)

Handler = Callable[[Exchange], Awaitable[None]]


class Simulator:
    """The ASGI application. It keeps nothing of a request but the answers under way, and what `scripts` keeps.

    `token_ms`: the pace in milliseconds per token of models without a pace of their own.
    """

    def __init__(self, *, token_ms: float = _DEFAULT_TOKEN_MS, scripts: Scripts = SCRIPTS) -> None:
        self._token_ms = token_ms
        self._scripts = scripts
        self._under_way: set[asyncio.Future[None]] = set()
        self._addresses: Mapping[str, tuple[str, Handler]] = {
            "/": ("GET, HEAD", _welcome),
            "/v1/models": ("GET", _list_models),
            "/v1/embeddings": ("POST", _embed),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self._scripts.served_at = _address(scope) or self._scripts.served_at
            await self._answer(Exchange(scope, receive, send))
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close"})
        else:
            await self._live(receive, send)

    def hang_up(self) -> None:
        """Drops every answer under way, as a server that goes down does. Call it in the loop that serves."""
        for departure in tuple(self._under_way):
            departure.cancel()

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            event = (await receive())["type"]
            if event == "lifespan.shutdown":
                self.hang_up()
            await send({"type": f"{event}.complete"})
            if event == "lifespan.shutdown":
                return

    async def _answer(self, exchange: Exchange) -> None:
        if exchange.was_spent:
            await exchange.body()
            await exchange.hang_up()
            return
        address = find(exchange.path)
        dialect = address.dialect if address else OPENAI
        try:
            if address:
                _allow(exchange, "POST")
                await self._chat(exchange, address)
            else:
                await self._handler(exchange)(exchange)
        except RequestError as refused:
            await exchange.reply(dialect.error(refused))
        except ConnectionEndedError:
            await exchange.hang_up()

    def _handler(self, exchange: Exchange) -> Handler:
        if exchange.path not in self._addresses:
            raise errors.unknown_address(exchange.method, exchange.path)
        allowed, handler = self._addresses[exchange.path]
        _allow(exchange, allowed)
        return handler

    async def _chat(self, exchange: Exchange, address: Address) -> None:
        dialect = address.dialect
        incoming = Incoming(await exchange.body(), exchange.headers, address.place, exchange.query)
        if len(incoming.body) > LARGE:
            asked = await asyncio.to_thread(dialect.read, incoming)
        else:
            asked = dialect.read(incoming)
        if counted := dialect.counts.get(address.place.get("method") or ""):
            await exchange.reply(Reply(200, encoded({counted: asked.prompt_tokens})))
            return
        behaviour = MODELS.get(asked.model) or self._scripts.next_behaviour(asked, dialect.name)
        if behaviour is None:
            raise errors.unknown_model(asked.model)
        departure = asyncio.ensure_future(exchange.departure())
        self._under_way.add(departure)
        try:
            await _wait(behaviour.delay, departure)
            response = _response(dialect, behaviour, asked)
            if isinstance(response, Reply):
                await exchange.reply(response)
                return
            if isinstance(response, Silence):
                await asyncio.wait({departure})
                raise ConnectionEndedError
            wire = dialect.wire(asked, int(time.time()))
            await _deliver(asked, response, Delivery(exchange, wire, pace=self._pace(asked, behaviour), gone=departure))
        finally:
            self._under_way.discard(departure)
            departure.cancel()

    def _pace(self, asked: CheckedRequest, behaviour: Behaviour) -> float:
        paces = (asked.delay_ms, behaviour.token_ms, self._token_ms)
        return next(pace for pace in paces if pace is not None) / 1000


def _address(scope: Scope) -> str | None:
    """Where the request came in, if that is a port."""
    host, port = scope.get("server") or ("", None)
    if port is None:
        return None
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


async def _wait(seconds: float, departure: asyncio.Future[None]) -> None:
    """Returns after so many seconds. Raises `ConnectionEndedError` when the caller goes before."""
    if seconds > 0:
        await asyncio.wait({departure}, timeout=seconds)
        if departure.done():
            raise ConnectionEndedError


def _allow(exchange: Exchange, methods: str) -> None:
    if exchange.method not in methods.split(", "):
        raise errors.wrong_method(exchange.method, exchange.path, methods)


def _response(dialect: Dialect, behaviour: Behaviour, asked: CheckedRequest) -> Response:
    """What the model does, where the dialect has a word for it; else the error it sends instead."""
    if not behaviour.is_spoken_in(dialect.name, dialect.words):
        raise errors.not_of_this_dialect(asked.model, dialect.name)
    response = behaviour.script(asked)
    if isinstance(response, Script) and response.ending not in dialect.words:
        if response.ending not in dialect.refusals:
            raise errors.not_of_this_dialect(asked.model, dialect.name)
        raise dialect.refusals[response.ending]()
    return response


async def _deliver(asked: CheckedRequest, script: Script, delivery: Delivery) -> None:
    pieces = speak(script, asked.said, asked.budget, repeats=not asked.prefilled)
    if asked.stream:
        await delivery.stream(pieces, closes=script.closes)
    else:
        await delivery.whole(pieces, withheld_at=script.ending if script.withheld else None)


async def _welcome(exchange: Exchange) -> None:
    await exchange.reply(Reply(200, _WELCOME, "text/plain; charset=utf-8"))


async def _list_models(exchange: Exchange) -> None:
    await exchange.reply(
        models_reply(name for name, model in MODELS.items() if model.is_spoken_in(OPENAI.name, OPENAI.words))
    )


async def _embed(exchange: Exchange) -> None:
    await exchange.reply(embedded(await exchange.body()))


def _token_ms() -> float:
    value = os.environ.get("WHYSTOP_SIM_TOKEN_MS", "")
    try:
        pace = float(value or _DEFAULT_TOKEN_MS)
    except ValueError:
        pace = -1.0
    if not 0 <= pace <= SLOWEST_MS:
        problem = f"WHYSTOP_SIM_TOKEN_MS is '{value}'. Set milliseconds per token from 0 to {SLOWEST_MS:g}."
        raise SystemExit(problem)
    return pace


app = Simulator(token_ms=_token_ms())
