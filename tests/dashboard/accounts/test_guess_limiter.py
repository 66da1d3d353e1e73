"""Guesses are counted before they are judged, each once, whoever else guesses at the same moment."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from dashboard.accounts import guess_limiter, services
from dashboard.accounts.guess_limiter import (
    LIMITS,
    THIS_MACHINE,
    CountedGuess,
    GuessKey,
    GuessKind,
    LimitReached,
    count,
    give_back,
    keys_of,
)
from dashboard.accounts.models import GuessCount, User
from dashboard.runtime.request_guard.guess_limits import MOST

NOW = timezone.now()
HERE = "192.0.2.1"


def guess(address: str = HERE, account: str | None = None, *, seconds: float = 0) -> CountedGuess | LimitReached:
    return count(keys_of(address, account), now=NOW + timedelta(seconds=seconds))


@pytest.mark.django_db
def test_ten_attempts_a_minute_are_allowed_before_a_wait_until_the_window_ends():
    assert all(isinstance(guess(seconds=second), CountedGuess) for second in range(10))
    assert guess(seconds=10) == LimitReached(GuessKind.ADDRESS, 50)
    assert guess(seconds=59.5) == LimitReached(GuessKind.ADDRESS, 1)
    assert isinstance(guess(seconds=60), CountedGuess)
    assert isinstance(guess("192.0.2.2", seconds=10), CountedGuess)


@pytest.mark.django_db
def test_only_a_correct_attempt_is_refunded():
    for _ in range(9):
        guess()
    counted = guess()
    assert isinstance(counted, CountedGuess)
    assert isinstance(guess(), LimitReached)
    give_back(counted)
    assert isinstance(guess(), CountedGuess)
    assert isinstance(guess(), LimitReached)


@pytest.mark.django_db
def test_a_late_refund_does_not_apply_to_the_next_window():
    counted = guess()
    assert isinstance(counted, CountedGuess)
    for _ in range(10):
        guess(seconds=61)
    give_back(counted)
    assert isinstance(guess(seconds=62), LimitReached)


@pytest.mark.django_db
def test_attempts_refused_by_address_do_not_count_against_the_account():
    minutes = range(4)
    for minute in minutes:
        for _ in range(30):
            guess(account="operator", seconds=60 * minute)
    (most,) = GuessCount.objects.filter(key=str(GuessKey(GuessKind.ACCOUNT, ("operator",)))).values_list(
        "guesses", flat=True
    )
    assert most == LIMITS[GuessKind.PAIR].guesses


@pytest.mark.django_db
def test_an_account_is_counted_case_insensitively_and_whether_or_not_it_exists():
    names = ["Operator", "OPERATOR", "operator", "\uff4fperator"]
    assert {tuple(map(str, keys_of(HERE, name))) for name in names} == {tuple(map(str, keys_of(HERE, "operator")))}
    assert not GuessCount.objects.filter(key__contains="operator").exists()


def test_attempts_from_elsewhere_do_not_count_on_this_machine():
    assert [key.kind for key in keys_of(THIS_MACHINE, "operator")] == [GuessKind.ADDRESS, GuessKind.PAIR]
    assert [key.kind for key in keys_of(HERE, "operator")] == [GuessKind.ADDRESS, GuessKind.PAIR, GuessKind.ACCOUNT]


@pytest.mark.django_db
def test_counts_of_expired_windows_are_deleted():
    for number in range(60):
        guess(f"192.0.2.{number}", f"name {number}")
    for second in range(20):
        guess(seconds=4000 + second)
    assert GuessCount.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_ten_of_forty_simultaneous_attempts_are_checked():
    with ThreadPoolExecutor(40) as people:
        answers = list(people.map(lambda _: _alone(), range(40)))
    assert sorted(answers) == [401] * 10 + [429] * 30


def _alone() -> int:
    try:
        typed = {"username": "operator", "password": "wrong"}
        return Client().post("/sign-in/", typed, REMOTE_ADDR=HERE).status_code
    finally:
        connection.close()


@pytest.mark.django_db
def test_a_success_in_between_keeps_the_failure_count(monkeypatch: pytest.MonkeyPatch):
    user = User.objects.create(username="eve")
    services.password_set(user=user, password="a long enough sentence")
    monkeypatch.setattr(
        guess_limiter, "LIMITS", {**LIMITS, GuessKind.ADDRESS: guess_limiter.GuessLimit(1, timedelta(minutes=1))}
    )
    right = {"username": "eve", "password": "a long enough sentence"}
    assert [Client().post("/sign-in/", right, REMOTE_ADDR=HERE).status_code for _ in range(3)] == [302] * 3
    assert Client().post("/sign-in/", {**right, "password": "wrong"}, REMOTE_ADDR=HERE).status_code == 401
    assert Client().post("/sign-in/", right, REMOTE_ADDR=HERE).status_code == 429


def test_the_security_page_documents_these_limits():
    page = (Path(__file__).parents[3] / "docs" / "explanation" / "security.md").read_text()
    words = {60: "per minute", 600: "in ten minutes", 3600: "per hour"}
    said = [f"| {limit.guesses} {words[int(limit.within.total_seconds())]} |" for limit in LIMITS.values()]
    rows = [line for line in page.split("\n## Sign-in\n")[1].split("\n## ")[0].splitlines() if line.startswith("| ")]
    assert [row[row.rindex("| ", 0, -2) :] for row in rows[1:6]] == said
    assert f"| {MOST} per minute |" in rows[6]
