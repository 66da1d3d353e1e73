"""Django's settings, all from the environment (see `dashboard.platform.environment` for the variables)."""

from importlib.util import find_spec
from typing import Any

from csp.constants import NONE, SELF

from dashboard.platform.database import database_settings
from dashboard.platform.egress.rules import ON_ONE_MACHINE
from dashboard.platform.environment import CHECKOUT, read_environment
from dashboard.platform.logs import configure_structlog, logging_settings
from dashboard.platform.process_identity import PLACE
from dashboard.platform.secret_key import secret_key_of

ENVIRONMENT = read_environment()
BASE_DIR = CHECKOUT
DEBUG = ENVIRONMENT.debug
SECRET_KEY = ENVIRONMENT.secret_key or secret_key_of(ENVIRONMENT.data_dir)

_ANY_ADDRESS = {"0.0.0.0", "::"}  # noqa: S104 - these are no names a browser comes by
ALLOWED_HOSTS = [
    "127.0.0.1",
    "localhost",
    "[::1]",
    *({ENVIRONMENT.host} - _ANY_ADDRESS),
    *ENVIRONMENT.allowed_hosts,
]

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "django_htmx",
    "csp",
    "procrastinate.contrib.django",
    "pgtrigger",
    "pghistory",
    "dashboard.accounts",
    "dashboard.accounts.audit",
    "dashboard.agents",
    "dashboard.tools",
    "dashboard.turns.conversations",
    "dashboard.turns",
    "dashboard.turns.seals",
    "dashboard.timeline",
    "dashboard.live",
    "dashboard.inbox",
    "dashboard.configuration",
    "dashboard.turns.prices",
    "dashboard.replay",
    "dashboard.policies.backtests",
    "dashboard.timeline.lint",
    "dashboard.ingest.turn_files",
    "dashboard.ingest",
    "dashboard.turns.comments",
    "dashboard.replay.comparison",
    "dashboard.exports.share_links",
    "dashboard.policies",
    "dashboard.policies.predictions",
    "dashboard.exports.webhooks",
    "dashboard.board",
    "dashboard.board.alerts",
    "dashboard.exports.telemetry",
    "dashboard.policies.suggestions",
    "dashboard.tour",
    "dashboard.gateway",
    "dashboard.timeline.runs",
    "dashboard.api",
    "ninja",  # behind ours, whose command stands in for its
    "dashboard.api.idempotency",
    "dashboard.turns.sql_views",
    *(["dashboard.bench"] if find_spec("dashboard.bench") else []),  # a part of the tree, not of the package
    "dashboard.runtime",
]

MIDDLEWARE = [
    "dashboard.runtime.middleware.ReturnedConnectionMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "dashboard.runtime.middleware.PageCompression",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "dashboard.accounts.middleware.AccessMiddleware",
    "dashboard.accounts.project_middleware.ProjectMiddleware",
    "dashboard.turns.other_project.OtherProjectMiddleware",
    "dashboard.accounts.audit.middleware.AuditMiddleware",
    "dashboard.api.middleware.ApiMiddleware",
    "dashboard.runtime.middleware.ImpossibleRequestMiddleware",
    "dashboard.turns.damaged_pages.DamagedTurnMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "dashboard.runtime.middleware.SchemaOverloadMiddleware",
    "dashboard.runtime.middleware.ClientGoneMiddleware",
]

ROOT_URLCONF = "dashboard.urls"
ASGI_APPLICATION = "dashboard.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "dashboard.runtime.templates.SendableTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

DATABASES = {"default": database_settings(ENVIRONMENT.database_url)}
if ENVIRONMENT.replica_url:
    DATABASES["replica"] = database_settings(ENVIRONMENT.replica_url)
    DATABASE_ROUTERS = ["dashboard.platform.replica.ReadRouter"]
    MIDDLEWARE.append("dashboard.platform.replica.WroteMiddleware")
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"


