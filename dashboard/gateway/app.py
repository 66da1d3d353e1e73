"""The gateway's addresses, as an ASGI application in front of Django's: those of its doors, and `/v1/models`.

Of all else under `/v1/` and `/v1beta/`, which clients may ask, it says that it is not here; `/v1/traces` is no address
of theirs, and goes on as it came. Strangers, and keys that have reached a limit, are answered before anything is read
of what they ask.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar
from urllib.parse import parse_qs
from weakref import WeakKeyDictionary

import structlog

from agentcore.values import replace
from dashboard.agents.schema_validation.judge_overload import JudgesBusy
from dashboard.agents.schema_validation.validator import off_loop
from dashboard.gateway import stored_responses
from dashboard.gateway.access import authentication, refusals
from dashboard.gateway.access.authentication import Caller, Refusal
from dashboard.gateway.lookups import MODELS, lookup, misplaced, refused_as, wrong_method
from dashboard.gateway.recording.recorder import Recorder
from dashboard.gateway.routing import Route, Routes
from dashboard.gateway.serving import request_relay
from dashboard.gateway.serving.call_driver import GatewayContext
from dashboard.gateway.serving.failure_response import BROKEN, BUSY, UNSTORED, send_failure
from dashboard.gateway.serving.file_requests import NOWHERE, FileRequest, connection_of, is_form, read_file_request
from dashboard.gateway.serving.gateway_call import GatewayCall
from dashboard.gateway.serving.request_body import LARGE, MOST_VALUES, MOST_VALUES_RELAYED, Receive, read_body
from dashboard.gateway.serving.request_relay import Relay, Relayed
from dashboard.gateway.serving.response_writer import JsonArrayStream, ResponseWriter, Send
from dashboard.gateway.serving.turn_setup import PreparedCall, prepare_call, refused
from dashboard.gateway.serving.uploads import UPLOADED, Uploaded, place, read_form
from dashboard.gateway.validation import schema_fault
from dashboard.gateway.wire.caller_dialect import CallerDialect, handed_up, without_key
from dashboard.gateway.wire.caller_dialects import BY_PATH, dialect_at
from dashboard.gateway.wire.faults import Fault
from dashboard.gateway.wire.gemini.address import parse_address, wants_array
from dashboard.gateway.wire.gemini.dialect import GEMINI
from dashboard.gateway.wire.parsed_request import ParsedRequest
from dashboard.gateway.wire.relay_routes import RELAYED, FileRoute, file_route, relayed_at
from dashboard.live.slots import Slots
from dashboard.live.transport import Transport
from dashboard.platform.ids import new_id

log = structlog.get_logger(__name__)

_POSTED = (*BY_PATH, *RELAYED, *sorted(UPLOADED))
_OURS, _NOT_OURS = ("/v1/", "/v1beta/"), "/v1/traces/"

Scope = MutableMapping[str, Any]
T = TypeVar("T")
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass(slots=True)
class LoopResources:
    """The gateway's resources of one event loop."""

    context: GatewayContext
    routes: Routes = field(default_factory=Routes)
    calls: set["asyncio.Task[Any]"] = field(default_factory=set)
    forms: Counter[str] = field(default_factory=Counter)  #: that are on the disk, by caller

    async def serve(self, answering: GatewayCall | Relay, receive: Receive) -> None:
        """Answer a request; it is ended where this loop stops before, or the caller's key ends."""
        task = asyncio.current_task()
        assert task is not None, "requests are tasks"
        self.calls.add(task)
        try:
            with authentication.open_call(answering.caller, lambda: answering.key_ended(task)):
                await answering.serve(receive)
        finally:
            self.calls.discard(task)


_open: WeakKeyDictionary[asyncio.AbstractEventLoop, LoopResources] = WeakKeyDictionary()


