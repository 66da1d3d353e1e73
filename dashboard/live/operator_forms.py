"""What an operator may change in a held turn, as fields filled in with what there is: what differs is what changes."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.html import format_html

from agentcore.error_policy import PRESETS
from agentcore.machine.pending_tool_calls import pending_calls
from agentcore.messages import Role, ToolCall
from agentcore.number_format import read_number
from agentcore.policy import LIMIT_NAMES
from agentcore.quoting import quoted
from agentcore.snapshot import Snapshot
from dashboard.agents.limit_fields import LIMIT_FIELDS, number_in_words
from dashboard.agents.policy_validation import limit_clean
from dashboard.agents.validation import MAX_TOKENS
from dashboard.live.operator_changes import ANSWERING, cap_stays, max_tokens_clean
from dashboard.live.turn_overrides import model_clean
from dashboard.platform.form_errors import FieldErrors
from dashboard.platform.strict_json import read_strictly
from dashboard.turns.models import Turn
from dashboard.turns.reason_looks import reason_label
from dashboard.turns.sent_caps import NO_CAP_SET, sent_cap
from dashboard.turns.templatetags.formatting import breaking

MAX_CHARS = 1_000_000  #: of one text
MESSAGES = 40  #: the last messages of a conversation, which can be rewritten
AS_IT_IS = ("", "unchanged")


class Area(forms.CharField):
    """A text of several lines. Browsers send every line's end as two characters, which changes nothing."""

    def to_python(self, value: Any) -> str:
        return str(super().to_python(value)).replace("\r\n", "\n")

    def has_changed(self, initial: Any, data: Any) -> bool:
        return self.to_python(initial) != self.to_python(data)


def area(label: str, *, rows: int, help_text: str = "", **attrs: str) -> Area:
    widget = forms.Textarea(attrs={"rows": rows, **attrs})
    return Area(label=label, required=False, strip=False, max_length=MAX_CHARS, help_text=help_text, widget=widget)


def json_area(label: str, *, help_text: str = "") -> Area:
    return area(label, rows=2, help_text=help_text, spellcheck="false", **{"class": "mono"})


