"""What people type to make a project and to add a member."""

from collections.abc import Iterable
from typing import Any, cast

from django import forms

from dashboard.accounts.roles import Role
from dashboard.platform.form_errors import FieldErrors


class ProjectForm(FieldErrors, forms.Form):
    """The name of a project."""

    name = forms.CharField(
        label="Name",
        max_length=64,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )


class MemberForm(FieldErrors, forms.Form):
    """A user by name, and the role to give. `roles`: those that may be given."""

    username = forms.CharField(
        label="User name",
        max_length=150,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )
    role = forms.ChoiceField(label="Role")

    def __init__(self, *args: Any, roles: Iterable[Role], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        cast("forms.ChoiceField", self.fields["role"]).choices = [(role.value, role.value) for role in roles]
