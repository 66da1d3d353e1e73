"""What forms say is wrong: one sentence for each kind of fault, which begins with the name of its field.

`FieldErrors` is a base of every form. It words what the form library finds, by the code of the fault. Sentences of this
product are plain strings and stay as they are; those of the library are translated when they are shown (`Promise`).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS, FieldDoesNotExist, ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.utils.functional import Promise
from django.utils.text import capfirst

from agentcore.number_format import as_set, number_rule
from agentcore.quoting import shortened
from dashboard.platform.number_fields import is_whole, read_numbers_as_shown
from dashboard.platform.one_line import ONE_LINE, read_one_lines

#: The faults of a number that one sentence answers: what it must be.
NUMBER_CODES = frozenset({"invalid", "min_value", "max_value", "step_size"})
#: By the code of a fault, what is said after the name of the field.
FAULTS: Mapping[str, str] = {
    "required": "is required.",
    "blank": "is required.",
    "null": "is required.",
    "min_value": "must be at least {limit_value}.",
    "max_value": "must be at most {limit_value}.",
    "min_length": "must have at least {limit_value} characters; it has {show_value}.",
    "max_length": "must have at most {limit_value} characters; it has {show_value}.",
    "max_digits": "must have at most {max} digits.",
    "max_decimal_places": "must have at most {max} decimal places.",
    "max_whole_digits": "must have at most {max} digits before the decimal point.",
    "null_characters_not_allowed": "must not contain the character U+0000.",
    "invalid_choice": "must be one of the choices offered, not “{value}”.",
    "invalid_pk_value": "must be one of the choices offered, not “{pk}”.",
    "invalid_list": "must be a list of the choices offered.",
    "unique": "is already in use. Choose another.",
    "item_invalid": "has a value that cannot be used.",
}
#: What a value must be that cannot be read, by its field. The first that fits counts.
READ_AS: tuple[tuple[type[forms.Field], str], ...] = (
    (forms.DateTimeField, "must be a date and time such as 2026-11-20T14:30."),
    (forms.DateField, "must be a date such as 2026-11-20."),
    (forms.UUIDField, "must be an ID of 32 hexadecimal digits."),
    (forms.URLField, "must be an address such as https://example.com/hook."),
    (forms.EmailField, "must be an e-mail address such as ada@example.com."),
    (forms.Field, "cannot be read."),
)


class NamedError(ValidationError):
    """A fault whose sentence begins with the name of its field."""


class RuleError(ValidationError):
    """A number that is not what it must be, of a setting. Programs are told its name and key; a form says the rule
    behind the label of its field."""

    def __init__(self, named: str, key: str, rule: str) -> None:
        super().__init__(f"{named} {rule}", code=key)
        self.rule = rule


class FieldErrors(forms.BaseForm):
    """The errors of a form in one wording, each sentence once. Its numbers are read as pages write them."""

    def full_clean(self) -> None:
        read_numbers_as_shown(self)
        read_one_lines(self)
        super().full_clean()

    def add_error(self, field: str | None, error: Any) -> None:
        """Word what the library found; a sentence that the field has already is not said again."""
        told = error if isinstance(error, ValidationError) else ValidationError(error)
        by_field = told.error_dict if hasattr(told, "error_dict") else {field or NON_FIELD_ERRORS: told.error_list}
        for name, faults in by_field.items():
            known = set(self.errors.get(name, ()))
            new = [fault for fault in self._worded(name, faults) if not known.issuperset(fault.messages)]
            if new:
                super().add_error(None if name == NON_FIELD_ERRORS else name, new)

    def _worded(self, name: str, faults: Iterable[ValidationError]) -> Iterator[ValidationError]:
        said: set[str] = set()
        for fault in faults:
            worded = self._with_name(name, fault) if name in self.fields else fault
            if not said.issuperset(worded.messages):
                said.update(worded.messages)
                yield worded

    def _with_name(self, name: str, fault: ValidationError) -> ValidationError:
        rule = fault.rule if isinstance(fault, RuleError) else None
        words = rule or _fault_of(self.fields[name], fault, _validators(self, name))
        if words is None:
            return fault
        return NamedError(f"{label_of(self, name)} {words}", code=fault.code)

    @property
    def wrong_fields(self) -> list[tuple[str, str]]:
        """The fields to correct, each with its id in the page, in the order in which they stand there."""
        wrong = [self[name] for name in self.fields if name in self.errors and not self[name].is_hidden]
        return [(field.id_for_label or str(field.auto_id), label_of(self, field.name)) for field in wrong]

    @property
    def faults(self) -> list[str]:
        """All sentences, for a page that has no place for them beside the fields."""
        return [str(words) for name in (NON_FIELD_ERRORS, *self.fields) for words in self.errors.get(name, ())]

    @property
    def form_faults(self) -> list[str]:
        """What is wrong with the form as a whole, and with the fields that nobody sees."""
        hidden = [words for field in self.hidden_fields() for words in field.errors]
        return list(dict.fromkeys([*self.non_field_errors(), *hidden]))


def label_of(form: forms.BaseForm, name: str) -> str:
    """The name of a field as people read it, without the key that programs know it by."""
    label = form[name].label
    return str(capfirst(str(getattr(label, "plain", label))))


def _fault_of(field: forms.Field, fault: ValidationError, validators: Iterable[Any]) -> str | None:
    """What follows the name of the field; None where the sentence is one of this product."""
    code = str(fault.code)
    if isinstance(field, forms.IntegerField) and code in NUMBER_CODES:
        return _rule_of(validators, whole=is_whole(field), unit=getattr(field, "unit", ""))
    if code == "one_line":
        return ONE_LINE
    if code == "json":
        return f"must be valid JSON: {(fault.params or {}).get('why', '')}."
    if not isinstance(fault.message, Promise):
        return None
    if code == "invalid":
        return next(words for kind, words in READ_AS if isinstance(field, kind))
    return fault_words(fault)


def fault_words(fault: ValidationError) -> str | None:
    """What follows the name of the field, of a fault that the library words; None for one that it does not know."""
    return _words_of(fault) if isinstance(fault.message, Promise) else None


def _words_of(fault: ValidationError) -> str | None:
    words = FAULTS.get(str(fault.code))
    return words.format_map(_Shown(fault.params or {})) if words else None


def told_of(name: str, faults: Iterable[ValidationError]) -> list[str]:
    """What a program is told of a field: the sentences of this product, else the library's in this wording."""
    known = list(faults)
    bounds = [f"{name} {_words_of(fault)}" for fault in known if fault.code in FAULTS and fault.code in NUMBER_CODES]
    ours = [str(words) for fault in known if not isinstance(fault.message, Promise) for words in fault.messages]
    theirs = [f"{name} {fault_words(fault) or 'cannot be read.'}" for fault in known]
    return list(dict.fromkeys(bounds or ours or theirs))


def _rule_of(validators: Iterable[Any], *, whole: bool, unit: str) -> str:
    """What a number must be, of the bounds that hold. `unit`: where the field says what it counts."""
    known = list(validators)
    least = [_limit(one) for one in known if isinstance(one, MinValueValidator)]
    most = [_limit(one) for one in known if isinstance(one, MaxValueValidator)]
    return number_rule(max(least, default=None), min(most, default=None), whole=whole, unit=unit)


def _limit(validator: Any) -> float:
    limit = validator.limit_value
    value: float = limit() if callable(limit) else limit
    return int(value) if float(value).is_integer() else float(value)


def _validators(form: forms.BaseForm, name: str) -> list[Any]:
    """Of the field, and of the column that it fills."""
    own = list(form.fields[name].validators)
    model = getattr(getattr(form, "_meta", None), "model", None)
    if model is None:
        return own
    try:
        return [*own, *model._meta.get_field(name).validators]
    except FieldDoesNotExist:
        return own


class _Shown(dict[str, Any]):
    """The values of a fault as a sentence quotes them: numbers with commas, texts cut."""

    def __getitem__(self, key: str) -> str:
        value = self.get(key)
        return as_set(value) if isinstance(value, int) else shortened(str(value))
