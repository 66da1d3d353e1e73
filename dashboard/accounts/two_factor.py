"""Two-factor authentication: codes of an authenticator app (TOTP, RFC 6238), and recovery codes that work once.

The secret is stored encrypted with a key that is derived from `SECRET_KEY`: who reads the database alone cannot make
codes. Recovery codes are stored as digests.
"""

import base64
import hashlib
import secrets
import time

import pyotp
import segno
from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from dashboard.accounts.credentials import digest_of
from dashboard.accounts.models import RecoveryCode, SecondFactor, User

ISSUER = "Whystop"  #: as the app shows it
STEP = 30  #: seconds that a code is shown for
TOLERANCE = 1  #: steps that the app's clock may be off, either way
RECOVERY_CODES = 10
_CODE_BYTES = 10  #: random, of a recovery code


def is_on(user: User) -> bool:
    """Whether the user needs a code to sign in with a password."""
    return SecondFactor.objects.filter(user=user, confirmed_at__isnull=False).exists()


@transaction.atomic
def second_factor_begin(*, user: User) -> SecondFactor:
    """One that is not confirmed yet, with a new secret; one that is confirmed stays as it is."""
    User.objects.select_for_update().get(pk=user.pk)
    found = SecondFactor.objects.filter(user=user).first() or SecondFactor(user=user)
    if found.confirmed_at is None:
        found.sealed = _fernet().encrypt(pyotp.random_base32().encode())
        found.save()
    return found


def second_factor_pending(*, user: User) -> SecondFactor | None:
    """The one that waits for its first code."""
    found = SecondFactor.objects.filter(user=user, confirmed_at__isnull=True).first()
    return found if found is not None and _secret(found) else None


@transaction.atomic
def second_factor_confirm(*, user: User, code: str) -> bool:
    """Turn it on, by a code that shows that the app has the secret. False where the code is wrong."""
    factor = SecondFactor.objects.select_for_update().filter(user=user, confirmed_at__isnull=True).first()
    if factor is None or not _accept(factor, code):
        return False
    SecondFactor.objects.filter(pk=factor.pk).update(confirmed_at=timezone.now())
    return True


@transaction.atomic
def code_redeem(*, user: User, code: str) -> bool:
    """Whether this is a code of the user's app or one of the recovery codes. It does not work again."""
    factor = SecondFactor.objects.select_for_update().filter(user=user, confirmed_at__isnull=False).first()
    if factor is None:
        return False
    return _accept(factor, code) or bool(_recovery(user, code).delete()[0])


@transaction.atomic
def recovery_codes_renew(*, user: User) -> tuple[str, ...]:
    """New ones, which cannot be had again; the old ones stop working."""
    codes = tuple(secrets.token_hex(_CODE_BYTES) for _ in range(RECOVERY_CODES))
    user.recovery_codes.all().delete()
    RecoveryCode.objects.bulk_create(RecoveryCode(user=user, digest=digest_of(code)) for code in codes)
    return tuple(_grouped(code) for code in codes)


@transaction.atomic
def second_factor_remove(*, user: User) -> bool:
    """The password alone signs in again. False where there was none."""
    user.recovery_codes.all().delete()
    return bool(SecondFactor.objects.filter(user=user).delete()[0])


def setup_uri(factor: SecondFactor) -> str:
    """What an app reads from the QR code: `otpauth://totp/…`."""
    return pyotp.TOTP(_secret(factor)).provisioning_uri(name=factor.user.get_username(), issuer_name=ISSUER)


def setup_picture(factor: SecondFactor) -> str:
    """The QR code of `setup_uri`, as a data address."""
    return segno.make(setup_uri(factor), micro=False).svg_data_uri(scale=5, border=4, light="white")


def setup_key(factor: SecondFactor) -> str:
    """The secret in groups of four characters, to be typed."""
    return _grouped(_secret(factor))


def _accept(factor: SecondFactor, code: str) -> bool:
    """Whether the app shows this code about now, and it was not used before. The factor's row is locked."""
    typed, secret = "".join(code.split()), _secret(factor)
    if not secret or not (typed.isascii() and typed.isdigit()):
        return False
    totp, now = pyotp.TOTP(secret, interval=STEP), int(time.time()) // STEP
    for step in range(max(now - TOLERANCE, factor.last_step + 1), now + TOLERANCE + 1):
        if secrets.compare_digest(totp.generate_otp(step), typed):
            SecondFactor.objects.filter(pk=factor.pk).update(last_step=step)
            return True
    return False


def _recovery(user: User, code: str) -> QuerySet[RecoveryCode]:
    typed = "".join(code.split()).replace("-", "").lower()
    return RecoveryCode.objects.filter(user=user, digest=digest_of(typed))


def _secret(factor: SecondFactor) -> str:
    """Empty where `SECRET_KEY` is another one than when it was stored."""
    try:
        return _fernet().decrypt(bytes(factor.sealed)).decode()
    except InvalidToken:
        return ""


def _fernet() -> Fernet:
    key = hashlib.sha256(b"whystop two-factor\0" + settings.SECRET_KEY.encode()).digest()
    return Fernet(base64.urlsafe_b64encode(key))


def _grouped(text: str) -> str:
    return " ".join(text[start : start + 4] for start in range(0, len(text), 4))