class OperateForm(FieldErrors, forms.Form):
    """One form for all of it. `changes()` is what the service takes; faults are said at their fields."""

    expected_seq = forms.IntegerField(widget=forms.HiddenInput)
    preset = forms.ChoiceField(
        label="Error policy",
        required=False,
        choices=[AS_IT_IS, *((name, name.replace("_", " ")) for name in PRESETS)],
    )
    max_tokens = forms.IntegerField(
        label=LIMIT_NAMES["max_tokens"],
        required=False,
        min_value=1,
        max_value=MAX_TOKENS,
        help_text="The most output tokens of one call. Empty: no limit.",
        widget=forms.NumberInput(attrs={"inputmode": "numeric", "step": 1}),
    )
    model = forms.CharField(label="Model", required=False, max_length=200)
    system_prompt = area("System prompt", rows=3)
    answer_text = area("Text", rows=3, help_text="Used as the next model response, at no cost.")
    answer_calls = json_area("Tool calls", help_text='A JSON list such as [{"name": "calculator", "arguments": {}}].')
    answer_reason = forms.ChoiceField(
        label="Stop reason",
        required=False,
        choices=[("", "from the response"), *((word, reason_label(word)) for word in ANSWERING)],
    )

    def __init__(self, turn: Turn, snapshot: Snapshot, data: Mapping[str, Any] | None = None) -> None:
        initial = _initial(turn, snapshot)
        # The page sends what was typed into; all else is as it is.
        sent = None if data is None else {**_as_sent(initial), **{name: data[name] for name in data}}
        super().__init__(sent, auto_id="operate_%s", initial=initial)
        self.turn, self.snapshot = turn, snapshot
        self.calls = pending_calls(snapshot)
        if initial["max_tokens"] is None:
            self.fields["max_tokens"].widget.attrs["placeholder"] = NO_CAP_SET
        if cap_stays(turn):
            self.fields["max_tokens"].help_text = f"The most output tokens of one call. {turn.provider} requires it."
        for name, limit in LIMIT_FIELDS.items():
            mode = "numeric" if limit.whole else "decimal"
            attrs = {"inputmode": mode, "placeholder": _otherwise(name, snapshot)}
            hint = format_html('<span class="mono">{}</span>, in {}', breaking(name), limit.unit)
            self.fields[f"limit_{name}"] = forms.CharField(
                label=limit.label, required=False, help_text=hint, widget=forms.TextInput(attrs=attrs)
            )
        for place in _rewritable(snapshot):
            role = snapshot.messages[place - 1].role
            self.fields[f"message_{place}"] = area(f"{place} · {role}", rows=2)
        for number in range(len(self.calls)):
            self.fields[f"arguments_{number}"] = json_area("Arguments")
            self.fields[f"result_{number}"] = area("Result (the tool is not run)", rows=2)
        self.order_fields(self._of_page())
        for name in self.changed_data if sent else ():
            self.fields[name].widget.attrs["data-typed"] = "yes"

    def _of_page(self) -> list[str]:
        """The names of the fields in the order in which they stand on the page."""
        calls = [f"{part}_{number}" for number in range(len(self.calls)) for part in ("arguments", "result")]
        limits = [f"limit_{name}" for name in LIMIT_FIELDS]
        messages = [name for name in self.fields if name.startswith("message_")]
        answer = ("answer_text", "answer_calls", "answer_reason")
        return [*calls, *limits, "preset", "max_tokens", "model", "system_prompt", *messages, *answer]

    @property
    def limits(self) -> list[forms.BoundField]:
        return [self[f"limit_{name}"] for name in LIMIT_FIELDS]

    @property
    def messages(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name.startswith("message_")]

    @property
    def tool_calls(self) -> list[tuple[ToolCall, forms.BoundField, forms.BoundField]]:
        return [(call, self[f"arguments_{n}"], self[f"result_{n}"]) for n, call in enumerate(self.calls)]

    def clean(self) -> dict[str, Any]:
        """Numbers and JSON, each judged at its own field."""
        self.cleaned: dict[str, Any] = {}
        for name in LIMIT_FIELDS:
            self._take(f"limit_{name}", lambda text, name=name: limit_clean(name, _number(text)))
        for number, call in enumerate(self.calls):
            self._take(f"arguments_{number}", lambda text, call=call: _arguments(text, call))
        self._take("answer_calls", _calls)
        self._take("max_tokens", self._max_tokens)
        self._take("model", model_clean)
        return self.cleaned_data

    def _take(self, name: str, judge: Any) -> None:
        """A field that differs from what there is, judged; what is wrong is said at it."""
        if name not in self.changed_data or name in self.errors:
            return
        try:
            self.cleaned[name] = judge(self.cleaned_data.get(name))
        except ValidationError as error:
            self.add_error(name, error)

    def _max_tokens(self, value: int | None) -> int | None:
        """None takes the limit away; of a turn without one, an empty field changes nothing."""
        if value is None and (why_not := cap_stays(self.turn)):
            raise ValidationError(f"{why_not} The current value is {self.initial['max_tokens']:,}.")
        return None if value is None else max_tokens_clean(self.turn, value)

    def changes(self) -> dict[str, Any]:
        """Arguments of `turn_control`."""
        said, changed, judged = self.cleaned_data, set(self.changed_data), self.cleaned
        request = {name: said[name] for name in ("system_prompt", "model") if name in changed}
        rewritten = {int(name[8:]): said[name] for name in changed if name.startswith("message_")}
        numbers = range(len(self.calls))
        return {
            "expected_seq": said["expected_seq"],
            "limits": {name[6:]: value for name, value in judged.items() if name.startswith("limit_")},
            "max_tokens": judged.get("max_tokens"),
            "no_max_tokens": "max_tokens" in judged and judged["max_tokens"] is None,
            "error_policy": {"preset": said["preset"]} if said.get("preset") else None,
            "request": request,
            "rewritten": rewritten,
            "answer": self._answer(),
            "tool_calls": [
                {"call_id": self.calls[n].id, "arguments": judged[f"arguments_{n}"]}
                for n in numbers
                if f"arguments_{n}" in judged
            ],
            "tool_results": [
                {"call_id": self.calls[n].id, "name": self.calls[n].name, "result": said[f"result_{n}"]}
                for n in numbers
                if said.get(f"result_{n}")
            ],
        }

    def carried_over(self, turn: Turn, snapshot: Snapshot) -> "OperateForm":
        """What was typed, on top of what the turn has become since: nobody else's change is undone unseen."""
        typed = {name: self.data[name] for name in self.changed_data if name in self.data}
        return OperateForm(turn, snapshot, {**typed, "expected_seq": turn.last_seq})

    @property
    def messages_wrong(self) -> bool:
        return any(field.errors for field in self.messages)

    @property
    def answer_wrong(self) -> bool:
        return any(name.startswith("answer_") for name in self.errors) or bool(self.data.get("answer_text"))

    def _answer(self) -> dict[str, Any] | None:
        given = {
            "text": self.cleaned_data.get("answer_text"),
            "tool_calls": self.cleaned.get("answer_calls"),
            "stop_reason": self.cleaned_data.get("answer_reason"),
        }
        set_ = {key: value for key, value in given.items() if value}
        return set_ or None

    def take_errors(self, error: ValidationError) -> None:
        """What the service finds wrong, beside the field it is about."""
        by_field = error.message_dict if hasattr(error, "error_dict") else {"": error.messages}
        names = {"answer": "answer_text", "request": "system_prompt"}
        for name, messages in by_field.items():
            field = names.get(name, name)
            for message in messages:
                self.add_error(field if field in self.fields else None, message)


