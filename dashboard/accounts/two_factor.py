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

from dashboard.accounts.credentials import digest_of
from dashboard.accounts.models import RecoveryCode, SecondFactor, User

ISSUER = "Whystop"  #: as the app shows it
STEP = 30  #: seconds that a code is shown for
TOLERANCE = 1  #: steps that the app's clock may be off, either way
RECOVERY_CODES = 10
_CODE_BYTES = 10  #: random, of a recovery code


def is_on(user: User) -> bool:
    """Whether the user needs a code to sign in with a password."""
    return SecondFactor.objects.filter(user=user).exists()


def new_secret() -> str:
    """A secret for an app, encrypted. It counts from `second_factor_set` on."""
    return _fernet().encrypt(pyotp.random_base32().encode()).decode()


@transaction.atomic
def second_factor_set(*, user: User, sealed: str, code: str) -> bool:
    """Turn it on, by a code that shows that the app has the secret. False if the code is wrong, or it is on already.

    The user's sessions end, for a password alone may have opened them. Whoever keeps one has to renew its hash.
    """
    times = User.objects.select_for_update().get(pk=user.pk).second_factors_set
    step = _step_of(_secret(sealed.encode()), code, after=0)
    if step is None or is_on(user):
        return False
    SecondFactor.objects.create(user=user, sealed=sealed.encode(), last_step=step)
    user.second_factors_set = times + 1
    user.save(update_fields=["second_factors_set"])
    return True


@transaction.atomic
def code_redeem(*, user: User, code: str) -> bool:
    """Whether this is a code of the user's app or one of the recovery codes. It does not work again."""
    factor = SecondFactor.objects.select_for_update().filter(user=user).first()
    if factor is None:
        return False
    step = _step_of(_secret(bytes(factor.sealed)), code, after=factor.last_step)
    if step is None:
        return bool(_recovery(user, code).delete()[0])
    SecondFactor.objects.filter(pk=factor.pk).update(last_step=step)
    return True


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


def setup_picture(user: User, sealed: str) -> str:
    """The QR code of an app's `otpauth://totp/…` address, as a data address."""
    uri = pyotp.TOTP(_secret(sealed.encode())).provisioning_uri(name=user.get_username(), issuer_name=ISSUER)
    return segno.make(uri, micro=False).svg_data_uri(scale=5, border=4, light="white")


def setup_key(sealed: str) -> str:
    """The secret in groups of four characters, to be typed."""
    return _grouped(_secret(sealed.encode()))


def is_readable(sealed: bytes) -> bool:
    """Whether a stored secret can be decrypted: not once `SECRET_KEY` is another one."""
    return bool(_secret(sealed))


def _step_of(secret: str, code: str, *, after: int) -> int | None:
    """The step of time at which the app shows this code: about now, and later than `after`. None: at none."""
    typed = "".join(code.split())
    if not secret or not (typed.isascii() and typed.isdigit()):
        return None
    totp, now = pyotp.TOTP(secret, interval=STEP), int(time.time()) // STEP
    steps = range(max(now - TOLERANCE, after + 1), now + TOLERANCE + 1)
    return next((step for step in steps if secrets.compare_digest(totp.generate_otp(step), typed)), None)


def _recovery(user: User, code: str) -> QuerySet[RecoveryCode]:
    typed = "".join(code.split()).replace("-", "").lower()
    return RecoveryCode.objects.filter(user=user, digest=digest_of(typed))


def _secret(sealed: bytes) -> str:
    """Empty where `SECRET_KEY` is another one than when it was encrypted."""
    try:
        return _fernet().decrypt(sealed).decode()
    except InvalidToken:
        return ""


def _fernet() -> Fernet:
    key = hashlib.sha256(b"whystop two-factor\0" + settings.SECRET_KEY.encode()).digest()
    return Fernet(base64.urlsafe_b64encode(key))


def _grouped(text: str) -> str:
    return " ".join(text[start : start + 4] for start in range(0, len(text), 4))
