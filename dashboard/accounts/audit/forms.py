"""The filters of the page, from its address."""

from datetime import UTC, datetime, time, timedelta
from typing import Any

from django import forms

from dashboard.accounts.audit.action_words import CONTROL_WORDS
from dashboard.accounts.audit.selectors import Filters
from dashboard.platform.form_errors import FieldErrors


class FiltersForm(FieldErrors, forms.Form):
    """Days are whole days, UTC."""

    by = forms.CharField(label="User", required=False, max_length=150)
    action = forms.CharField(label="Route contains", required=False, max_length=100)
    target = forms.CharField(label="Path contains", required=False, max_length=200)
    control = forms.ChoiceField(label="Action on a turn", required=False, choices=[("", "all"), *CONTROL_WORDS.items()])
    since = forms.DateField(label="From", required=False, widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(label="To", required=False, widget=forms.DateInput(attrs={"type": "date"}))
    before = forms.UUIDField(required=False, widget=forms.HiddenInput)

    def filters(self) -> Filters | None:
        """What was asked for; None where a field cannot be read: it must not let all through."""
        if not self.is_valid():
            return None
        given: dict[str, Any] = dict(self.cleaned_data)
        for name, days in (("since", 0), ("until", 1)):
            if day := given.get(name):
                given[name] = datetime.combine(day, time(), UTC) + timedelta(days=days)
        return Filters(**given)
