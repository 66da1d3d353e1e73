"""The sign-in page, and the account page behind it."""

from __future__ import annotations

from http import HTTPStatus

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout, update_session_auth_hash
from django.contrib.auth.forms import SetPasswordForm
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dashboard.accounts import authentication, selectors, services, two_factor
from dashboard.accounts.access import ADMIN, HOME, SIGN_IN, first_steps, next_url
from dashboard.accounts.error_responses import forbidden
from dashboard.accounts.forms import (
    ApiTokenForm,
    ChangedPasswordForm,
    CurrentPasswordForm,
    NewPasswordForm,
    SecondFactorForm,
    SignInForm,
)
from dashboard.accounts.known_devices import device_remember
from dashboard.accounts.models import User
from dashboard.accounts.projects import NO_PROJECT
from dashboard.accounts.roles import MAKE_KEY, may
from dashboard.accounts.sessions import session_open, sign_in_pending

NO_STAFF = (
    "Your account does not have the staff status, which the admin needs. Ask an administrator, or use another account."
)
KEYS_STAY = (
    "Gateway keys stay valid when a password changes. If another person may have known the password, revoke your keys "
    "on the page “Gateway keys”."
)


@never_cache
@sensitive_post_parameters("code", "token", "password")
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """The page, the form sent, or the one-time link (`?code=…`); `next` is where to go on."""
    wanted = next_url(request, request.POST.get("next", "") or request.GET.get("next", ""))
    if selectors.session_is_valid(user=request.user, session=request.session):
        return redirect(landing(wanted))
    form = SignInForm(request.POST if request.method == "POST" else None)
    code = request.GET.get("code", "") if request.method == "GET" else ""
    if not (form.is_bound or code):
        return _sign_in_page(request, wanted)
    verdict = authentication.judge(request, form) if form.is_bound else authentication.judge_code(request, code)
    if isinstance(verdict, authentication.TooOften):
        return _too_often(request, wanted, verdict)
    if isinstance(verdict, authentication.Refused):
        status = HTTPStatus.UNAUTHORIZED if verdict.guess else HTTPStatus.BAD_REQUEST
        return _sign_in_page(request, wanted, problem=verdict.sentence, status=status)
    response = _enter(request, verdict, wanted)
    if verdict.by_password:
        device_remember(response, verdict.user.username)
    response["Referrer-Policy"] = "no-referrer"  # the address that sends on may hold the code
    return response


def _enter(request: HttpRequest, verdict: authentication.Admitted, wanted: str) -> HttpResponse:
    """Open the session, or ask for the code that has to follow a password."""
    if verdict.by_password and (settings.TWO_FACTOR_REQUIRED or two_factor.is_on(verdict.user)):
        sign_in_pending(request, verdict.user, wanted)
        return redirect("accounts:sign_in_code")
    session_open(request, verdict.user, verdict.token)
    return redirect(landing(wanted))


def landing(wanted: str) -> str:
    """Where someone goes who has signed in: the first steps in place of a timeline without turns."""
    return (first_steps.value() or wanted) if wanted == HOME else wanted


