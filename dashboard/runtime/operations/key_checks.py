"""Whether the keys of this installation are those with which its data was written."""

from collections.abc import Iterator

from dashboard.accounts import two_factor
from dashboard.accounts.models import SecondFactor
from dashboard.exports.webhooks.models import Webhook
from dashboard.exports.webhooks.secret import LostSecretError, opened
from dashboard.platform.errors import StartError
from dashboard.runtime.operations.doctor import Finding, State
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
    words = f"It cannot decrypt the two-factor keys of {users} users and the secrets of {webhooks} webhooks"
    fix = "Put back the secret key (WHYSTOP_SECRET_KEY, or secret-key from a backup), or set these up again."
    return Finding("secret key", State.ERROR, words, fix)


def _opens(sealed: bytes) -> bool:
    try:
        return bool(opened(sealed))
    except LostSecretError:
        return False
