"""Secrets and signatures as Standard Webhooks has them: `whsec_` and 32 bytes in base64; HMAC with SHA-256.

To sign, the secret itself is needed. It is stored sealed by a key that is made of `WHYSTOP_SECRET_KEY`, which is not in
the database.
"""

import base64
import hashlib
import hmac
import secrets

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

PREFIX = "whsec_"
BYTES = 32
LOST = "The secret of this webhook cannot be read: WHYSTOP_SECRET_KEY has changed. Create a new secret."


class LostSecretError(Exception):
    """It was sealed with another key."""


def new_secret() -> str:
    return PREFIX + base64.b64encode(secrets.token_bytes(BYTES)).decode("ascii")


def sealed(secret: str) -> bytes:
    return _seal().encrypt(secret.encode())


def opened(content: bytes) -> str:
    """Raises `LostSecretError`."""
    try:
        return _seal().decrypt(content).decode()
    except InvalidToken as error:
        raise LostSecretError(LOST) from error


def signature(secret: str, *, named: str, timestamp: int, body: bytes) -> str:
    """The header `webhook-signature`. `named`: the header `webhook-id`; `timestamp`: Unix seconds."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = b"%s.%d.%s" % (named.encode(), timestamp, body)
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode("ascii")


def _seal() -> Fernet:
    made = HKDF(SHA256(), 32, salt=None, info=b"whystop webhooks").derive(settings.SECRET_KEY.encode())
    return Fernet(base64.urlsafe_b64encode(made))
