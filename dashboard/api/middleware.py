"""What holds for every call of the API: rate limits, entity tags, writes that are done once.

Stands behind `accounts.middleware.AccessMiddleware` and the audit log, which know who asks; last of those that look at
a view, for it calls the view itself where a header asks for more.
"""

import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

from dashboard.accounts.roles import SAFE_METHODS
from dashboard.api import entity_tags, idempotent_writes
from dashboard.api.problems import problem
from dashboard.api.rate_limits import QUOTA, Quota, RateLimiter

API = "/api/v1/"
OFTEN = "This token has used its {limit:,} requests per minute. Send this request again in {seconds} s."
View = Callable[..., HttpResponseBase]


class ApiMiddleware(MiddlewareMixin):
    """Of addresses below `/api/v1/`; all others pass."""

    def process_request(self, request: HttpRequest) -> HttpResponseBase | None:
        """429 for who asks too often."""
        if not request.path_info.startswith(API):
            return None
        quota = getattr(request, "scope", {}).get(QUOTA) or counted(_caller(request))
        request.quota = quota  # type: ignore[attr-defined]
        if quota is None or quota.retry_after is None:
            return None
        return problem(429, OFTEN.format(limit=quota.limit, seconds=quota.retry_after))

    def process_view(self, request: HttpRequest, view: View, args: Any, given: Any) -> HttpResponseBase | None:
        """The answer to a write with a key; None: as usual."""
        if request.method in SAFE_METHODS or not request.path_info.startswith(API):
            return None
        key = request.headers.get(idempotent_writes.HEADER)
        return (
            None if key is None else idempotent_writes.done_once(request, key, partial(view, request, *args, **given))
        )

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if not request.path_info.startswith(API):
            return response
        if request.method in ("GET", "HEAD"):
            response = entity_tags.tagged(request, response)
        quota: Quota | None = getattr(request, "quota", None)
        for name, value in quota.headers().items() if quota is not None else ():
            response[name] = value
        return response


def counted(caller: tuple[str, Any]) -> Quota | None:
    """What a caller has left after this request, who is a token or a user by its id; None: there is no limit."""
    limiter = limiter_of(settings.ENVIRONMENT.api_requests_per_minute)
    return limiter.take(caller, now=time.monotonic()) if limiter is not None else None


@cache
def limiter_of(limit: int) -> RateLimiter | None:
    """One for a process; None: there is no limit."""
    return RateLimiter(limit) if limit else None


def _caller(request: HttpRequest) -> tuple[str, Any]:
    token = getattr(request, "auth_token", None)
    return ("token", token.pk) if token is not None else ("user", request.user.pk)
