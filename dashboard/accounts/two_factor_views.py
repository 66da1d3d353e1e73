"""The second step of signing in, and two-factor authentication on the account page."""

from __future__ import annotations

from http import HTTPStatus

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from dashboard.accounts import authentication, guess_limiter, two_factor
from dashboard.accounts.access import SIGN_IN
from dashboard.accounts.authentication import TooOften
from dashboard.accounts.forms import CurrentPasswordForm, SecondFactorForm
from dashboard.accounts.guess_limiter import GuessKind, LimitReached
from dashboard.accounts.models import User
from dashboard.accounts.selectors import session_is_valid
from dashboard.accounts.sessions import SETUP, PendingSignIn, pending_sign_in, session_open
from dashboard.accounts.views import landing, user_of

WRONG = "This code is not valid. Each code of the app works once, for about a minute. Enter the one that it shows now."
WRONG_AT_SETUP = f"{WRONG} If it fails again, check that the clock of the device is set automatically."
TOO_LATE = "Signing in took too long. Enter your password again."


@never_cache
@sensitive_post_parameters("code")
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in_code(request: HttpRequest) -> HttpResponse:
    """Asks who gave a right password for a code; where two-factor authentication is required and not set up, sets it
    up first."""
    if session_is_valid(user=request.user, session=request.session):
        return redirect(landing("/"))
    pending = pending_sign_in(request)
    if pending is None:
        messages.error(request, TOO_LATE)
        return redirect(SIGN_IN)
    if two_factor.is_on(pending.user):
        return _code_step(request, pending)
    return _setup_step(request, pending)


@never_cache
@sensitive_post_parameters("password")
@require_POST
def setup_begin(request: HttpRequest) -> HttpResponse:
    """Make a secret for the app, and show it. Asks for the current password: an open browser is not enough."""
    user = user_of(request)
    form = CurrentPasswordForm(request.POST)
    password = form.cleaned_data["password"] if form.is_valid() else ""
    checked = authentication.password_checked(user, password)
    if checked is not None:
        messages.error(request, checked.sentence)
        return redirect("accounts:account")
    request.session[SETUP] = two_factor.new_secret()
    return redirect("accounts:two_factor")


@never_cache
@sensitive_post_parameters("code")
@require_http_methods(["GET", "HEAD", "POST"])
def setup(request: HttpRequest) -> HttpResponse:
    """The QR code; a code of the app turns two-factor authentication on."""
    user = user_of(request)
    if SETUP not in request.session or two_factor.is_on(user):
        return redirect("accounts:account")
    if page := _setup(request, user, reverse("accounts:two_factor")):
        return page
    update_session_auth_hash(request, user)
    return _codes_page(request, user, reverse("accounts:account"))


@never_cache
@sensitive_post_parameters("code")
@require_POST
def recovery_codes(request: HttpRequest) -> HttpResponse:
    """Replace the recovery codes."""
    return _refused(request) or _codes_page(request, user_of(request), reverse("accounts:account"))


@never_cache
@sensitive_post_parameters("code")
@require_POST
def remove(request: HttpRequest) -> HttpResponse:
    """Turn two-factor authentication off."""
    if refused := _refused(request):
        return refused
    two_factor.second_factor_remove(user=user_of(request))
    messages.success(request, "Two-factor authentication is off.")
    return redirect("accounts:account")


def _code_step(request: HttpRequest, pending: PendingSignIn) -> HttpResponse:
    problem, status = "", HTTPStatus.OK
    if request.method == "POST":
        judged = _judged(request, pending.user)
        if judged is None:
            session_open(request, pending.user)
            return redirect(landing(pending.wanted))
        problem, status = judged
    context = {"form": SecondFactorForm(), "problem": problem, "user_name": pending.user.get_username()}
    return render(request, "accounts/second_step.html", context, status=status)


def _setup_step(request: HttpRequest, pending: PendingSignIn) -> HttpResponse:
    if SETUP not in request.session:
        return redirect(SIGN_IN)
    if page := _setup(request, pending.user, reverse("accounts:sign_in_code")):
        return page
    session_open(request, pending.user)
    return _codes_page(request, pending.user, landing(pending.wanted))


def _setup(request: HttpRequest, user: User, action: str) -> HttpResponse | None:
    """The page of the QR code; None once a code of the app has turned it on."""
    problem, status, sealed = "", HTTPStatus.OK, request.session[SETUP]
    if request.method == "POST":
        counted = _counted(request, user)
        if isinstance(counted, TooOften):
            problem, status = counted.sentence, HTTPStatus.TOO_MANY_REQUESTS
        elif two_factor.second_factor_set(user=user, sealed=sealed, code=_typed(request)):
            guess_limiter.give_back(counted)
            del request.session[SETUP]
            return None
        else:
            problem, status = WRONG_AT_SETUP, HTTPStatus.UNPROCESSABLE_ENTITY
    context = {
        "form": SecondFactorForm(),
        "problem": problem,
        "action": action,
        "picture": two_factor.setup_picture(user, sealed),
        "key": two_factor.setup_key(sealed),
    }
    return render(request, "accounts/two_factor_setup.html", context, status=status)


def _judged(request: HttpRequest, user: User) -> tuple[str, HTTPStatus] | None:
    """None for a right code, else what is wrong."""
    counted = _counted(request, user)
    if isinstance(counted, TooOften):
        return counted.sentence, HTTPStatus.TOO_MANY_REQUESTS
    if not two_factor.code_redeem(user=user, code=_typed(request)):
        return WRONG, HTTPStatus.UNPROCESSABLE_ENTITY
    guess_limiter.give_back(counted)
    return None


def _counted(request: HttpRequest, user: User) -> guess_limiter.CountedGuess | TooOften:
    of_account = guess_limiter.GuessKey(GuessKind.SECOND_FACTOR, (str(user.pk),))
    keys = [*guess_limiter.keys_of(authentication.address_of(request)), of_account]
    counted = guess_limiter.count(keys, now=timezone.now())
    return authentication.too_often(counted) if isinstance(counted, LimitReached) else counted


def _typed(request: HttpRequest) -> str:
    form = SecondFactorForm(request.POST)
    return form.cleaned_data["code"] if form.is_valid() else ""


def _codes_page(request: HttpRequest, user: User, onward: str) -> HttpResponse:
    """The recovery codes, this once."""
    context = {"codes": two_factor.recovery_codes_renew(user=user), "onward": onward}
    return render(request, "accounts/recovery_codes.html", context)


def _refused(request: HttpRequest) -> HttpResponse | None:
    """None where a right code was sent along, else the way back to the account page, which says what is wrong."""
    judged = _judged(request, user_of(request))
    if judged is None:
        return None
    messages.error(request, judged[0])
    return redirect("accounts:account")