class Gateway:
    """`application` with the gateway's addresses in front of it."""

    def __init__(self, application: Application, *, passes_unstored: bool = False) -> None:
        self._application = application
        self._passes_unstored = passes_unstored

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = f"{scope['path']}/" if scope["type"] == "http" else ""
        if not path.startswith(_OURS) or path.startswith(_NOT_OURS):
            fault = misplaced(scope) if path else None
            if fault is None:
                await self._application(scope, receive, send)
            else:
                await ResponseWriter(send, _door_of(scope, path.rstrip("/"))).fault(fault)
            return
        received, door = time.monotonic(), _door_of(scope, path.rstrip("/"))
        outgoing = ResponseWriter(JsonArrayStream(send) if wants_array(path, scope["query_string"]) else send, door)
        try:
            await self._answer(scope, receive, outgoing, received)
        except JudgesBusy:
            await send_failure(outgoing, BUSY)
        except Exception:
            log.exception("gateway_failed", path=scope["path"])
            await send_failure(outgoing, BROKEN)

    async def _answer(self, scope: Scope, receive: Receive, outgoing: ResponseWriter, received: float) -> None:
        caller, path = await authentication.caller_of(scope["headers"]), scope["path"].rstrip("/")
        if isinstance(caller, Refusal):
            in_address = caller is refusals.NO_KEY and "key" in parse_qs(scope["query_string"].decode("latin-1"))
            await outgoing.fault(refused_as(refusals.KEY_IN_ADDRESS if in_address else caller))
            return
        scope["query_string"] = without_key(scope["query_string"])
        found = file_route(path)
        if found is None and path not in _POSTED and parse_address(path) is None:
            await lookup(scope, path, outgoing, caller, _POSTED)
        elif (refusal := caller.refusal()) is not None:
            await outgoing.fault(refused_as(refusal))
        elif found is not None:
            await self._file(scope, receive, outgoing, caller, found)
        elif scope["method"] != "POST":
            await outgoing.fault(wrong_method(scope, "POST"))
        elif path in UPLOADED:
            await self._upload(scope, receive, outgoing, caller, path)
        elif (reader := relayed_at(path)) is not None:
            raw = await _body_of(scope, receive, caller, most_values=MOST_VALUES_RELAYED)
            relayed = await _done(caller, partial(reader, raw), raw) if isinstance(raw, bytes) else raw
            await self._relay(scope, receive, outgoing, caller, relayed)
        else:
            await self._answer_turn(scope, receive, outgoing, caller, received)

    async def _upload(
        self, scope: Scope, receive: Receive, outgoing: ResponseWriter, caller: Caller, path: str
    ) -> None:
        """A form with a file, which is no turn either."""
        opened = await _opened()
        with place(opened.forms, str(caller.key_id or caller.user_id)) as fault:
            relayed = fault or await read_form(scope["headers"], receive, path)
            try:
                await self._relay(scope, receive, outgoing, caller, relayed)
            finally:
                if isinstance(relayed, Uploaded):
                    relayed.close()

    async def _file(
        self, scope: Scope, receive: Receive, outgoing: ResponseWriter, caller: Caller, found: FileRoute
    ) -> None:
        """A file or a batch, which names no model."""
        if scope["method"] not in found.methods:
            await outgoing.fault(wrong_method(scope, " or ".join(found.methods)))
            return
        opened = await _opened()
        name = await connection_of(scope, found, caller)
        route = name if isinstance(name, Fault) else await opened.routes.connection(caller, name)
        forms = opened.forms if is_form(scope, found) else Counter[str]()
        with place(forms, str(caller.key_id or caller.user_id)) as full:
            if isinstance(route, Fault):
                await outgoing.fault(route)
                return
            asked = full or await read_file_request(scope, receive, found)
            try:
                await self._relay(scope, receive, outgoing, caller, asked, route)
            finally:
                if isinstance(asked, FileRequest):
                    asked.close()

    async def _relay(
        self,
        scope: Scope,
        receive: Receive,
        outgoing: ResponseWriter,
        caller: Caller,
        relayed: Relayed | Fault | None,
        known: Route | None = None,
    ) -> None:
        """What is no turn. `relayed`: None where the client has gone; `known`: the route of what names no model."""
        if relayed is None:
            return
        opened = await _opened()
        route: Route | Fault = known or NOWHERE
        if isinstance(relayed, Fault):
            route = relayed
        elif not isinstance(relayed, FileRequest):
            route = await self._route(relayed.model, caller, opened)
        if isinstance(relayed, Fault) or isinstance(route, Fault):
            assert isinstance(route, Fault), "a fault of the request is one of its route"
            await outgoing.fault(route)
        elif (fault := request_relay.refused(relayed, route)) is not None:
            await outgoing.fault(fault)
        elif (refusal := await caller.admit()) is not None:
            await outgoing.fault(refused_as(refusal))
        else:
            headers = handed_up(scope["headers"], outgoing.door)
            relay = Relay(relayed, route, headers, caller, opened.context.transport, outgoing)
            await opened.serve(relay, receive)

    async def _answer_turn(
        self, scope: Scope, receive: Receive, outgoing: ResponseWriter, caller: Caller, received: float
    ) -> None:
        raw = await _body_of(scope, receive, caller)
        if raw is None:
            return
        opened = await _opened()
        asked: ParsedRequest | Fault
        if isinstance(raw, Fault):
            asked = raw
        else:
            asked = await _done(caller, partial(outgoing.door.read, raw, schema_fault), raw)
        if isinstance(asked, ParsedRequest) and outgoing.door.headers.up:
            asked = replace(asked, headers=handed_up(scope["headers"], outgoing.door))
        if isinstance(asked, ParsedRequest) and (asked.goes_on_from or asked.refers_to):
            asked = await stored_responses.with_conversation(asked, caller)
        begun = asked if isinstance(asked, Fault) else await self._begun(asked, caller, opened)
        if isinstance(begun, Fault):
            await outgoing.fault(begun)
            return
        outgoing.recorded = not (begun.asked.stream and opened.context.recorder.away)
        await opened.serve(
            GatewayCall(begun, opened.context, outgoing, received, self._passes_unstored, caller), receive
        )

    async def _begun(self, asked: ParsedRequest, caller: Caller, opened: LoopResources) -> PreparedCall | Fault:
        """The turn of a request, unless something stands against it; from here on it counts for its caller."""
        route = await self._route(asked.model, caller, opened)
        if isinstance(route, Fault):
            return route
        fault = refused(asked, route)
        if fault is None and not await opened.context.recorder.takes_more() and not self._passes_unstored:
            fault = UNSTORED
        if fault is not None:
            return fault
        prepared = await _done(caller, partial(prepare_call, new_id(), asked, route, caller), asked.raw)
        refusal = await caller.admit()
        return prepared if refusal is None else refused_as(refusal)

    async def _route(self, model: str, caller: Caller, opened: LoopResources) -> Route | Fault:
        """Where a request goes, if its caller may send it there."""
        route = await opened.routes.find(caller, model)
        if isinstance(route, Fault):
            return route
        agent = route.name if route.agent_id is not None else None
        refusal = caller.allows(agent=agent, connection=route.connection.name, model=route.model)
        return route if refusal is None else refused_as(refusal)


