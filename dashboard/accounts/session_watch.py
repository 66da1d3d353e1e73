"""Open sockets and streams end once their token is revoked, their session is over or their account is closed.

A request is asked at the door. Sockets and streams stay open for long, so what let them in is looked at again every few
seconds, once for all that came in by the same, and at each action.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any
from uuid import UUID

import structlog
from channels.db import database_sync_to_async
from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest
from django.utils import timezone

from dashboard.accounts.models import ApiToken, User
from dashboard.accounts.projects import projects_of
from dashboard.accounts.selectors import session_is_valid
from dashboard.agents.current_project import current
from dashboard.agents.models import Project
from dashboard.platform.disconnects import CutShortError

log = structlog.get_logger(__name__)

LOOK_SECONDS = 5.0  #: between two looks


@dataclass(frozen=True, slots=True)
class Ticket:
    """What let somebody in: a token, or else a session by its key; and into which project."""

    token_id: int | None = None
    session_key: str | None = None
    project_id: UUID | None = None


def ticket_of(*, token: Any, session: Any) -> Ticket:
    """`token`: the ApiToken, or None where the session counts. The project is the current one."""
    project = current.get()
    entered = None if project is None else project.pk
    if token is None:
        return Ticket(session_key=session.session_key, project_id=entered)
    return Ticket(token_id=token.pk, project_id=entered)


def ticket_of_request(request: HttpRequest) -> Ticket:
    """By its token, or else its session."""
    return ticket_of(token=getattr(request, "auth_token", None), session=request.session)


def holder_of(ticket: Ticket) -> User | None:
    """Who it lets in now, with the rights they have now; None: nobody any more. Reads the database."""
    return _holder(ticket, projects_of)


def _holder(ticket: Ticket, entered: Callable[[User], list[Project]]) -> User | None:
    """`entered`: the projects that a user may enter."""
    user = _signed_in(ticket)
    if user is None or ticket.project_id is None:
        return user
    return user if any(project.pk == ticket.project_id for project in entered(user)) else None


def _signed_in(ticket: Ticket) -> User | None:
    if ticket.token_id is not None:
        active = ApiToken.objects.active(now=timezone.now()).select_related("user")
        token = active.filter(pk=ticket.token_id).first()
        return token.holder if token else None
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(ticket.session_key)
    user = get_user(request)
    return user if isinstance(user, User) and session_is_valid(user=user, session=request.session) else None


def worthless(tickets: Iterable[Ticket]) -> set[Ticket]:
    """Those that let nobody in any more. Reads the database, the projects once for each user."""
    entered = cache(projects_of)
    return {ticket for ticket in tickets if _holder(ticket, entered) is None}


class AccessEndedError(CutShortError):
    """Who reads a file that is being sent may not read it any more."""

    def __init__(self) -> None:
        super().__init__("The access of its reader ended.")


class OpenSessions:
    """All that stay for longer than an answer takes, by their tickets. One task looks, while there are any."""

    def __init__(self) -> None:
        self._shown_out: dict[Ticket, set[asyncio.Event]] = {}
        self._looking: asyncio.Task[None] | None = None

    @contextmanager
    def staying(self, ticket: Ticket) -> Iterator[asyncio.Event]:
        """The event that is set when the ticket is worth nothing any more."""
        event = asyncio.Event()
        self._shown_out.setdefault(ticket, set()).add(event)
        self._look_after()
        try:
            yield event
        finally:
            self._shown_out[ticket].discard(event)
            if not self._shown_out[ticket]:
                del self._shown_out[ticket]
            if not self._shown_out and self._looking is not None:
                self._looking.cancel()
                self._looking = None  # it ends later; who comes before that needs another

    def staying_by(self, ticket: Ticket) -> int:
        """The number of open sockets and streams of this ticket."""
        return len(self._shown_out.get(ticket, ()))

    def _look_after(self) -> None:
        looking = self._looking
        if looking is None or looking.done() or looking.get_loop() is not asyncio.get_running_loop():
            self._looking = asyncio.create_task(self._keep_looking())

    async def _keep_looking(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self.look()
            except Exception as error:
                # A database that is away shows nobody out.
                log.info("tickets_unreadable", error=str(error).partition("\n")[0])

    async def look(self) -> None:
        for ticket in await database_sync_to_async(worthless)(list(self._shown_out)):
            for event in self._shown_out.get(ticket, ()):
                event.set()


visitors = OpenSessions()
