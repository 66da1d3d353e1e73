"""Judging what a stranger brings to the sign-in page."""

from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address

from django.contrib.auth import authenticate
from django.http import HttpRequest
from django.utils import timezone

from dashboard.accounts import services
from dashboard.accounts.forms import SignInForm
from dashboard.accounts.models import ApiToken, User
from dashboard.accounts.selectors import api_token_find

NOTHING = "Enter a one-time code or an API token, or a user name and its password."
UNREADABLE = "This is too long, or has characters that no code, token or name has."
BAD_CODE = (
    "This code or token does not work. A code works once and for 15 minutes, a token until it expires or is revoked; "
    "“manage.py sign_in_link” prints a new code."
)
FAR_CODE = (
    "This is not a working token, and one-time codes are taken only from a browser on the machine that runs Whystop. "
    "Here, use a password or an API token."
)
MISMATCH = (
    "User name and password do not match. Where no password was set yet, “manage.py sign_in_link” prints a way in."
)


@dataclass(frozen=True, slots=True)
class Admitted:
    """May come in; `token` is what the session will depend on."""

    user: User
    token: ApiToken | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """May not, with the sentence to show; `guess` when it was a wrong secret rather than an unfinished form."""

    sentence: str
    guess: bool = True


def judge(request: HttpRequest, form: SignInForm) -> Admitted | Refused:
    """A secret beats a password; a token beats a code."""
    if not form.is_valid():
        return Refused(UNREADABLE, guess=False)
    given = form.cleaned_data
    if secret := given["code"] or given["token"]:
        return judge_secret(request, secret)
    if not (given["username"] and given["password"]):
        return Refused(NOTHING, guess=False)
    user = authenticate(request, username=given["username"], password=given["password"])
    return Admitted(user) if isinstance(user, User) else Refused(MISMATCH)


def judge_secret(request: HttpRequest, secret: str) -> Admitted | Refused:
    """An API token from anywhere, or a one-time code from this machine."""
    if token := api_token_find(secret, now=timezone.now()):
        return Admitted(token.user, token)
    return judge_code(request, secret)


def judge_code(request: HttpRequest, secret: str) -> Admitted | Refused:
    """A one-time code from this machine; a far one is not even looked up. A token is none: an address that holds one
    would stay in histories and logs."""
    if not is_loopback(request):
        return Refused(FAR_CODE)
    user = services.one_time_code_redeem(secret)
    return Admitted(user) if user else Refused(BAD_CODE)


def is_loopback(request: HttpRequest) -> bool:
    """Whether the caller is on this machine; one who came through a proxy is not."""
    if "X-Forwarded-For" in request.headers or "Forwarded" in request.headers:
        return False
    try:
        address = ip_address(request.META.get("REMOTE_ADDR", ""))
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        return address.ipv4_mapped.is_loopback
    return address.is_loopback
