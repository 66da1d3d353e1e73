"""What people type on the sign-in and account pages."""

from datetime import timedelta

from django import forms


class SignInForm(forms.Form):
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


class ApiTokenForm(forms.Form):
    """A new token."""

    LIFETIMES = {"never": None, "7": timedelta(days=7), "90": timedelta(days=90), "365": timedelta(days=365)}
    CHOICES = [("never", "never"), ("7", "in 7 days"), ("90", "in 90 days"), ("365", "in a year")]

    name = forms.CharField(
        label="Name",
        max_length=80,
        widget=forms.TextInput(attrs={"placeholder": "ci, notebook, …", "autocomplete": "off"}),
        error_messages={"required": "Give the token a name that says what uses it."},
    )
    lifetime = forms.ChoiceField(label="Expires", choices=CHOICES)
