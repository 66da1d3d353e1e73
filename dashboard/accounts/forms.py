"""What people type on the sign-in and account pages."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, cast

from django import forms
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.core.exceptions import ValidationError

from dashboard.accounts.models import ApiToken
from dashboard.accounts.scopes import ALL, MEANINGS
from dashboard.platform.form_errors import FieldErrors

#: What AUTH_PASSWORD_VALIDATORS ask for.
PASSWORD_RULES = "At least 8 characters. Not a common password, and not similar to your name or e-mail address."  # noqa: S105
#: What is wrong with a password, by the code of the fault.
PASSWORD_FAULTS: Mapping[str, str] = {
    "password_mismatch": "The passwords do not match.",
    "password_incorrect": "The current password is wrong.",
    "password_too_short": "The new password must have at least %(min_length)d characters.",
    "password_too_common": "This password is too common. Choose another.",
    "password_too_similar": "The new password is too similar to your %(verbose_name)s. Choose another.",
    "password_entirely_numeric": "The new password must not consist of digits only.",
}
#: What is wrong with the password, not with its repetition.
OF_THE_FIRST = PASSWORD_FAULTS.keys() - {"password_mismatch"}


class SignInForm(FieldErrors, forms.Form):
    """A one-time code or token, or a user name and password: one pair is enough."""

    code = forms.CharField(
        label="One-time code or API token",
        required=False,
        max_length=500,
        widget=forms.TextInput(
            attrs={"autocomplete": "one-time-code", "autocapitalize": "none", "spellcheck": "false"}
        ),
    )
    token = forms.CharField(required=False, max_length=500, widget=forms.HiddenInput)
    username = forms.CharField(
        label="User name",
        required=False,
        max_length=150,
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none", "spellcheck": "false"}),
    )
    password = forms.CharField(
        label="Password",
        required=False,
        max_length=500,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )


class SecondFactorForm(FieldErrors, forms.Form):
    """A code of the authenticator app, or a recovery code."""

    code = forms.CharField(
        label="Code",
        max_length=40,
        widget=forms.TextInput(
            attrs={"autocomplete": "one-time-code", "autocapitalize": "none", "spellcheck": "false", "autofocus": True}
        ),
    )


class CurrentPasswordForm(FieldErrors, forms.Form):
    """The password of the user who is signed in."""

    password = forms.CharField(
        label="Current password",
        max_length=500,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )


class PasswordWords(FieldErrors):
    """What the fields of a new password are called, and what is said of them."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["new_password1"].label = "New password"
        self.fields["new_password1"].help_text = PASSWORD_RULES
        self.fields["new_password2"].label = "Confirm new password"
        self.fields["new_password2"].help_text = ""
        if "old_password" in self.fields:
            self.fields["old_password"].label = "Current password"
            del self.fields["old_password"].widget.attrs["autofocus"]  # it is one of the forms of a page

    def add_error(self, field: str | None, error: Any) -> None:
        told = error if isinstance(error, ValidationError) else ValidationError(error)
        if not hasattr(told, "error_dict"):
            told = ValidationError([_worded(fault) for fault in told.error_list])
            if field == "new_password2" and all(fault.code in OF_THE_FIRST for fault in told.error_list):
                field = "new_password1"
        super().add_error(field, told)


def _worded(fault: ValidationError) -> ValidationError:
    words = PASSWORD_FAULTS.get(str(fault.code))
    return ValidationError(words % (fault.params or {}), code=fault.code) if words else fault


class NewPasswordForm(PasswordWords, SetPasswordForm):  # type: ignore[type-arg]
    """The first password of a user."""


class ChangedPasswordForm(PasswordWords, PasswordChangeForm):
    """Another password, with the one that is to be replaced."""


class ApiTokenForm(FieldErrors, forms.Form):
    """A new token."""

    LIFETIMES = {"never": None, "7": timedelta(days=7), "90": timedelta(days=90), "365": timedelta(days=365)}
    CHOICES = [("never", "never"), ("7", "in 7 days"), ("90", "in 90 days"), ("365", "in a year")]

    name = forms.CharField(
        label="Name",
        max_length=80,
        widget=forms.TextInput(attrs={"placeholder": "ci, notebook, …", "autocomplete": "off"}),
    )
    lifetime = forms.ChoiceField(label="Expires", choices=CHOICES)
    scopes = forms.MultipleChoiceField(
        label="Scopes",
        choices=[(scope.value, meaning) for scope, meaning in MEANINGS.items()],
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    offered = forms.BooleanField(required=False, initial=True, widget=forms.HiddenInput)  #: whether scopes were shown

    def __init__(self, *args: Any, parent: ApiToken | None = None, **kwargs: Any) -> None:
        """`parent`: the token that opened the session; it gives no more than it has."""
        offered = ALL if parent is None else tuple(parent.scopes)
        super().__init__(*args, **{"initial": {"scopes": list(offered), "offered": True}, **kwargs})
        field = cast("forms.MultipleChoiceField", self.fields["scopes"])
        field.choices = [(scope.value, meaning) for scope, meaning in MEANINGS.items() if scope in offered]

    def clean_scopes(self) -> list[str]:
        """All of them where a program sends none; a person who unticks all has not meant that."""
        chosen: list[str] = self.cleaned_data["scopes"]
        if not chosen and self.data.get("offered"):
            raise forms.ValidationError("Choose at least one scope.")
        return chosen or [scope.value for scope in ALL]
