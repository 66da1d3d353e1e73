"""Whether the keys of this installation are those with which its data was written, and whether those who sign in with a
password have the second factor that `WHYSTOP_TWO_FACTOR` requires."""

from collections.abc import Iterator

from django.conf import settings
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX

from agentcore.number_format import count
from dashboard.accounts import two_factor
from dashboard.accounts.models import SecondFactor, User
from dashboard.exports.webhooks.models import Webhook
from dashboard.exports.webhooks.secret import LostSecretError, opened
from dashboard.platform.errors import StartError
from dashboard.runtime.operations.doctor import Finding, State, graded
from dashboard.turns.seals import keys
from dashboard.turns.seals.models import AuditSeal, Seal


def keys_of_the_data() -> Iterator[Finding]:
    """The signing key made the seals, and the secret key encrypted what is stored encrypted."""
    yield from _signing_key()
    yield _secret_key()


def _signing_key() -> Iterator[Finding]:
    try:
        own = keys.own_keys()
    except StartError:
        return  # `machine_checks.secrets` says so
    strange = [table.objects.exclude(public_key__in=own).order_by("number") for table in (Seal, AuditSeal)]
    number = sum(map(len, strange))
    if not number:
        yield Finding("seals", State.OK, "All were signed by this installation")
        return
    others = sorted({seal.public_key for seals in strange for seal in seals})
    fix = (
        "Put back the signing key (WHYSTOP_SIGNING_KEY, or signing-key from a backup). If the other key was this"
        f" installation's own: “manage.py signing_key retire {others[0]}”."
    )
    words = f"{number} were signed with a key that this installation does not know: {', '.join(others)}"
    yield Finding("seals", State.ERROR, words, fix)


def _secret_key() -> Finding:
    factors = SecondFactor.objects.values_list("sealed", flat=True)
    users = sum(not two_factor.is_readable(bytes(sealed)) for sealed in factors.iterator())
    webhooks = sum(not _opens(bytes(sealed)) for sealed in Webhook.objects.values_list("sealed_secret", flat=True))
    if not users and not webhooks:
        return Finding("secret key", State.OK, "It decrypts everything that is stored encrypted")
    unreadable = f"the two-factor keys of {count(users, 'user')} and the secrets of {count(webhooks, 'webhook')}"
    fix = "Put back the secret key (WHYSTOP_SECRET_KEY, or secret-key from a backup), or set these up again."
    return Finding("secret key", State.ERROR, f"It cannot decrypt {unreadable}", fix)


def _opens(sealed: bytes) -> bool:
    try:
        return bool(opened(sealed))
    except LostSecretError:
        return False


_NAMED = 20  #: users, so that the line can be read


def two_factor_authentication() -> Iterator[Finding]:
    """Active users with a password, and which of them have no second factor yet."""
    passwords = User.objects.filter(is_active=True).exclude(password="").order_by("username")
    passwords = passwords.exclude(password__startswith=UNUSABLE_PASSWORD_PREFIX)
    without = [user.get_username() for user in passwords.exclude(pk__in=SecondFactor.objects.values("user"))]
    number = passwords.count()
    required = bool(settings.TWO_FACTOR_REQUIRED)
    words = f"WHYSTOP_TWO_FACTOR is {'on' if required else 'off'}; "
    words += f"users with a password: {number}, of whom with a second factor: {number - len(without)}"
    if required and without:
        words += f"; without: {', '.join(without[:_NAMED])}"
        words += f", and {len(without) - _NAMED} more" if len(without) > _NAMED else ""
    fix = (
        "They set it up right after the next sign-in with the password, and so would anyone who knows the password:"
        " ask them to sign in soon, or deactivate those who no longer need access."
    )
    yield graded("two-factor authentication", words, (required and bool(without), State.WARNING, fix))