def _otherwise(name: str, snapshot: Snapshot) -> str:
    """What holds where a limit is left empty; the empty text where it must say something."""
    if name == "max_total_completion_tokens":
        total = snapshot.completion_default
        return f"default: {'no limit' if total is None else f'{number_in_words(total)} tokens'}"
    unset = LIMIT_FIELDS[name].unset
    return f"default: {unset}" if unset else ""


def _initial(turn: Turn, snapshot: Snapshot) -> dict[str, Any]:
    asked = snapshot.asked
    calls = enumerate(pending_calls(snapshot))
    limits = {f"limit_{name}": _shown(getattr(snapshot.limits, name)) for name in LIMIT_FIELDS}
    return {
        "expected_seq": turn.last_seq,
        "max_tokens": sent_cap(asked),
        "model": asked.model,
        "system_prompt": asked.system_prompt,
        **limits,
        **{f"message_{place}": snapshot.messages[place - 1].text for place in _rewritable(snapshot)},
        **{f"arguments_{n}": call.raw if call.issue else json.dumps(dict(call.arguments)) for n, call in calls},
    }


def _as_sent(initial: Mapping[str, Any]) -> dict[str, Any]:
    """As a browser would send back what there is; but which record was seen, only the page knows."""
    return {name: "" if value is None else value for name, value in initial.items() if name != "expected_seq"}


def _rewritable(snapshot: Snapshot) -> Iterator[int]:
    """Places, from 1, of the messages that are texts of the user's and the model's."""
    first = max(0, len(snapshot.messages) - MESSAGES)
    for place, message in enumerate(snapshot.messages[first:], start=first + 1):
        if message.role in (Role.USER, Role.ASSISTANT) and (message.text or message.role is Role.USER):
            yield place


def _shown(number: float | None) -> str:
    return "" if number is None else f"{number:g}" if isinstance(number, float) else str(number)


def _number(text: str | None) -> Any:
    """A number, or the words themselves, which are then refused as such; None where nothing is said."""
    text = (text or "").strip()
    if not text:
        return None
    number = read_number(text)
    return text if number is None else number


def _json(text: str | None, otherwise: Any) -> Any:
    if not (text or "").strip():
        return otherwise
    try:
        return read_strictly(text or "")
    except ValueError as error:
        raise ValidationError("This is not valid JSON: %(why)s.", code="json", params={"why": error}) from error


def _arguments(text: str | None, call: ToolCall) -> dict[str, Any]:
    value = _json(text, {})
    if not isinstance(value, dict):
        raise ValidationError(f"The arguments of {call.name} must be an object, such as {{}}.")
    return value


def _calls(text: str | None) -> list[dict[str, Any]]:
    value = _json(text, [])
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise ValidationError("The calls must be a list of objects with a name and arguments.")
    return value


def breakpoint_asked(given: Mapping[str, Any]) -> dict[str, Any]:
    """A breakpoint as the page's form says it, its budget in percent. Raises `ValidationError`."""
    names = {"breakpoint": "state", "trigger": "trigger", "stop_reason": "stop_reason", "tool": "tool"}
    asked: dict[str, Any] = {key: given[name] for name, key in names.items() if given.get(name)}
    percent = str(given.get("budget") or "").strip().removesuffix("%").strip()
    if percent:
        try:
            asked["budget_below"] = float(percent) / 100
        except ValueError as error:
            raise ValidationError(f"Enter the budget as a percentage such as 10, not {quoted(percent)}.") from error
    return asked
