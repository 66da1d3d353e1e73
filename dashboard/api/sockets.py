"""A turn watched and controlled by a program over one socket: `/ws/turns/<id>/?format=json&after=<seq>`.

Frames are JSON objects. Sent: `{type: record | draft | end, id?, data}`, the data as in the server-sent events.
Taken: `{type: "control" | "cancel", ref?, …}`, all else as in the API's call of that name; the answer is
`{type: "accepted", ref?, data: the turn}` or `{type: "refused", ref?, data: problem details}`.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager, suppress
from io import BytesIO
from typing import Any
from uuid import UUID

import structlog
from channels.generic.websocket import AsyncWebsocketConsumer
from django.core.exceptions import ValidationError
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponse, QueryDict
from django.urls import ResolverMatch, resolve

from dashboard.accounts import error_responses, roles
from dashboard.accounts.audit.middleware import AuditMiddleware
from dashboard.accounts.scopes import why_not
from dashboard.accounts.session_watch import holder_of
from dashboard.api.body_parser import MAX_BODY, TOO_LARGE
from dashboard.api.problems import problem
from dashboard.api.streaming import UnsentMessages, key_of, seq_asked
from dashboard.live.stream_limits import TooManyStreamsError
from dashboard.live.turn_events import DamagedTurnError, Follower, followed
from dashboard.platform.db_threads import COMMANDS, in_turn
from dashboard.platform.fair_queue import FullError
from dashboard.platform.strict_json import read_strictly
from dashboard.platform.unread_responses import kept_of

log = structlog.get_logger(__name__)

Application = Callable[[Any, Any, Any], Awaitable[None]]
ACTIONS = ("control", "cancel")
NOT_AN_ACTION = f"Send a JSON object whose type is one of {', '.join(ACTIONS)}."
STRANGER = 4401
COME_BACK = 1012  #: the close code after which a program connects again, with `after`
DONE = 1000
OFTEN = "Too many of your sockets send requests at once. Wait a second, then send this again."
MAX_REF = 200  #: characters


def _audited(request: ASGIRequest, found: ResolverMatch) -> HttpResponse:
    audit = AuditMiddleware(lambda _: HttpResponse())
    audit.process_view(request, found.func, found.args, found.kwargs)
    answer: HttpResponse = found.func(request, *found.args, **found.kwargs)
    audit.process_response(request, answer)
    return answer


class HungUpError(Exception):
    """The client has gone, so nothing can be sent to it."""


@contextmanager
def _to_client() -> Iterator[None]:
    """Raises `HungUpError` in place of the server's own error, which is an `OSError` (ASGI 2.4)."""
    try:
        yield
    except OSError as error:
        raise HungUpError from error


