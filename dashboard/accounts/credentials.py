"""Secrets as text: how one is read from a header, and the digest it is known by."""

import hashlib


def digest_of(secret: str) -> str:
    """The 64 hex digits under which a secret is stored and looked up."""
    return hashlib.sha256(secret.encode()).hexdigest()


def bearer_of(authorization: str) -> str | None:
    """The secret of an `Authorization: Bearer …` header (empty when it names none); None for another scheme or none."""
    scheme, _, secret = authorization.partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else None
