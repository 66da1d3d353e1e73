"""Checks of the password, one-time code or token typed on the sign-in page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil

from django.contrib.auth import authenticate
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.http import HttpRequest
from django.utils import timezone

from dashboard.accounts import guess_limiter, services
from dashboard.accounts.forms import SignInForm
from dashboard.accounts.guess_limiter import GuessKind
from dashboard.accounts.models import ApiToken, User
from dashboard.accounts.selectors import api_token_find
from dashboard.platform.local_client import is_local
from dashboard.platform.trusted_proxies import customer_of

NOTHING = "Enter a one-time code or an API token, or a user name and its password."
UNREADABLE = "This is too long, or contains characters that codes, tokens and names cannot contain."
BAD_CODE = (
    "This code or token is not valid. A code works once, within 15 minutes. A token works until it expires or is "
    "revoked. "
    "“manage.py sign_in_link” prints a new code."
)
FAR_CODE = (
    "This token is not valid. One-time codes are accepted only from a browser on the machine that runs Whystop, "
    "at 127.0.0.1 or localhost and without a proxy. "
    "Here, use a password or an API token."
)
MISMATCH = (
    "User name and password do not match. If no password has been set yet, sign in with the link that “manage.py "
    "sign_in_link” prints."
)

WRONG_PASSWORD = "This is not your current password. Try again."  # noqa: S105

_CODE = "On the machine that runs Whystop, “manage.py sign_in_link” prints a link that works at once."
FULL: Mapping[GuessKind, str] = {
    GuessKind.ADDRESS: "Too many failed attempts from your address. Try again in {when}. " + _CODE,
    GuessKind.PAIR: "Too many failed attempts from your address for this user name. Try again in {when}. " + _CODE,
    GuessKind.ACCOUNT: "Too many failed attempts for this user name. Try again in {when}, or use an API token. "
    + _CODE,
    GuessKind.PASSWORD: "Too many attempts with a wrong current password. Try again in {when}.",
    GuessKind.SECOND_FACTOR: "Too many wrong codes for this account. Try again in {when}. " + _CODE,
}


@dataclass(frozen=True, slots=True)
class Admitted:
    """May come in; `token` is what the session will depend on. Only a password may have to be followed by a code."""

    user: User
    token: ApiToken | None = None
    by_password: bool = False


@dataclass(frozen=True, slots=True)
class Refused:
    """May not, with the sentence to show; `guess` when it was a wrong secret rather than an unfinished form."""

    sentence: str
    guess: bool = True


@dataclass(frozen=True, slots=True)
class TooOften:
    """Was not judged: too many guesses went before."""

    sentence: str
    seconds: int  #: until it may be tried again


def judge(request: HttpRequest, form: SignInForm) -> Admitted | Refused | TooOften:
    """A secret beats a password; a token beats a code."""
    if not form.is_valid():
        return Refused(UNREADABLE, guess=False)
    given = form.cleaned_data
    if secret := given["code"] or given["token"]:
        return judge_secret(request, secret)
    if not (given["username"] and given["password"]):
        return Refused(NOTHING, guess=False)

    def by_password() -> Admitted | Refused:
        user = authenticate(request, username=given["username"], password=given["password"])
        return Admitted(user, by_password=True) if isinstance(user, User) else Refused(MISMATCH)

    return _counted(guess_limiter.keys_of(address_of(request), given["username"]), by_password)


def judge_secret(request: HttpRequest, secret: str) -> Admitted | Refused | TooOften:
    """An API token from anywhere, or a one-time code from this machine.

    A code has 144 random bits and is not counted: whatever else was guessed, the owner gets in by a new one.
    """
    code = judge_code(request, secret)
    if isinstance(code, Admitted):
        return code

    def by_token() -> Admitted | Refused:
        token = api_token_find(secret, now=timezone.now())
        return code if token is None else Admitted(token.user, token)

    return _counted(guess_limiter.keys_of(address_of(request)), by_token)


def judge_code(request: HttpRequest, secret: str) -> Admitted | Refused:
    """A one-time code from this machine; a far one is not even looked up. A token is none: an address that holds one
    would stay in histories and logs."""
    if not is_local(request):
        return Refused(FAR_CODE)
    user = services.one_time_code_redeem(secret)
    return Admitted(user) if user else Refused(BAD_CODE)


def address_of(request: HttpRequest) -> str:
    """The client's address, by which its guesses are counted."""
    return (
        guess_limiter.THIS_MACHINE if is_local(request) else customer_of(request.META.get("REMOTE_ADDR")) or "unknown"
    )


def present_password(user: User, form: SetPasswordForm[User]) -> TooOften | None:
    """None: the form may say whether the present password in it is right. Who holds a session may guess it too."""
    if not isinstance(form, PasswordChangeForm):
        return None
    judged = _present(user, lambda: "old_password" not in form.errors)
    return judged if isinstance(judged, TooOften) else None


def password_checked(user: User, password: str) -> TooOften | Refused | None:
    """None: this is the password of the user, who is signed in."""
    return _present(user, lambda: user.check_password(password))


def _present(user: User, is_right: Callable[[], bool]) -> TooOften | Refused | None:
    counted = guess_limiter.count([guess_limiter.GuessKey(GuessKind.PASSWORD, (str(user.pk),))], now=timezone.now())
    if isinstance(counted, guess_limiter.LimitReached):
        return too_often(counted)
    if not is_right():
        return Refused(WRONG_PASSWORD)
    guess_limiter.give_back(counted)
    return None


def too_often(full: guess_limiter.LimitReached) -> TooOften:
    """What is said of it."""
    return TooOften(FULL[full.kind].format(when=_words(full.seconds)), full.seconds)


def _counted(
    keys: list[guess_limiter.GuessKey], judged: Callable[[], Admitted | Refused]
) -> Admitted | Refused | TooOften:
    counted = guess_limiter.count(keys, now=timezone.now())
    if isinstance(counted, guess_limiter.LimitReached):
        return too_often(counted)
    verdict = judged()
    if isinstance(verdict, Admitted):
        guess_limiter.give_back(counted)
    return verdict


def _words(seconds: int) -> str:
    minutes = ceil(seconds / 60)
    return f"{seconds} seconds" if minutes < 3 else f"{minutes} minutes"
