"""Forms that notice when somebody else has saved after the page was opened, so that no change is undone unseen."""

import json
from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.utils.text import Truncator

from agentcore.number_format import number
from dashboard.platform.form_errors import FieldErrors
from dashboard.platform.number_bounds import with_bounds_of_model

MAX_SHOWN_CHARS = 60  #: of a value in the message


class StaleForm(FieldErrors, forms.ModelForm):  # type: ignore[type-arg]
    """`seen` is the newest change when the page was rendered. A form without it is not checked.

    Validate it inside of the transaction that saves: of two windows, the second one waits and sees the first's change.

    After the message the form has the newest change, so that saving it again replaces the other values.
    """

    seen = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        with_bounds_of_model(self)
        if not self.instance._state.adding:
            self.initial["seen"] = _newest(self.instance)

    def clean(self) -> dict[str, Any]:
        said: dict[str, Any] = super().clean() or self.cleaned_data
        seen = said.get("seen")
        if seen is not None and not self.instance._state.adding and (changed := self._changed_after(seen)):
            given = cast("QueryDict", self.data).copy()
            given[self.add_prefix("seen")] = str(_newest(self.instance))
            self.data = given
            raise ValidationError(
                f"These settings were changed after you opened this page: {'; '.join(changed)}. Nothing was saved. "
                "Check the values, then save again to replace them."
            )
        return said

    def _changed_after(self, seen: int) -> list[str]:
        """Each setting that has another value now, with that value. The row stays so until the transaction ends."""
        now = type(self.instance)._default_manager.select_for_update().get(pk=self.instance.pk)
        rows = self.instance.changes.filter(pgh_id__gte=seen).order_by("pgh_id")
        before, after = rows.first(), rows.last()
        if before is None or before.pgh_id != seen or before is after:
            return []
        kept = {field.name: field for field in now._meta.concrete_fields if hasattr(after, field.attname)}
        names = [name for name, kind in kept.items() if getattr(before, kind.attname) != getattr(after, kind.attname)]
        return [f"{self._named(name)} is now {_shown(getattr(now, name))}" for name in names]

    def _named(self, name: str) -> str:
        field = self.fields.get(name)
        return str((field.label if field else None) or name.replace("_", " "))


def _newest(instance: Any) -> int | None:
    newest: int | None = instance.changes.order_by("-pgh_id").values_list("pgh_id", flat=True).first()
    return newest


def _shown(value: object) -> str:
    said = _in_words(value)
    return f"“{Truncator(said).chars(MAX_SHOWN_CHARS)}”" if said else "empty"


def _in_words(value: object) -> str:
    """As the form has it: names with commas, other lists and objects as JSON."""
    if value is None or value in ([], {}):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return number(value)
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else str(value)
