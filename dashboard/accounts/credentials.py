"""Secrets as text: how one is read from a header, and the digest it is known by."""

import hashlib
from collections.abc import Iterable

from django.conf import settings


def digest_of(secret: str) -> str:
    """The 64 hex digits under which a secret is stored and looked up."""
    return hashlib.sha256(secret.encode()).hexdigest()


def bearer_of(authorization: str) -> str | None:
    """The secret of an `Authorization: Bearer …` header (empty when it names none); None for another scheme or none."""
    scheme, _, secret = authorization.partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else None


def has_credentials(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether a request with these headers, names in lower case, shows a secret or a session, whatever it is worth."""
    session = f"{settings.SESSION_COOKIE_NAME}=".encode()
    return any(
        session in value if name == b"cookie" else name == b"authorization" and bearer_of(value.decode("latin-1"))
        for name, value in headers
    )
