"""Signing in with an OpenID Connect provider: the authorization code flow with PKCE, state and nonce, by Authlib.

The provider's metadata and keys are fetched once and kept for an hour. Whoever it names is looked up by issuer and
subject, never by a name or an e-mail address: those can be taken by somebody else.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from authlib.integrations.base_client import BaseApp, OAuthError
from authlib.integrations.base_client.sync_app import OAuth2Mixin
from authlib.integrations.base_client.sync_openid import OpenIDMixin
from joserfc.errors import JoseError
from requests import ConnectionError as RequestsConnectionError
from requests import RequestException, Timeout

from agentcore.number_format import seconds
from dashboard.accounts.openid_session import ProviderSession
from dashboard.platform.fields import storable_text
from dashboard.platform.sign_in_provider import SignInProvider

KEPT = 3600.0  #: seconds that the provider's metadata and keys are kept
PAUSE = 20.0  #: seconds that a provider which cannot be reached is not asked again: strangers wait for few places
LONGEST_EMAIL = 254
LONGEST_SUBJECT = 255  #: characters, as OpenID Connect Core 1.0, section 2, says
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint")
DISCOVERY = "/.well-known/openid-configuration"
SCOPE = "openid profile email"
#: Of ID tokens. `none` and keys that both sides share are not accepted, whatever the metadata offers.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
NAMES = ("preferred_username", "email", "name")  #: claims, the first that is there names the user


class ProviderError(Exception):
    """The provider cannot be reached, refused, or sent what cannot be trusted. The message is for the log alone."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One sign-in that has been sent to the provider. The browser keeps it until it comes back."""

    state: str
    nonce: str
    code_verifier: str
    redirect_uri: str
    wanted: str  #: where to go afterwards


@dataclass(frozen=True, slots=True)
class Person:
    """Whom the provider names."""

    issuer: str
    subject: str
    name: str
    email: str
    groups: frozenset[str]


class _Client(OAuth2Mixin, OpenIDMixin, BaseApp):  # type: ignore[misc]
    """Its `client_cls` is set with each provider."""


class OpenIdClient:
    """A provider, asked on behalf of this installation."""

    def __init__(self, provider: SignInProvider) -> None:
        self.provider = provider
        self._client: Any = None
        self._made_at = 0.0
        self._asked_again_at = 0.0

    def begin(self, *, redirect_uri: str, wanted: str) -> tuple[str, Attempt]:
        """Where to send the browser. Raises ProviderError."""
        with self._asking():
            made = self._ready().create_authorization_url(redirect_uri)
        given = {name: made[name] for name in ("state", "nonce", "code_verifier")}
        return made["url"], Attempt(redirect_uri=redirect_uri, wanted=wanted, **given)

    def finish(self, attempt: Attempt, *, code: str) -> Person:
        """Whom the provider names in return for the code. Raises ProviderError."""
        with self._asking():
            client = self._ready()
            token = client.fetch_access_token(
                code=code, redirect_uri=attempt.redirect_uri, code_verifier=attempt.code_verifier
            )
            issuer = client.server_metadata["issuer"]
            claims_options = {
                "iss": {"essential": True, "value": issuer},
                "aud": {"essential": True, "value": self.provider.client_id},
            }
            claims = client.parse_id_token(token, nonce=attempt.nonce, claims_options=claims_options)
            if claims is None:
                raise ProviderError("The provider sent no ID token.")
            return self._person(issuer, {**self._more(client, token, claims), **claims})

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """What the libraries raise of the provider, as ProviderError."""
        if time.monotonic() < self._asked_again_at:
            raise ProviderError(f"The provider could not be reached, and is asked again after {seconds(PAUSE)}.")
        try:
            yield
        except (Timeout, RequestsConnectionError) as error:
            self._asked_again_at = time.monotonic() + PAUSE
            raise ProviderError(f"{type(error).__name__}: {error}") from error
        except (RequestException, OAuthError, JoseError, ValueError, KeyError, TypeError, RuntimeError) as error:
            raise ProviderError(f"{type(error).__name__}: {error}") from error

    def _ready(self) -> Any:
        if self._client is None or time.monotonic() - self._made_at > KEPT:
            self._client, self._made_at = self._made(), time.monotonic()
        return self._client

    def _made(self) -> Any:
        provider = self.provider
        kwargs: dict[str, Any] = {"scope": SCOPE, "code_challenge_method": "S256"}
        if not provider.client_secret:
            kwargs["token_endpoint_auth_method"] = "none"  # noqa: S105 - a public client
        client = _Client(
            None,
            client_id=provider.client_id,
            client_secret=provider.client_secret or None,
            server_metadata_url=f"{provider.issuer}{DISCOVERY}",
            client_kwargs=kwargs,
        )
        client.client_cls = partial(ProviderSession, issuer=provider.issuer)
        told = client.load_server_metadata()
        if str(told.get("issuer", "")).rstrip("/") != provider.issuer:
            raise ProviderError(f"The provider calls itself {told.get('issuer')!r}, not {provider.issuer!r}.")
        addresses = [str(told[name]) for name in ENDPOINTS if told.get(name)]
        if provider.issuer.startswith("https:") and not all(address.startswith("https:") for address in addresses):
            raise ProviderError("The provider names an address that is not https.")
        offered = told.get("id_token_signing_alg_values_supported") or ["RS256"]
        client.server_metadata["id_token_signing_alg_values_supported"] = [
            name for name in ALGORITHMS if name in offered
        ]
        return client

    def _more(self, client: Any, token: Any, claims: Mapping[str, Any]) -> dict[str, Any]:
        """What the ID token does not say, and the provider tells when it is asked."""
        wanted = {NAMES[0], *([self.provider.groups_claim] if self.provider.manages_roles else [])}
        if wanted <= set(claims) or not client.server_metadata.get("userinfo_endpoint"):
            return {}
        told = dict(client.userinfo(token=token))
        if told.get("sub") != claims["sub"]:
            raise ProviderError("The provider's user information is about another user.")
        return told

    def _person(self, issuer: str, claims: Mapping[str, Any]) -> Person:
        groups = claims.get(self.provider.groups_claim) or ()
        listed = [groups] if isinstance(groups, str) else groups if isinstance(groups, list) else ()
        name = next((claims[key] for key in NAMES if isinstance(claims.get(key), str) and claims[key]), claims["sub"])
        email = claims.get("email") if claims.get("email_verified") is True else ""
        if not isinstance(email, str) or len(email) > LONGEST_EMAIL or email != storable_text(email):
            email = ""
        return Person(issuer, _subject(str(claims["sub"])), str(name), email, frozenset(map(str, listed)))


def _subject(text: str) -> str:
    """Whom an account belongs to. Raises ProviderError for what would stand for several people, or cannot be stored."""
    if not text.strip() or len(text) > LONGEST_SUBJECT or text != storable_text(text):
        raise ProviderError(f"The provider's subject is not 1 to {LONGEST_SUBJECT} characters of valid text.")
    return text