def _channel_layers(redis_url: str) -> dict[str, Any]:
    if not redis_url and PLACE is not None:
        return {"default": {"BACKEND": "dashboard.runtime.processes.channel_layer.RelayedChannelLayer"}}
    if not redis_url:
        return {"default": {"BACKEND": "dashboard.platform.memory_layer.MemoryChannelLayer"}}
    # Pub/sub, for the layer on lists drops who hears nothing for longer than `socket_timeout`; this one polls, so that
    # the timeout bounds only what a Redis that hangs can hold up. Few connections are needed: one listens, one speaks.
    host = {
        "address": redis_url,
        "socket_timeout": 5.0,
        "socket_connect_timeout": 2.0,
        "socket_keepalive": True,
        "health_check_interval": 15,
        "max_connections": 50,
    }
    return {"default": {"BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer", "CONFIG": {"hosts": [host]}}}


CHANNEL_LAYERS = _channel_layers(ENVIRONMENT.redis_url)

CRITERIA_MODULES = ENVIRONMENT.criteria
SILENCE_SECONDS = ENVIRONMENT.silence_seconds
KEY_NAMES = ENVIRONMENT.key_names
# `manage.py web` and `manage.py worker` narrow this (dashboard.runtime.startup).
EGRESS = ENVIRONMENT.egress or ON_ONE_MACHINE
GATEWAY_PASSES_UNSTORED = ENVIRONMENT.gateway_unstored == "pass"

AUTH_USER_MODEL = "accounts.User"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
TWO_FACTOR_REQUIRED = ENVIRONMENT.two_factor
SIGN_IN_PROVIDER = ENVIRONMENT.sign_in_provider
LOGIN_URL = "/sign-in/"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/sign-in/"

# Cookies are shared by all ports of a host: names of our own keep other programs on this machine from replacing them.
SESSION_COOKIE_NAME = "whystop_session"
CSRF_COOKIE_NAME = "whystop_csrf"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = ENVIRONMENT.https
CSRF_COOKIE_SECURE = ENVIRONMENT.https
CSRF_TRUSTED_ORIGINS = [f"https://{host}" for host in ENVIRONMENT.allowed_hosts if ENVIRONMENT.https and host != "*"]
TRUSTED_PROXIES = ENVIRONMENT.trusted_proxies
# dashboard.runtime.request_guard.client_identity settles who asks and by which scheme, and redirects to https. Unlike
# Django's middleware it stands before the gateway too, and leaves a browser on this machine alone.
SECURE_SSL_REDIRECT = ENVIRONMENT.https and bool(TRUSTED_PROXIES)
SECURE_REDIRECT_EXEMPT = [r""]
SECURE_HSTS_SECONDS = 31_536_000 if ENVIRONMENT.https else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = ENVIRONMENT.https and ENVIRONMENT.hsts in ("subdomains", "preload")
SECURE_HSTS_PRELOAD = ENVIRONMENT.https and ENVIRONMENT.hsts == "preload"
# Django advises to decide for all names below this host. Where the operator has decided otherwise, that is settled.
SILENCED_SYSTEM_CHECKS = {"host": ["security.W005", "security.W021"], "subdomains": ["security.W021"]}.get(
    ENVIRONMENT.hsts, []
)
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "connect-src": [SELF],
        "img-src": [SELF, "data:"],
        "object-src": [NONE],
        "frame-ancestors": [NONE],
        "form-action": [SELF],
        "base-uri": [NONE],
    },
}

EMAIL_BACKEND = "dashboard.platform.email_backend.TimedEmailBackend"
globals().update(ENVIRONMENT.email.settings())
EMAIL_IS_SET_UP = bool(ENVIRONMENT.email.host)
DEFAULT_FROM_EMAIL = ENVIRONMENT.email_from
ADDRESS = ENVIRONMENT.address or ENVIRONMENT.own_address

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "dashboard.runtime.static_files.ReleaseStorage"},
}

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False
FORMAT_MODULE_PATH = "dashboard.platform.formats"

# Texts of as many bytes as a body of the API may have are three times as long in a form, where each is written as %XX.
DATA_UPLOAD_MAX_MEMORY_SIZE = 6_200_000
DATA_UPLOAD_MAX_NUMBER_FIELDS = 5_000

FILES_DIR = ENVIRONMENT.files_dir
MCP_STDIO = ENVIRONMENT.mcp_stdio

configure_structlog()
LOGGING = logging_settings(ENVIRONMENT.log_level, ENVIRONMENT.log_format)
