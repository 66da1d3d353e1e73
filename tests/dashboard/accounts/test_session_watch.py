"""What let somebody in, looked at again while they stay."""

import asyncio

import pytest
from channels.db import database_sync_to_async
from django.contrib.sessions.backends.db import SessionStore
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from dashboard.accounts import session_watch
from dashboard.accounts.models import ApiToken, User
from dashboard.accounts.session_watch import OpenSessions, Ticket, holder_of, ticket_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_watch, "LOOK_SECONDS", 0.02)


def test_a_ticket_is_the_token_or_otherwise_the_session(browser: Client, made: tuple[ApiToken, str], operator: User):
    by_token, by_session = (ticket_of(token=one, session=browser.session) for one in (made[0], None))
    assert (by_token.token_id, by_token.session_key) == (made[0].pk, None)
    assert holder_of(by_token) == holder_of(by_session) == operator


@pytest.mark.parametrize("ticket", [Ticket(), Ticket(0), Ticket(session_key="nobody's"), Ticket(session_key="")])
def test_an_invalid_ticket_is_refused(ticket: Ticket):
    assert holder_of(ticket) is None


def test_a_session_without_a_user_is_refused():
    session = SessionStore()
    session.create()
    assert holder_of(Ticket(session_key=session.session_key)) is None


async def test_only_connections_with_an_invalid_ticket_are_notified(made: tuple[ApiToken, str]):
    visitors, good = OpenSessions(), Ticket(made[0].pk)
    with visitors.staying(good) as one, visitors.staying(good) as other, visitors.staying(Ticket(0)) as stranger:
        await asyncio.wait_for(stranger.wait(), 60)
        assert not one.is_set()
        await database_sync_to_async(ApiToken.objects.update)(revoked_at=timezone.now())
        await asyncio.wait_for(asyncio.gather(one.wait(), other.wait()), 60)


async def test_an_unavailable_database_disconnects_nobody(monkeypatch: pytest.MonkeyPatch):
    real, asked = session_watch.worthless, asyncio.Event()

    def away_once(all_of_them):
        if not asked.is_set():
            loop.call_soon_threadsafe(asked.set)
            raise OperationalError("away")
        return real(all_of_them)

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(session_watch, "worthless", away_once)
    with OpenSessions().staying(Ticket(0)) as shown_out:
        await asyncio.wait_for(asked.wait(), 60)
        assert not shown_out.is_set()
        await asyncio.wait_for(shown_out.wait(), 60)


async def test_a_connection_opened_as_the_last_one_closes_is_still_watched():
    visitors = OpenSessions()
    with visitors.staying(Ticket(0)) as left:
        await asyncio.wait_for(left.wait(), 60)
    with visitors.staying(Ticket(0)) as shown_out:
        await asyncio.wait_for(shown_out.wait(), 60)
