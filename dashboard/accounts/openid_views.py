"""Sending a browser to the OpenID Connect provider, and taking it back."""

from dataclasses import asdict
from datetime import timedelta
from functools import cache

import structlog
from django.conf import settings
from django.contrib import messages
from django.core import signing
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dashboard.accounts import authentication, guess_limiter
from dashboard.accounts.access import SIGN_IN, next_url
from dashboard.accounts.external_users import NotAdmitted, external_user_for
from dashboard.accounts.guess_limiter import LimitReached
from dashboard.accounts.openid_connect import Attempt, OpenIdClient, ProviderError
from dashboard.accounts.selectors import session_is_valid
from dashboard.accounts.sessions import session_open
from dashboard.accounts.views import landing
from dashboard.platform.sign_in_provider import SignInProvider

COOKIE = "whystop_oidc"
ATTEMPT_SECONDS = 600  #: that the provider's own pages may take
SESSION_LASTS = timedelta(hours=12)  #: after which the provider is asked again whether somebody may still sign in
FAILED = "Signing in with {name} failed. Try again. The server log has the error."
STALE = "This sign-in was started in another browser, or too long ago. Try again."
DECLINED = "{name} did not sign you in."

log = structlog.get_logger(__name__)


@never_cache
@require_safe
def begin(request: HttpRequest) -> HttpResponse:
    """To the provider. The state of the attempt is kept by the browser, in a signed cookie."""
    provider = _provider()
    wanted = next_url(request, request.GET.get("next", ""))
    if session_is_valid(user=request.user, session=request.session):
        return redirect(landing(wanted))
    redirect_uri = request.build_absolute_uri(reverse("accounts:oidc_return"))
    try:
        url, attempt = _client(provider).begin(redirect_uri=redirect_uri, wanted=wanted)
    except ProviderError as error:
        return _failed(request, provider, error)
    response = redirect(url)
    response.set_cookie(
        COOKIE,
        signing.dumps(asdict(attempt), salt=COOKIE),
        max_age=ATTEMPT_SECONDS,
        path=SIGN_IN,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
    return response


@never_cache
@require_safe
def finish(request: HttpRequest) -> HttpResponse:
    """Back from the provider, with a code."""
    provider = _provider()
    attempt = _attempt(request)
    if attempt is None or not constant_time_compare(request.GET.get("state", ""), attempt.state):
        return _refused(request, STALE)
    if request.GET.get("iss", provider.issuer).rstrip("/") != provider.issuer:
        return _refused(request, STALE)  # RFC 9207: the code is another provider's
    if "code" not in request.GET:
        return _refused(request, DECLINED.format(name=provider.name))
    if session_is_valid(user=request.user, session=request.session):
        return redirect(landing(attempt.wanted))
    counted = guess_limiter.count(guess_limiter.keys_of(authentication.address_of(request)), now=timezone.now())
    if isinstance(counted, LimitReached):
        return _refused(request, authentication.too_often(counted).sentence)
    try:
        person = _client(provider).finish(attempt, code=request.GET["code"])
        user = external_user_for(person, provider)
    except ProviderError as error:
        return _failed(request, provider, error)
    except NotAdmitted as error:
        return _refused(request, str(error))
    guess_limiter.give_back(counted)
    session_open(request, user, lasts=SESSION_LASTS)
    response = redirect(landing(attempt.wanted))
    response.delete_cookie(COOKIE, path=SIGN_IN)
    response["Referrer-Policy"] = "no-referrer"  # the address that sends on holds the code
    return response


def _provider() -> SignInProvider:
    provider: SignInProvider = settings.SIGN_IN_PROVIDER
    if not provider.issuer:
        raise Http404
    return provider


@cache
def _client_of(issuer: str, client_id: str) -> OpenIdClient:  # noqa: ARG001 - what it is remembered by
    return OpenIdClient(settings.SIGN_IN_PROVIDER)


def _client(provider: SignInProvider) -> OpenIdClient:
    return _client_of(provider.issuer, provider.client_id)


def _attempt(request: HttpRequest) -> Attempt | None:
    """What the cookie says; None where there is none, or it is too old, or not ours."""
    try:
        return Attempt(**signing.loads(request.COOKIES.get(COOKIE, ""), salt=COOKIE, max_age=ATTEMPT_SECONDS))
    except signing.BadSignature:
        return None


def _failed(request: HttpRequest, provider: SignInProvider, error: ProviderError) -> HttpResponse:
    log.warning("sign_in_provider_failed", issuer=provider.issuer, error=str(error))
    return _refused(request, FAILED.format(name=provider.name))


def _refused(request: HttpRequest, sentence: str) -> HttpResponse:
    messages.error(request, sentence)
    return redirect(SIGN_IN)
