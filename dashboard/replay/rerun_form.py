"""The form of a re-run: its connection, messages, tool results and breakpoints."""

from collections.abc import Iterator, Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from agentcore.messages import Message, ToolCall
from agentcore.states import DECIDING, State
from dashboard.agents.selectors import connection_list
from dashboard.live.turn_loader import connection_of
from dashboard.platform.form_errors import FieldErrors
from dashboard.replay.rerun_changes import RerunChanges
from dashboard.replay.selectors import RerunPlace, began_with, messages_at
from dashboard.turns.models import Turn

LONGEST_RAW = 60  #: characters of a call's arguments in a label


class RerunForm(FieldErrors, forms.Form):
    """Everything stands as it is at the place; what is left as it stands is no change."""

    from_record = forms.CharField(required=False, widget=forms.HiddenInput)
    connection = forms.ChoiceField(label="Connection", required=False)
    model = forms.CharField(label="Model", required=False, max_length=200)
    system_prompt = forms.CharField(
        label="System prompt", required=False, strip=False, widget=forms.Textarea(attrs={"rows": 3})
    )
    hold = forms.MultipleChoiceField(
        label="Hold on entering",
        required=False,
        choices=[(state.value, state.value.replace("_", " ")) for state in DECIDING],
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, turn: Turn, place: RerunPlace | None, data: Any = None) -> None:
        self.place = place
        self.standing = messages_at(turn, place)
        super().__init__(data, auto_id="again_%s", initial=self._initial(turn, place))
        names = list(connection_list(project=turn.project).order_by("name").values_list("name", flat=True))
        connection: Any = self.fields["connection"]
        connection.choices = [(name, name) for name in names]
        for name, field in self._said():
            self.fields[name] = field
        self.fields["hold"] = self.fields.pop("hold")  # the last of the page

    def _initial(self, turn: Turn, place: RerunPlace | None) -> dict[str, Any]:
        own = connection_of(turn)
        setup = place.snapshot.setup if place else None
        prompt = setup.system_prompt if setup else began_with(turn).setup.system_prompt
        asked = turn.policy.get("system_prompt")
        return {
            "from_record": place.seq if place else "",
            "connection": turn.overrides.get("connection", own.name if own else ""),
            "model": setup.model if setup else turn.model,
            "system_prompt": prompt if place or asked is None else asked,
        }

    def _said(self) -> Iterator[tuple[str, forms.Field]]:
        for place, message in enumerate(self.standing, start=1):
            yield f"message_{place}", _text(f"Message {place}, {message.role}", message.text)
        if self.place is not None and self.place.snapshot.state is State.EXECUTE_TOOLS:
            for call in self.place.snapshot.calls:
                yield f"result_{call.id}", _text(_called(call), "", placeholder="run the tool")

    @property
    def messages(self) -> list[tuple[Message, forms.BoundField]]:
        return [(message, self[f"message_{place}"]) for place, message in enumerate(self.standing, start=1)]

    @property
    def results(self) -> list[forms.BoundField]:
        return [self[name] for name in self.fields if name.startswith("result_")]

    @property
    def words(self) -> RerunChanges:
        """The values that differ from the recording."""
        said: Mapping[str, Any] = self.cleaned_data
        texts = {place: _lines(said[f"message_{place}"]) for place, _ in enumerate(self.standing, start=1)}
        results = {name.removeprefix("result_"): said[name] for name in said if name.startswith("result_")}
        return RerunChanges(
            messages={place: text for place, text in texts.items() if text != _lines(self.standing[place - 1].text)},
            results={call_id: text for call_id, text in results.items() if text},
            connection=said["connection"] if said["connection"] != self.initial["connection"] else None,
            breakpoints=[{"state": state} for state in said["hold"]] if said["hold"] else None,
        )

    @property
    def overrides(self) -> dict[str, Any]:
        """Model and system prompt, where they are others."""
        said, was = self.cleaned_data, self.initial
        model = {"model": said["model"]} if said["model"] and said["model"] != was["model"] else {}
        prompt = _lines(said["system_prompt"])
        return {**model, **({"system_prompt": prompt} if prompt != _lines(was["system_prompt"]) else {})}

    def take_errors(self, error: ValidationError) -> None:
        """Each sentence beside its field, or above all."""
        by_field = error.message_dict if hasattr(error, "error_dict") else {"": error.messages}
        for name, sentences in by_field.items():
            for sentence in sentences:
                self.add_error(name if name in self.fields and name != "from_record" else None, sentence)


def _called(call: ToolCall) -> str:
    shown = call.raw if len(call.raw) <= LONGEST_RAW else f"{call.raw[:LONGEST_RAW]}…"
    return f"result of {call.name} {shown}"


def _text(label: str, initial: str, *, placeholder: str = "") -> forms.Field:
    rows = min(10, max(2, len(initial) // 80 + initial.count("\n") + 1))
    area = forms.Textarea(attrs={"rows": rows, "placeholder": placeholder})
    return forms.CharField(label=label, required=False, strip=False, initial=initial, widget=area)


def _lines(text: str) -> str:
    """A form sends line ends its own way."""
    return text.replace("\r\n", "\n")
