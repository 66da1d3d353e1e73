import pytest
from channels.db import aclose_old_connections, database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.test import Client
from django.utils import timezone

from dashboard.accounts.models import ApiToken, User
from dashboard.accounts.selectors import SESSION_TOKEN
from dashboard.accounts.session_watch import visitors
from dashboard.accounts.websocket import AccessStack
from tests.dashboard.live_sockets import Dialled

pytestmark = pytest.mark.django_db(transaction=True)


class Greeter(AsyncWebsocketConsumer):
    async def connect(self) -> None:
        await self.accept()
        await self.send(text_data=self.scope["user"].username)


def guarded() -> AccessStack:
    return AccessStack(Greeter.as_asgi())


def dial(*headers: tuple[str, str], path: str = "/ws/timeline/", door: AccessStack | None = None) -> Dialled:
    raw = [(name.encode(), value.encode()) for name, value in (("host", "testserver"), *headers)]
    return Dialled(door or guarded(), path, headers=raw)


async def answer(socket: Dialled) -> str | int:
    accepted, code = await socket.connect()
    said = await socket.receive_from() if accepted else code
    await socket.disconnect()
    await aclose_old_connections()  # the communicator keeps them open
    return said


def cookie(client: Client) -> tuple[str, str]:
    return "cookie", f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"


async def test_a_session_of_this_origin_is_accepted(browser: Client):
    assert await answer(dial(cookie(browser), ("origin", "http://testserver"))) == "operator"


@pytest.mark.parametrize("origin", ["http://elsewhere.example", "http://testserver:81", "null", ""])
async def test_a_session_used_by_a_page_of_another_origin_is_refused(browser: Client, origin: str):
    assert await answer(dial(cookie(browser), ("origin", origin))) == 4401


@pytest.fixture
def leased(browser: Client, made: tuple[ApiToken, str]) -> Client:
    """A browser whose session was opened with a token."""
    session = browser.session
    session[SESSION_TOKEN] = made[0].pk
    session.save()
    return browser


async def test_a_session_whose_token_was_revoked_is_refused(leased: Client):
    assert await answer(dial(cookie(leased), ("origin", "http://testserver"))) == "operator"
    await database_sync_to_async(ApiToken.objects.update)(revoked_at=timezone.now())
    assert await answer(dial(cookie(leased), ("origin", "http://testserver"))) == 4401


async def test_a_bearer_token_is_accepted_from_anywhere(token: str):
    assert await answer(dial(("authorization", f"Bearer {token}"))) == "operator"


async def test_an_invalid_token_is_refused_despite_a_session(browser: Client):
    wrong = ("authorization", "Bearer wrong")
    assert await answer(dial(wrong, cookie(browser), ("origin", "http://testserver"))) == 4401


async def test_unauthenticated_visitors_and_tokens_in_the_url_are_refused(token: str):
    assert await answer(dial(("origin", "http://testserver"))) == 4401
    assert await answer(dial(("origin", "http://testserver"), path=f"/ws/timeline/?token={token}")) == 4401


async def test_a_server_that_can_answer_the_handshake_says_401(operator: User):
    socket = dial(("origin", "http://testserver"))
    socket.scope["extensions"] = {"websocket.http.response": {}}
    await socket.send_input({"type": "websocket.connect"})
    assert (await socket.receive_output())["status"] == 401
    assert not (await socket.receive_output())["more_body"]
    await socket.wait()


def revoke(_: Client) -> None:
    ApiToken.objects.update(revoked_at=timezone.now())


def close_account(_: Client) -> None:
    User.objects.update(is_active=False)


def sign_out(browser: Client) -> None:
    browser.session.flush()


def change_password(_: Client) -> None:
    user = User.objects.get()
    user.set_password("another word for it")
    user.save()


@pytest.mark.parametrize(
    ("by_token", "end"),
    [(True, revoke), (True, close_account), (False, sign_out), (False, close_account), (False, change_password)],
)
async def test_a_socket_is_closed_when_its_access_ends(by_token: bool, end, browser: Client, token: str):
    mine = [("authorization", f"Bearer {token}")] if by_token else [cookie(browser), ("origin", "http://testserver")]
    socket, look = dial(*mine), visitors.look
    assert (await socket.connect())[0]
    await socket.receive_from()
    await look()
    assert await socket.receive_nothing()
    await database_sync_to_async(end)(browser)
    await look()
    assert await socket.receive_output() == {"type": "websocket.close", "code": 4401}
    await socket.wait()
    await aclose_old_connections()


async def test_the_number_of_sockets_per_token_is_limited_without_affecting_other_tokens(
    token: str, browser: Client, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("dashboard.accounts.websocket.MOST", 2)
    bearer = ("authorization", f"Bearer {token}")
    first, second = dial(bearer), dial(bearer)
    assert (await first.connect())[0]
    assert (await second.connect())[0]
    assert await answer(dial(bearer)) == 4401
    assert await answer(dial(cookie(browser), ("origin", "http://testserver"))) == "operator"
    await first.disconnect()
    assert await answer(dial(bearer)) == "operator"
    await second.disconnect()
    await aclose_old_connections()


async def test_the_number_of_sockets_over_all_tokens_and_sessions_of_a_user_is_limited(
    token: str, browser: Client, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("dashboard.accounts.websocket.MOST_OF_USER", 2)
    bearer, session = ("authorization", f"Bearer {token}"), (cookie(browser), ("origin", "http://testserver"))
    door = guarded()
    first, second = dial(bearer, door=door), dial(*session, door=door)
    assert (await first.connect())[0]
    assert (await second.connect())[0]
    assert await answer(dial(*session, door=door)) == 4401
    await first.disconnect()
    assert await answer(dial(*session, door=door)) == "operator"
    await second.disconnect()
    await aclose_old_connections()