class TurnSocket(AsyncWebsocketConsumer):  # type: ignore[misc] # channels is untyped
    """One program at one turn."""

    #: None has that name. Whoever follows a turn hears of it by themselves; a layer of the socket's own, which is away,
    #: would fail it.
    channel_layer_alias = "none"

    async def connect(self) -> None:
        user = self.scope.get("user")
        if user is None or not user.is_authenticated:
            await self.close(code=STRANGER)
            return
        self.turn_id: UUID = self.scope["url_route"]["kwargs"]["turn_id"]
        await self.accept()
        refusal, follower = await self._begun()
        if refusal is not None:
            await self._turned_away(refusal)
            return
        self._task = asyncio.create_task(self._follow(follower))

    async def disconnect(self, _code: int) -> None:
        # Not kept: how it ended refers to all that was about to be sent, and would be found by a collection alone.
        task: asyncio.Task[None] | None = self.__dict__.pop("_task", None)
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def receive(self, text_data: str | None = None, **_: Any) -> None:
        """One frame of the program's. They are answered in order."""
        if text_data is None or len(text_data) > MAX_BODY:
            await self._refuse(None, problem(413, TOO_LARGE) if text_data else problem(400, NOT_AN_ACTION))
            return
        try:
            ref, answer = await in_turn(COMMANDS, self.scope["user"].pk, self._answered, text_data)
        except FullError:
            ref, answer = None, problem(429, OFTEN)
        if answer.status_code == 401:
            await self._turned_away(answer)
        elif answer.status_code < 400:
            await self._tell("accepted", answer.content.decode(), ref=ref)
        else:
            await self._refuse(ref, answer)

    def _answered(self, text: str) -> tuple[str | None, HttpResponse]:
        """The `ref` of a frame, and its answer. Called in a thread: to read a large frame takes a while."""
        try:
            asked = read_strictly(text)
        except ValueError as error:
            return None, problem(400, f"The frame is not JSON: {error}.")
        if not isinstance(asked, dict):
            asked = {}
        action, ref = asked.pop("type", None), asked.pop("ref", None)
        if action not in ACTIONS or not (ref is None or (isinstance(ref, str) and len(ref) <= MAX_REF)):
            return None, problem(400, f"{NOT_AN_ACTION} A ref is text of at most {MAX_REF} characters.")
        return ref, self._ask("POST", f"/{action}", asked)

    async def _begun(self) -> tuple[HttpResponse | None, Follower]:
        """Why the program cannot watch, if so; and where it is."""
        given = QueryDict(self.scope.get("query_string", b"").decode("latin1"))
        follower = Follower(self.turn_id)
        try:
            follower.seq = seq_asked(given.get("after") or "0")
        except ValidationError as error:
            return problem(400, " ".join(error.messages)), follower
        try:
            there = await in_turn(COMMANDS, self.scope["user"].pk, self._ask, "GET", "")
        except FullError:
            there = problem(429, OFTEN)
        return None if there.status_code < 400 else there, follower

    def _ask(self, method: str, part: str, body: Any = None) -> HttpResponse:
        """The API's own answer, so that bodies and errors are the same; no middleware is passed, so rights are asked
        here, by the same table, and the audit log is told. Called in a thread."""
        path = f"/api/v1/turns/{self.turn_id}{part}"
        sent = b"" if body is None else json.dumps(body).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(sent)).encode())]
        scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": headers}
        scope["client"] = self.scope.get("client")
        request = ASGIRequest(scope, BytesIO(sent))
        user = holder_of(self.scope["ticket"])
        if user is None:
            return problem(401, error_responses.WRONG_TOKEN)
        request.user = user
        request.auth_token = self.scope.get("auth_token")  # type: ignore[attr-defined]
        # The door has seen that no other site's page opened the socket.
        request._dont_enforce_csrf_checks = True  # type: ignore[attr-defined]
        found = request.resolver_match = resolve(path)
        permission = roles.needed(method, found.route)
        if permission is not None and not roles.may(user, permission):
            return problem(403, why_not(user, permission))
        return _audited(request, found)

    async def _follow(self, follower: Follower) -> None:
        who = key_of(self.scope["user"], self.scope.get("auth_token"))
        try:
            with UnsentMessages(kept_of(self.scope)) as untold:
                async with aclosing(followed(follower, who)) as looks:
                    async for messages in looks:
                        untold.add(messages)
                        await self._tell_all(untold)
            with _to_client():
                await self.close(code=DONE if follower.over else COME_BACK)
        except HungUpError:
            log.info("stream_ended", why="The client closed the connection.", turn=str(self.turn_id))
        except TooManyStreamsError as error:
            await self._turned_away(problem(429, str(error)))
        except DamagedTurnError as error:
            await self._turned_away(problem(409, str(error)))
        except Exception as error:
            # Whatever it was, the program connects again and misses nothing. One that has gone is told nothing: an
            # error that the task ended with would keep what was about to be sent.
            log.warning("stream_failed", error=str(error), turn=str(self.turn_id))
            with suppress(Exception):
                await self.close(code=COME_BACK)

    async def _tell_all(self, untold: UnsentMessages) -> None:
        while (frame := untold.as_frame()) is not None:
            with _to_client():
                await self.send(text_data=frame)
            untold.told()

    async def _tell(self, kind: str, data: str, *, ref: str | None) -> None:
        mark = "" if ref is None else f'"ref":{json.dumps(ref)},'
        await self.send(text_data=f'{{"type":"{kind}",{mark}"data":{data}}}')

    async def _refuse(self, ref: str | None, answer: HttpResponse) -> None:
        await self._tell("refused", answer.content.decode(), ref=ref)

    async def _turned_away(self, answer: HttpResponse) -> None:
        """Close codes of ours are 4000 and the status."""
        await self._refuse(None, answer)
        await self.close(code=4000 + answer.status_code)


def by_format(page: Application) -> Any:
    """The socket of a turn at one address: the page's, or with `?format=json` that of programs."""
    program: Application = TurnSocket.as_asgi()

    async def either(scope: Any, receive: Any, send: Any) -> None:
        given = QueryDict(scope.get("query_string", b"").decode("latin1"))
        await (program if given.get("format") == "json" else page)(scope, receive, send)

    return either
