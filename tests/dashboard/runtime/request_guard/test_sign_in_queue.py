"""Whoever signs in waits for one password to be checked, however many others are guessed."""

import asyncio
from typing import Any

import pytest
from django.http import HttpResponse

from dashboard.accounts.known_devices import COOKIE, device_remember
from dashboard.platform.fair_queue import FullError, QueueSize
from dashboard.runtime.request_guard.concurrency_limits import ConcurrencyLimits
from dashboard.runtime.request_guard.guard import Guard
from dashboard.runtime.request_guard.sign_in_queue import (
    SIGN_INS,
    WRONG_OF_ACCOUNT,
    WRONG_OF_ADDRESS,
    SignIn,
    SignInPlace,
    SignInQueue,
    account_in,
)

CHECKED = 0.02  #: seconds that checking a password takes here
HONEST = SignIn("192.0.2.200", "ada")


async def guessing(line: SignInQueue, number: int, account: str) -> None:
    """One of those who guess: the next, of a new address, as soon as the last was wrong."""
    for again in range(100):
        who = SignIn(f"198.51.{number}.{again}", account.format(f"{number}-{again}"))
        try:
            place = await line.enter(who)
        except FullError:
            continue
        await asyncio.sleep(CHECKED)
        place.answered(401)


async def waited(line: SignInQueue, who: SignIn = HONEST) -> float:
    """How many checks of a password somebody waited for."""
    begun = asyncio.get_running_loop().time()
    place = await line.enter(who)
    ended = asyncio.get_running_loop().time()
    place.answered(302)
    return (ended - begun) / CHECKED


@pytest.mark.parametrize("account", ["name{}", "operator", "ada"], ids=["new names", "another's name", "their name"])
async def test_a_normal_sign_in_does_not_wait_behind_40_new_addresses(account: str):
    line = SignInQueue()
    guesses = [asyncio.create_task(guessing(line, number, account)) for number in range(40)]
    await asyncio.sleep(CHECKED * 30)
    found = [await waited(line) for _ in range(3)]
    for guess in guesses:
        guess.cancel()
    await asyncio.gather(*guesses, return_exceptions=True)
    assert max(found) < 6, "40 wait before them, of whom two are checked at once"


async def test_a_guessing_address_leaves_a_slot_for_others():
    line = SignInQueue(QueueSize(places=2, of_one=2, waiting=8, waiting_of_one=8, seconds=0.05))
    for _ in range(WRONG_OF_ADDRESS):
        (await line.enter(SignIn("192.0.2.1", ""))).answered(401)
    await line.enter(SignIn("192.0.2.1", "a"))
    with pytest.raises(FullError):
        await line.enter(SignIn("192.0.2.1", "b"))
    await line.enter(HONEST)


async def test_addresses_guessing_at_one_account_leave_a_slot_for_others():
    line = SignInQueue(QueueSize(places=2, of_one=1, waiting=8, waiting_of_one=8, seconds=0.05))
    for number in range(WRONG_OF_ACCOUNT):
        (await line.enter(SignIn(f"192.0.2.{number}", "operator"))).answered(401)
    await line.enter(SignIn("192.0.2.100", "operator"))
    with pytest.raises(FullError):
        await line.enter(SignIn("192.0.2.101", "operator"))
    await line.enter(HONEST)


@pytest.mark.parametrize("status", [200, 301, 302, 400, 403], ids=lambda status: f"answered {status}")
async def test_a_success_in_between_does_not_reset_the_failures(status: int):
    """Not even their own successful sign-in: an empty form, or a right password now and then, would hide any number."""
    line = SignInQueue(QueueSize(places=2, of_one=2, waiting=8, waiting_of_one=8, seconds=0.05))
    for _ in range(WRONG_OF_ADDRESS):
        (await line.enter(SignIn("192.0.2.1", "x"))).answered(401)
        (await line.enter(SignIn("192.0.2.1", "mine"))).answered(status)
    await line.enter(SignIn("192.0.2.1", "a"))
    with pytest.raises(FullError):
        await line.enter(SignIn("192.0.2.1", "b"))


async def test_wrong_tokens_do_not_affect_others_who_sign_in_by_token():
    line = SignInQueue(QueueSize(places=2, of_one=1, waiting=8, waiting_of_one=8, seconds=0.05))
    for number in range(WRONG_OF_ACCOUNT):
        (await line.enter(SignIn(f"192.0.2.{number}", ""))).answered(401)
    await line.enter(SignIn("192.0.2.100", ""))
    await line.enter(SignIn("192.0.2.101", ""))


