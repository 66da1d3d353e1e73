"""The simulator's addresses, as an ASGI application: `app`."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping

from dashboard.simulator import asked as asking
from dashboard.simulator import errors
from dashboard.simulator.asked import Asked
from dashboard.simulator.behaviours import MODELS, Behaviour
from dashboard.simulator.delivery import Delivery
from dashboard.simulator.errors import Reply, RequestError
from dashboard.simulator.exchange import ConnectionEndedError, Exchange, Receive, Scope, Send
from dashboard.simulator.speaking import Script, speak
from dashboard.simulator.wire import Wire, error_reply, models_reply

_DEFAULT_TOKEN_MS = 8.0
_WELCOME = b"This is Whystop's simulator. It speaks the OpenAI chat-completions format under /v1.\n"

Handler = Callable[[Exchange], Awaitable[None]]


class Simulator:
    """The ASGI application. It keeps nothing of a request but the answers under way.

    `token_ms`: the pace in milliseconds per token of models without a pace of their own.
    """

    def __init__(self, *, token_ms: float = _DEFAULT_TOKEN_MS) -> None:
        self._token_ms = token_ms
        self._under_way: set[asyncio.Future[None]] = set()
        self._addresses: Mapping[str, tuple[str, Handler]] = {
            "/": ("GET, HEAD", _welcome),
            "/v1/models": ("GET", _list_models),
            "/v1/chat/completions": ("POST", self._chat),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
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
        try:
            await self._handler(exchange)(exchange)
        except RequestError as refused:
            await exchange.reply(error_reply(refused))
        except ConnectionEndedError:
            await exchange.hang_up()

    def _handler(self, exchange: Exchange) -> Handler:
        if exchange.path not in self._addresses:
            raise errors.unknown_address(exchange.method, exchange.path)
        allowed, handler = self._addresses[exchange.path]
        if exchange.method not in allowed.split(", "):
            raise errors.wrong_method(exchange.method, exchange.path, allowed)
        return handler

    async def _chat(self, exchange: Exchange) -> None:
        asked = asking.read(await exchange.body(), exchange.headers)
        if asked.model not in MODELS:
            raise errors.unknown_model(asked.model)
        behaviour = MODELS[asked.model]
        script = behaviour.script(asked)
        if isinstance(script, Reply):
            await exchange.reply(script)
            return
        departure = asyncio.ensure_future(exchange.departure())
        self._under_way.add(departure)
        try:
            await _deliver(
                asked,
                script,
                Delivery(exchange, Wire(asked, int(time.time())), pace=self._pace(asked, behaviour), gone=departure),
            )
        finally:
            self._under_way.discard(departure)
            departure.cancel()

    def _pace(self, asked: Asked, behaviour: Behaviour) -> float:
        paces = (asked.delay_ms, behaviour.token_ms, self._token_ms)
        return next(pace for pace in paces if pace is not None) / 1000


async def _deliver(asked: Asked, script: Script, delivery: Delivery) -> None:
    pieces = speak(script, asked.said, asked.budget)
    if asked.stream:
        await delivery.stream(pieces)
    else:
        await delivery.whole(pieces, withheld_at=script.ending if script.withheld else None)


async def _welcome(exchange: Exchange) -> None:
    await exchange.reply(Reply(200, _WELCOME, "text/plain; charset=utf-8"))


async def _list_models(exchange: Exchange) -> None:
    await exchange.reply(models_reply(MODELS))


def _token_ms() -> float:
    value = os.environ.get("WHYSTOP_SIM_TOKEN_MS", "")
    try:
        pace = float(value or _DEFAULT_TOKEN_MS)
    except ValueError:
        pace = -1.0
    if not 0 <= pace <= asking.SLOWEST_MS:
        problem = f"WHYSTOP_SIM_TOKEN_MS is '{value}'. Set milliseconds per token from 0 to {asking.SLOWEST_MS:g}."
        raise SystemExit(problem)
    return pace


app = Simulator(token_ms=_token_ms())