async def _body_of(
    scope: Scope, receive: Receive, caller: Caller, *, most_values: int = MOST_VALUES
) -> bytes | Fault | None:
    """The body, not yet parsed. Its caller may have reached a limit while it came."""
    raw = await read_body(scope["headers"], receive, most_values=most_values)
    refusal = caller.refusal() if isinstance(raw, bytes) else None
    return raw if refusal is None else refused_as(refusal)


async def _done(caller: Caller, work: Callable[[], T], body: bytes) -> T:
    """Work on a request with this body, which may judge by schemas. That on a large one keeps no event loop."""
    return await off_loop(caller.key_id or caller.user_id, work, long=len(body) > LARGE)


async def _opened() -> LoopResources:
    loop = asyncio.get_running_loop()
    opened = _open.get(loop)
    if opened is None:
        transport = Transport()
        opened = _open[loop] = LoopResources(GatewayContext(transport, Recorder(), Slots()))
        await transport.__aenter__()
    return opened


async def close() -> None:
    """End the calls of this loop that are still under way, and let go of what they shared. Call it when it stops."""
    opened = _open.pop(asyncio.get_running_loop(), None)
    if opened is not None:
        for task in opened.calls:
            task.cancel()
        await asyncio.gather(*opened.calls, return_exceptions=True)
        await opened.context.recorder.close()
        await opened.context.transport.__aexit__(None, None, None)
    await authentication.close()


def _door_of(scope: Scope, path: str) -> CallerDialect:
    """In whose form a request is answered. Google's clients ask for the list of models where OpenAI's do."""
    is_listed = f"{path}/".startswith(f"{MODELS}/") and parse_address(path) is None
    is_googles = is_listed and any(name == b"x-goog-api-key" for name, _ in scope["headers"])
    return GEMINI if is_googles else dialect_at(path)
