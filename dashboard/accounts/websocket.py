"""The door of every socket: a session of this very origin, or a bearer token; never a token in the address."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from channels.auth import AuthMiddlewareStack
from channels.db import database_sync_to_async
from django.conf import settings
from django.utils import timezone

from dashboard.accounts import scopes, services
from dashboard.accounts.access import notify_scope
from dashboard.accounts.credentials import bearer_of
from dashboard.accounts.projects import project_of_session, project_of_token, projects_of
from dashboard.accounts.selectors import api_token_find, session_is_valid
from dashboard.accounts.session_watch import ticket_of, visitors
from dashboard.agents.current_project import current

if TYPE_CHECKING:
    from dashboard.accounts.models import ApiToken
    from dashboard.agents.models import Project

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST = 1_000  #: sockets and streams that one token or session has open in one process
MOST_OF_USER = 2_000  #: sockets of all tokens and sessions of one user, in each process
STRANGER, TOO_MANY, NO_PLACE, FORBIDDEN = 401, 429, 503, 403
SESSION = f"{settings.SESSION_COOKIE_NAME}="
REFUSED = 4401  #: the close code, of who is shown out, and where the server cannot answer the handshake itself
SERVER_SEND = "whystop.send"  #: in the scope: how the server itself is written to
_LATER = ((b"retry-after", b"60"),)
_WHY = {TOO_MANY: _LATER, NO_PLACE: _LATER, STRANGER: ((b"www-authenticate", b'Bearer realm="whystop"'),)}
DENIAL = "websocket.http.response"  #: the ASGI extension by which it can


class AccessStack:
    """Wraps the socket router: strangers get 401 before it sees them; others come with `scope["user"]`, with
    `scope["auth_token"]` where a token let them in, and with `scope["ticket"]`. When that is worth nothing any more,
    the socket is closed."""

    def __init__(self, inner: Application) -> None:
        self._inner = inner
        self._of: Counter[int] = Counter()  #: sockets that are open, by user
        self._sessions = AuthMiddlewareStack(self._by_session)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        secret = bearer_of(_header(scope, b"authorization"))
        if secret is not None:  # whose session it may have besides is never asked
            await self._by_token(secret, scope, receive, send)
        elif SESSION in _header(scope, b"cookie"):
            await self._sessions({**scope, SERVER_SEND: send}, receive, send)
        else:
            await deny(scope, receive, send)  # without asking in a thread who that is

    async def _by_token(self, secret: str, scope: Scope, receive: Receive, send: Send) -> None:
        token, project = await database_sync_to_async(_token_of)(secret)
        if token is None or project is None:
            await deny(scope, receive, send, FORBIDDEN if token else STRANGER)
            return
        current.set(project)
        let_in = {"user": token.holder, "auth_token": token, "ticket": ticket_of(token=token, session=None)}
        await self._enter({**scope, **let_in}, receive, send)

    async def _by_session(self, scope: Scope, receive: Receive, _send: Send) -> None:
        # Sessions wrap each message to save what changed; a socket changes no session, and there are many messages.
        send: Send = scope.pop(SERVER_SEND)
        if not (_is_same_origin(scope) and await database_sync_to_async(_has_session)(scope)):
            await deny(scope, receive, send)
            return
        project = await database_sync_to_async(_project_of)(scope)
        if project is None:
            await deny(scope, receive, send, FORBIDDEN)
            return
        current.set(project)
        await self._enter({**scope, "ticket": ticket_of(token=None, session=scope["session"])}, receive, send)

    async def _enter(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Somebody with this ticket, unless they may not read or have too many sockets already."""
        if scopes.lacks(scope["user"], scopes.Scope.READ):
            await deny(scope, receive, send, FORBIDDEN)
            return
        user = scope["user"].pk
        notify_scope(scope, f"{'token' if scope.get('auth_token') else 'session'} of user {user}")
        if visitors.staying_by(scope["ticket"]) >= MOST or self._of[user] >= MOST_OF_USER:
            await deny(scope, receive, send, TOO_MANY)
            return
        with visitors.staying(scope["ticket"]) as shown_out, self._counted(user):
            await self._inner(scope, _until(shown_out, receive, send), send)

    @contextmanager
    def _counted(self, user: int) -> Iterator[None]:
        self._of[user] += 1
        try:
            yield
        finally:
            self._of[user] -= 1
            self._of += Counter()  # who has none is forgotten


def _until(shown_out: asyncio.Event, receive: Receive, send: Send) -> Receive:
    """What the socket says, until it is shown out: then it is closed, and has left."""

    async def either() -> MutableMapping[str, Any]:
        said, leaving = asyncio.ensure_future(receive()), asyncio.create_task(shown_out.wait())
        try:
            await asyncio.wait({said, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if said.done():
                return said.result()
            await send({"type": "websocket.close", "code": REFUSED})
            return {"type": "websocket.disconnect", "code": REFUSED}
        finally:
            said.cancel()
            leaving.cancel()

    return either


def _token_of(secret: str) -> tuple[ApiToken | None, Project | None]:
    """The token, and the project that it opens; None: its user may not enter that any more."""
    now = timezone.now()
    token = api_token_find(secret, now=now)
    if token is None:
        return None, None
    services.api_token_used(token, now=now)
    return token, project_of_token(token, projects_of(token.user))


def _has_session(scope: Scope) -> bool:
    return session_is_valid(user=scope["user"], session=scope["session"])


def _project_of(scope: Scope) -> Project | None:
    return project_of_session(scope["session"], projects_of(scope["user"]))


def _is_same_origin(scope: Scope) -> bool:
    """A browser sends cookies with any page's socket; only our own pages may use them."""
    return bool(host := _header(scope, b"host")) and urlsplit(_header(scope, b"origin")).netloc == host


def _header(scope: Scope, name: bytes) -> str:
    return next((value.decode("latin1") for key, value in scope["headers"] if key.lower() == name), "")


async def deny(scope: Scope, receive: Receive, send: Send, status: int = STRANGER) -> None:
    """Answer a handshake with this status."""
    await receive()  # the handshake's `websocket.connect`
    if DENIAL not in (scope.get("extensions") or {}):
        await send({"type": "websocket.close", "code": REFUSED})
        return
    headers = [*_WHY.get(status, ()), (b"cache-control", b"private, no-store"), (b"content-length", b"0")]
    await send({"type": "websocket.http.response.start", "status": status, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": b"", "more_body": False})