async def test_a_browser_used_for_this_account_before_comes_first():
    line = SignInQueue(QueueSize(places=1, of_one=1, waiting=8, waiting_of_one=8, seconds=5.0))
    inside = await line.enter(SignIn("192.0.2.1", "x"))
    known = asyncio.create_task(line.enter(SignIn("192.0.2.2", "ada", known=True)))
    await asyncio.sleep(0)
    others = [asyncio.create_task(line.enter(SignIn(f"192.0.2.{number}", "x"))) for number in range(3, 8)]
    await asyncio.sleep(0)
    inside.leave()
    (await known).leave()
    assert not any(other.done() for other in others[:-1])
    for other in others:
        other.cancel()
    await asyncio.gather(*others, return_exceptions=True)


async def test_the_browser_proves_it_by_a_cookie_for_this_account_only():
    response = HttpResponse()
    device_remember(response, "Ada")
    seen = list[SignIn]()
    one = ConcurrencyLimits()
    for account in ("ada", "grace"):
        scope = scope_of("192.0.2.1")
        scope["headers"].append((b"cookie", f"a=b; {COOKIE}={response.cookies[COOKIE].value}".encode()))
        place = await one.enter(scope, account=account)
        assert isinstance(place, SignInPlace)
        seen.append(place.who)
        place.leave()
    assert [who.known for who in seen] == [True, False]


async def test_in_a_full_queue_the_longest_waiting_request_is_refused():
    line = SignInQueue(QueueSize(places=1, of_one=1, waiting=1, waiting_of_one=1, seconds=5.0))
    inside = await line.enter(HONEST)
    first = asyncio.create_task(line.enter(SignIn("192.0.2.1", "")))
    await asyncio.sleep(0)
    second = asyncio.create_task(line.enter(SignIn("192.0.2.2", "")))
    with pytest.raises(FullError):
        await first
    inside.leave()
    (await second).leave()


async def test_a_request_abandoned_in_the_queue_keeps_no_slot():
    line = SignInQueue(QueueSize(places=1, of_one=1, waiting=4, waiting_of_one=4, seconds=5.0))
    inside = await line.enter(HONEST)
    gone = asyncio.create_task(line.enter(SignIn("192.0.2.1", "")))
    await asyncio.sleep(0)
    inside.leave()  # it is given the place, and cancelled before it has it
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    async with asyncio.timeout(1):
        (await line.enter(HONEST)).leave()


@pytest.mark.parametrize(
    ("form", "account"),
    [
        (b"username=Ada+&password=x", "ada"),
        (b"username=a&username=b", "b"),
        (b"password=x", ""),
        (b"--x\r\nContent-Disposition: form-data", ""),
        (b"&".join([b"a=b"] * 30) + b"&username=c", ""),
    ],
)
def test_the_account_is_parsed_like_django_parses_it(form: bytes, account: str):
    assert account_in(form) == account


def scope_of(address: str, method: str = "POST") -> dict[str, Any]:
    headers = [(b"host", b"whystop.example")]
    return {"type": "http", "method": method, "path": "/sign-in/", "headers": headers, "client": (address, 1)}


async def test_opening_the_page_does_not_wait_for_password_checks():
    one = ConcurrencyLimits()
    waiting = [asyncio.create_task(one.enter(scope_of(f"192.0.2.{number}"))) for number in range(40)]
    await asyncio.sleep(0)
    assert sum(task.done() for task in waiting) == SIGN_INS.places
    async with asyncio.timeout(1):
        await one.enter(scope_of("192.0.2.100", "GET"))
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_the_guard_reports_account_and_result_of_a_password_to_the_queue(
    monkeypatch: pytest.MonkeyPatch,
):
    seen = list[Any]()
    enter, leave = SignInQueue.enter, SignInQueue.leave

    async def entered(self: SignInQueue, who: SignIn) -> Any:
        seen.append(who)
        return await enter(self, who)

    def left(self: SignInQueue, who: SignIn, *, status: int | None) -> None:
        seen.append(status)
        leave(self, who, status=status)

    monkeypatch.setattr(SignInQueue, "enter", entered)
    monkeypatch.setattr(SignInQueue, "leave", left)

    async def application(_scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 401, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    pieces = iter([(b"username=A", True), (b"da&password=x", False)])

    async def receive() -> Any:
        body, more = next(pieces)
        return {"type": "http.request", "body": body, "more_body": more}

    async def send(_message: Any) -> None:
        pass

    scope = scope_of("192.0.2.7")
    scope["headers"].append((b"content-length", b"23"))
    await Guard(application)(scope, receive, send)
    assert seen == [SignIn("192.0.2.7", "ada"), 401]