@require_safe
def admin_login(request: HttpRequest) -> HttpResponse:
    """In the place of the admin's own form, which is not shown: who is here has signed in already."""
    if not user_of(request).is_staff:
        return render(request, "403.html", {"detail": NO_STAFF}, status=HTTPStatus.FORBIDDEN)
    return redirect(next_url(request, request.GET.get("next") or ADMIN))


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End the session."""
    logout(request)
    return redirect(SIGN_IN)


@never_cache
@require_safe
def account(request: HttpRequest) -> HttpResponse:
    """The password and the tokens of the one who is signed in."""
    return _account_page(request)


@never_cache
@sensitive_post_parameters()
@require_POST
def password_change(request: HttpRequest) -> HttpResponse:
    """Set a password, or change it (which asks for the present one)."""
    form = _password_form(request, request.POST)
    if form is None:
        return _account_page(request, status=HTTPStatus.FORBIDDEN)
    user = user_of(request)
    if often := authentication.present_password(user, form):
        messages.error(request, often.sentence)
        return _account_page(request, status=HTTPStatus.TOO_MANY_REQUESTS)
    if not form.is_valid():
        return _account_page(request, password_form=form, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    services.password_set(user=user, password=form.cleaned_data["new_password1"])
    update_session_auth_hash(request, user)
    messages.success(request, "Your password is set. Your other sessions have ended.")
    if may(user, MAKE_KEY):
        messages.info(request, KEYS_STAY)
    return redirect("accounts:account")


@never_cache
@require_POST
def token_create(request: HttpRequest) -> HttpResponse:
    """Make a token of the current project and show it, this once."""
    if request.project is None:  # type: ignore[attr-defined]
        return forbidden(request, NO_PROJECT)
    parent = selectors.token_of(request.session)
    form = ApiTokenForm(request.POST, parent=parent)
    if not form.is_valid():
        return _account_page(request, token_form=form, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    lifetime = ApiTokenForm.LIFETIMES[form.cleaned_data["lifetime"]]
    expires_at = timezone.now() + lifetime if lifetime else None
    try:
        token, secret = services.api_token_create(
            form.cleaned_data["name"],
            user=user_of(request),
            expires_at=expires_at,
            scopes=form.cleaned_data["scopes"],
            parent=parent,
        )
    except services.TokenEndedError as error:
        messages.error(request, str(error))
        return redirect(SIGN_IN)
    return _account_page(request, made=token, secret=secret)


@require_POST
def token_revoke(request: HttpRequest, token_id: int) -> HttpResponse:
    """Close the door for one token; programs and sessions that use it are out at once."""
    if not selectors.api_token_known(user_of(request), token_id):
        raise Http404("There is no token with this ID among yours.")
    if services.api_token_revoke(user=user_of(request), token_id=token_id):
        messages.success(request, "The token is revoked.")
    else:
        messages.error(request, "This token was already revoked.")
    return redirect("accounts:account")


def user_of(request: HttpRequest) -> User:
    """Who is signed in."""
    user = request.user
    if not isinstance(user, User):
        message = "AccessMiddleware must stand before this view; add it to MIDDLEWARE."
        raise TypeError(message)
    return user


def _sign_in_page(request: HttpRequest, wanted: str, *, problem: str = "", status: int = HTTPStatus.OK) -> HttpResponse:
    """What was typed is not sent back, but for the name."""
    form = SignInForm(initial={"username": request.POST.get("username") or services.OPERATOR})
    context = {"form": form, "next": wanted, "problem": problem, "provider": settings.SIGN_IN_PROVIDER}
    return render(request, "accounts/sign_in.html", context, status=status)


def _too_often(request: HttpRequest, wanted: str, verdict: authentication.TooOften) -> HttpResponse:
    response = _sign_in_page(request, wanted, problem=verdict.sentence, status=HTTPStatus.TOO_MANY_REQUESTS)
    response["Retry-After"] = str(verdict.seconds)
    return response


def _password_form(request: HttpRequest, data: QueryDict | None = None) -> SetPasswordForm[User] | None:
    """The form that sets or changes the password. None: there is none yet, and a token may not set one, nor may who
    signs in with the identity provider: a password would outlive the account there."""
    user = user_of(request)
    if user.has_usable_password():
        return ChangedPasswordForm(user, data)
    if user.identities.exists():
        return None
    return NewPasswordForm(user, data) if selectors.token_of(request.session) is None else None


def _account_page(request: HttpRequest, *, status: int = HTTPStatus.OK, **context: object) -> HttpResponse:
    user = user_of(request)
    if "password_form" not in context:
        context["password_form"] = _password_form(request)
    form = ApiTokenForm(parent=selectors.token_of(request.session))
    about = {
        **_second_factor(request, user),
        "external": user.identities.exists(),
        "provider": settings.SIGN_IN_PROVIDER,
    }
    whole = {"token_form": form, "tokens": selectors.api_tokens_of(user), **about, **context}
    return render(request, "accounts/account.html", whole, status=status)


def _second_factor(request: HttpRequest, user: User) -> dict[str, object]:
    """What the page says of two-factor authentication; nothing to somebody without a password, or with a token."""
    if not user.has_usable_password() or selectors.token_of(request.session) is not None:
        return {}
    form = SecondFactorForm(auto_id="second_factor_%s")
    form.fields["code"].widget.attrs.pop("autofocus")
    password = CurrentPasswordForm(auto_id="second_factor_%s")
    told = {"on": two_factor.is_on(user), "left": user.recovery_codes.count(), "form": form, "password": password}
    return {"two_factor": told}
