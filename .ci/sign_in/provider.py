"""django-oauth-toolkit, unmodified, as an OpenID provider: `provider.py FOLDER PORT CLIENT SECRET REDIRECT_URI`.

Its one user is `ada`, of the group `ml`; the password is the client's secret.
"""

import sys
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings

ME = "provider"
sys.modules.setdefault(ME, sys.modules[__name__])


def private_key() -> str:
    key = rsa.generate_private_key(65537, 2048)
    how = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, *how).decode()


def configure(folder: Path, port: str) -> None:
    processors = ("template.context_processors.request", "contrib.auth.context_processors.auth")
    messages = "django.contrib.messages.context_processors.messages"
    settings.configure(
        SECRET_KEY="of a provider that lives for a test",
        ALLOWED_HOSTS=["127.0.0.1"],
        ROOT_URLCONF=ME,
        USE_TZ=True,
        LOGIN_URL="/admin/login/",
        SESSION_COOKIE_NAME="provider_session",
        CSRF_COOKIE_NAME="provider_csrf",
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": folder / "provider.sqlite3"}},
        INSTALLED_APPS=[
            *(f"django.contrib.{app}" for app in ("admin", "auth", "contenttypes", "sessions", "messages")),
            "oauth2_provider",
        ],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.middleware.csrf.CsrfViewMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
            "django.contrib.messages.middleware.MessageMiddleware",
        ],
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "APP_DIRS": True,
                "OPTIONS": {"context_processors": [*(f"django.{one}" for one in processors), messages]},
            }
        ],
        OAUTH2_PROVIDER={
            "OIDC_ENABLED": True,
            "OIDC_RSA_PRIVATE_KEY": private_key(),
            "OIDC_ISS_ENDPOINT": f"http://127.0.0.1:{port}/o",
            "OAUTH2_VALIDATOR_CLASS": f"{ME}.Claims",
            "PKCE_REQUIRED": True,
            "SCOPES": {"openid": "Who you are", "profile": "Your name", "email": "Your e-mail address"},
        },
    )


folder, port, client, secret, redirect_uri = sys.argv[1:]
configure(Path(folder), port)

import django  # noqa: E402

django.setup()

from django.contrib import admin  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.urls import include, path  # noqa: E402
from oauth2_provider.models import Application  # noqa: E402
from oauth2_provider.oauth2_validators import OAuth2Validator  # noqa: E402


class Claims(OAuth2Validator):
    """What it tells of people."""

    oidc_claim_scope = None

    def get_additional_claims(self, request):
        return {"preferred_username": request.user.username, "groups": ["ml"]}


urlpatterns = [path("admin/", admin.site.urls), path("o/", include("oauth2_provider.urls"))]

if __name__ == "__main__":
    call_command("migrate", verbosity=0)
    User.objects.create_superuser("ada", password=secret)
    Application.objects.create(
        client_id=client,
        client_secret=secret,
        client_type=Application.CLIENT_CONFIDENTIAL,
        authorization_grant_type=Application.GRANT_AUTHORIZATION_CODE,
        redirect_uris=redirect_uri,
        algorithm=Application.RS256_ALGORITHM,
    )
    call_command("runserver", f"127.0.0.1:{port}", use_reloader=False, skip_checks=True)
