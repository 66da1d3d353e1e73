"""Whether those who sign in with a password have the second factor that `WHYSTOP_TWO_FACTOR` requires."""

from collections.abc import Iterator

from django.conf import settings
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX

from dashboard.accounts.models import SecondFactor, User
from dashboard.runtime.operations.doctor import Finding, State, graded

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
