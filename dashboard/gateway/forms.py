"""What people type to make a key or an alias."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar

from django import forms

from dashboard.agents.models import Agent, Connection, Project
from dashboard.agents.selectors import agent_list, connection_list, project_current
from dashboard.gateway.access.limits import LIMITS
from dashboard.gateway.models import GatewayKey
from dashboard.platform.form_errors import FieldErrors
from dashboard.platform.number_bounds import with_bounds_of_model

LIFETIMES = {"never": None, "7": timedelta(days=7), "90": timedelta(days=90), "365": timedelta(days=365)}
MOST_CHARACTERS = 30_000


class KeyForm(FieldErrors, forms.ModelForm):  # type: ignore[type-arg]
    """A new key. What it opens is written a name to a line; limits that are left empty do not limit."""

    field_order = ("name", "lifetime", "mode", "default_connection", "scope", *LIMITS)

    lifetime = forms.ChoiceField(
        label="Expires",
        initial="90",
        choices=[("never", "never"), ("7", "in 7 days"), ("90", "in 90 days"), ("365", "in a year")],
    )
    scope = forms.CharField(
        label="Allowed models",
        required=False,
        max_length=MOST_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false", "class": "mono"}),
    )

    class Meta:
        model = GatewayKey
        fields = ("name", "mode", "default_connection", *LIMITS)
        widgets: ClassVar = {"name": forms.TextInput(attrs={"placeholder": "notebook, ci, …", "autocomplete": "off"})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"auto_id": "key-%s", **kwargs})
        with_bounds_of_model(self)
        self.fields["mode"].choices = [("", "inherit from the agent"), ("observe", "observe"), ("continue", "continue")]  # type: ignore[attr-defined]
        self.fields["mode"].label = "Mode"
        self.fields["default_connection"].label = "Connection for files and batches"
        self.fields["default_connection"].empty_label = "the only one that supports them"  # type: ignore[attr-defined]
        self.fields["default_connection"].queryset = connection_list(project=project_current())  # type: ignore[attr-defined]
        for name in self.Meta.fields:  # the page says it in its own words
            self.fields[name].help_text = ""
        for name in LIMITS:
            self.fields[name].widget.attrs.update(placeholder="no limit", inputmode="decimal")

    def lines(self) -> list[str]:
        """What it opens."""
        return str(self.cleaned_data["scope"]).splitlines()

    def lifetime_given(self) -> timedelta | None:
        return LIFETIMES[self.cleaned_data["lifetime"]]

    def limits(self) -> dict[str, Any]:
        """As `KeyLimits` names them."""
        return {name: self.cleaned_data[name] for name in LIMITS}

    def paces(self) -> list[forms.BoundField]:
        return [self[name] for name in LIMITS if name.endswith("_minute")]

    def budgets(self) -> list[forms.BoundField]:
        return [self[name] for name in LIMITS if not name.endswith("_minute")]


class AliasForm(FieldErrors, forms.Form):
    """Another name, and the agent or the connection it stands for."""

    name = forms.CharField(
        label="Name", max_length=200, widget=forms.TextInput(attrs={"placeholder": "gpt-4o", "autocomplete": "off"})
    )
    target = forms.ChoiceField(label="Target")
    model = forms.CharField(
        label="Model",
        max_length=200,
        required=False,
        widget=forms.TextInput(attrs={"placeholder": "same as the alias", "autocomplete": "off"}),
    )

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **{"auto_id": "alias-%s", **kwargs})
        agents, connections = agent_list(project=project), connection_list(project=project)
        self.targets: dict[str, Agent | Connection] = {
            **{f"connection:{connection.pk}": connection for connection in connections},
            **{f"agent:{agent.pk}": agent for agent in agents},
        }
        named = [(key, target.name) for key, target in self.targets.items()]
        self.fields["target"].choices = [  # type: ignore[attr-defined]
            ("connections", [one for one in named if one[0].startswith("connection:")]),
            ("agents", [one for one in named if one[0].startswith("agent:")]),
        ]

    def stands_for(self) -> dict[str, Agent | Connection]:
        """As `services.alias_create` takes it."""
        target = self.targets[self.cleaned_data["target"]]
        return {"agent" if isinstance(target, Agent) else "connection": target}
