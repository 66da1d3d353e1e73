"""The key by which this installation signs: Ed25519, in the data folder or the environment, never in the database.

`signing-key` holds the private key; `signing-keys-retired` the public keys of those before it, one a line.
"""

import base64
import binascii
import os
import secrets
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.conf import settings

from dashboard.platform.errors import StartError
from dashboard.platform.secret_key import secret_kept_in

KEY_FILE, RETIRED_FILE = "signing-key", "signing-keys-retired"
HEAD_FILE, LOST_FILE, AUDIT_HEAD_FILE = "last-seal", "seals-lost", "last-audit-seal"
KEY_BYTES = 32
UNREADABLE = (
    "{where} contains no signing key: it must be 32 bytes in base64, as `manage.py signing_key new` prints them."
)


def public_key() -> str:
    """This installation's, in base64."""
    return _text(_own().public_key().public_bytes_raw())


def sign(message: bytes) -> str:
    """The signature of this installation, in base64."""
    return _text(_own().sign(message))


def is_signed(message: bytes, *, by: str, signature: str) -> bool:
    """Whether the signature is that of the public key `by` under this very message."""
    try:
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(by, validate=True))
        key.verify(base64.b64decode(signature, validate=True), message)
    except (InvalidSignature, binascii.Error, ValueError):
        return False
    return True


def own_keys() -> frozenset[str]:
    """The public keys this installation signs and has signed with."""
    path = _folder() / RETIRED_FILE
    retired = path.read_text().split() if path.exists() else []
    return frozenset({public_key(), *retired})


def rotate() -> str:
    """Sign with a new key from now on; the public key of the old one is kept, so that its signatures still count."""
    if settings.ENVIRONMENT.signing_key:
        raise StartError("The signing key is in WHYSTOP_SIGNING_KEY: put a new one there, and `signing_key retire` it.")
    retire(public_key())
    path = _folder() / KEY_FILE
    path.unlink()
    secret_kept_in(path, new_key)
    return public_key()


def retire(public: str) -> None:
    """Let the signatures of an earlier key of this installation count."""
    if not is_key(public):
        raise StartError("This is not a public key: it must be 32 bytes in base64.")
    with (_folder() / RETIRED_FILE).open("a") as file:
        file.write(public + "\n")


def new_key() -> str:
    """A private key, in base64."""
    return _text(secrets.token_bytes(KEY_BYTES))


def is_key(text: str) -> bool:
    try:
        return len(base64.b64decode(text, validate=True)) == KEY_BYTES
    except (binascii.Error, ValueError):
        return False


def remember_head(number: int, digest: str, name: str = HEAD_FILE) -> None:
    """Keep the last seal where no superuser of the database can reach it."""
    path = _folder() / name
    fresh = path.with_name(f".{name}-{secrets.token_hex(4)}")
    fresh.write_text(f"{number} {digest}\n")
    os.replace(fresh, path)  # noqa: PTH105 - whole or not at all


def remembered_head(name: str = HEAD_FILE) -> tuple[int, str] | None:
    path = _folder() / name
    if not path.exists():
        return None
    number, digest = path.read_text().split()
    return int(number), digest


def note_lost(number: int, digest: str) -> None:
    """Keep for good that this seal was made and is gone, before the next one takes its place in `last-seal`."""
    if (number, digest) not in lost_heads():
        with (_folder() / LOST_FILE).open("a") as file:
            file.write(f"{number} {digest}\n")


def lost_heads() -> list[tuple[int, str]]:
    path = _folder() / LOST_FILE
    lines = path.read_text().splitlines() if path.exists() else []
    return [(int(number), digest) for number, digest in map(str.split, lines)]


def _own() -> Ed25519PrivateKey:
    given = settings.ENVIRONMENT.signing_key
    text = given or secret_kept_in(_folder() / KEY_FILE, new_key)
    if not is_key(text):
        raise StartError(UNREADABLE.format(where="WHYSTOP_SIGNING_KEY" if given else str(_folder() / KEY_FILE)))
    return Ed25519PrivateKey.from_private_bytes(base64.b64decode(text))


def _folder() -> Path:
    folder: Path = settings.ENVIRONMENT.data_dir
    return folder


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")
