"""The forms of connections and agents, on their pages and in the admin, with every fault in words beside its field."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import Truncator

from agentcore.events import Otherwise
from agentcore.policy import LIMIT_NAMES
from agentcore.resource import APPROVAL_SECONDS
from dashboard.agents import selectors
from dashboard.agents.approvals import LONGEST, approvals_clean
from dashboard.agents.breakpoints import breakpoints_clean
from dashboard.agents.change_tracking import MAX_WHY
from dashboard.agents.continuation_settings import WAYS
from dashboard.agents.json_fields import JsonText
from dashboard.agents.models import Agent, Connection
from dashboard.agents.named_models import Named
from dashboard.agents.offered_tools import offered_tools
from dashboard.agents.stale_forms import StaleForm
from dashboard.agents.validation import MAX_TOKENS, json_schema_valid
from dashboard.platform.egress import keys

#: What becomes of calls that nobody approves in time.
OTHERWISE = {
    Otherwise.REFUSE: "refuse the calls",
    Otherwise.RUN: "run the tools",
    Otherwise.CANCEL: "cancel the turn",
}
TEST = "_test"  #: the name of the button that tests a connection
MAX_TOLD_CHARS = 200  #: of a tool's description
#: The settings of a connection and of an agent as pages arrange them, by heading.
CONNECTION_SECTIONS = {
    "Server": ("name", "provider", "base_url", "api_key_env"),
    "Server limits": ("max_output_tokens", "context_window", "max_concurrent_calls", "requests_per_minute"),
    "Requests": ("max_tokens_field", "hint_role"),
    "Continuation": ("prefill", "prefill_way", "prefill_echo"),
}
#: The choice that stands for none, in an agent's form.
EMPTY = {"connection": "Choose a connection", "policy": "Inherit (attached policy, else default)"}
AGENT_SECTIONS = {
    "Model": ("name", "connection", "model", "max_tokens"),
    "Prompt and answer": ("system_prompt", "envelope_schema"),
    "Tools": ("tools",),
    "Approval of tool calls": ("approve", "approve_seconds", "approve_otherwise"),
    "Policy and control": ("policy", "gateway_mode", "breakpoints"),
}


def why_field() -> forms.CharField:
    """Why something is changed: kept with the change, beside who did it and when."""
    return forms.CharField(
        required=False,
        max_length=MAX_WHY,
        label="Reason",
        help_text="Stored with the change. It cannot be edited later.",
    )


class KeyNameInput(forms.TextInput):
    """Offers the variables of the environment that may be named, which are not all that may: others can be set yet."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        options = format_html_join("", '<option value="{}">', ((found,) for found in keys.found()))
        field = super().render(name, value, {**(attrs or {}), "list": "key-names", "autocomplete": "off"}, renderer)
        return format_html('{}<datalist id="key-names">{}</datalist>', field, options)


class ConnectionForm(StaleForm):
    field_order = (*(name for names in CONNECTION_SECTIONS.values() for name in names), "why", "test_model")

    provider = forms.ChoiceField()
    prefill_way = forms.ChoiceField(
        label="Continuation method",
        required=False,
        choices=list(WAYS.items()),
        help_text="How the request marks the partial answer that the model is to continue. Used only if the connection "
        "continues exactly.",
    )
    test_model = forms.CharField(
        required=False,
        max_length=200,
        label="Model to test with",
        help_text="A test calls this model, usually twice and at most eight times, for about a dozen tokens each. "
        "Each request ends with the start of an answer.",
    )
    why = why_field()

    class Meta:
        model = Connection
        fields = (
            "name",
            "provider",
            "base_url",
            "api_key_env",
            "max_output_tokens",
            "context_window",
            "max_concurrent_calls",
            "requests_per_minute",
            "hint_role",
            "max_tokens_field",
            "prefill",
            "prefill_way",
            "prefill_echo",
        )
        widgets: ClassVar = {"api_key_env": KeyNameInput}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        from agentcore.providers import PROVIDERS

        super().__init__(*args, **kwargs)
        belong_to_current_project(self.instance)
        self.fields["provider"] = forms.ChoiceField(
            choices=[(name, name) for name in PROVIDERS],
            help_text="The provider whose API the server speaks. The built-in simulator speaks openai. "
            "Its calls stay on this machine and cost nothing.",
        )
        self.fields["api_key_env"].help_text += f" Allowed by WHYSTOP_KEY_NAMES: {keys.listed()}."
        self.initial["test_model"] = selectors.model_to_test(connection=self.instance)

    @property
    def sections(self) -> Mapping[str, list[forms.BoundField]]:
        return sections(self, CONNECTION_SECTIONS)

    def clean_prefill_way(self) -> str:
        return str(self.cleaned_data.get("prefill_way") or "prefill")

    def clean(self) -> dict[str, Any]:
        """A test needs a model to ask."""
        said: dict[str, Any] = super().clean() or self.cleaned_data
        if TEST in self.data and not said.get("test_model"):
            self.add_error("test_model", "Enter a model of this server for the test.")
        return said


class AgentForm(StaleForm):
    field_order = tuple(name for names in AGENT_SECTIONS.values() for name in names)

    tools = forms.MultipleChoiceField(
        label="Tools the agent may call",
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    approve = forms.MultipleChoiceField(
        label="Tools that need approval",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="These tools run only after a person approves the call, in the inbox or on the turn's page.",
    )
    approve_seconds = forms.FloatField(
        label=f"{LIMIT_NAMES[APPROVAL_SECONDS]} (seconds)",
        required=False,
        min_value=1,
        max_value=LONGEST,
        help_text="How long the turn waits for approval. Leave empty to wait without a limit.",
    )
    approve_otherwise = forms.ChoiceField(
        label="If not approved in time",
        required=False,
        choices=[(word.value, OTHERWISE[word]) for word in Otherwise],
    )
    why = why_field()

    class Meta:
        model = Agent
        fields = (
            "name",
            "connection",
            "model",
            "max_tokens",
            "system_prompt",
            "tools",
            "policy",
            "envelope_schema",
            "gateway_mode",
            "breakpoints",
        )
        labels: ClassVar = {"max_tokens": LIMIT_NAMES["max_tokens"]}
        help_texts: ClassVar = {"policy": "The limits and rules for the turns of this agent."}
        field_classes: ClassVar = {"envelope_schema": JsonText, "breakpoints": JsonText}
        widgets: ClassVar = {"system_prompt": forms.Textarea(attrs={"rows": 6, "class": "vLargeTextField"})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "max_tokens" in self.fields:
            self.fields["max_tokens"].validators = [MinValueValidator(1), MaxValueValidator(MAX_TOKENS)]
            self.fields["max_tokens"].widget.attrs["min"] = 1
        belong_to_current_project(self.instance)
        for name, choices in (("connection", selectors.connection_list), ("policy", selectors.policy_list)):
            if isinstance(field := self.fields.get(name), forms.ModelChoiceField):
                field.queryset = choices(project=self.instance.project)
                field.empty_label = EMPTY.get(name, field.empty_label)
        if isinstance(field := self.fields.get("tools"), forms.MultipleChoiceField):
            field.choices = _tool_choices(self.instance)
            approved = self.fields["approve"]
            assert isinstance(approved, forms.MultipleChoiceField), "declared above"
            approved.choices = [(name, format_html("<code>{}</code>", name)) for name, _ in field.choices]
        told = self.instance.approvals or {}
        self.initial["approve"] = told.get("tools", [])
        self.initial["approve_seconds"] = told.get("seconds")
        self.initial["approve_otherwise"] = told.get("otherwise", Otherwise.REFUSE.value)

    @property
    def sections(self) -> Mapping[str, list[forms.BoundField]]:
        return sections(self, AGENT_SECTIONS)

    def clean_envelope_schema(self) -> Any:
        """Also of an empty list, which the model takes for no schema."""
        schema = self.cleaned_data["envelope_schema"]
        json_schema_valid(schema)
        return schema

    def clean_breakpoints(self) -> Any:
        """Also of an empty object, which the model takes for no breakpoint."""
        breakpoints = self.cleaned_data["breakpoints"]
        if breakpoints is not None and not breakpoints:
            breakpoints_clean(breakpoints, tools=())
        return breakpoints

    def clean(self) -> dict[str, Any]:
        """What is said of approvals becomes the agent's; a fault in it is said at the tools that need them."""
        said: dict[str, Any] = super().clean() or self.cleaned_data
        given = {
            "tools": said.get("approve", []),
            "seconds": said.get("approve_seconds"),
            "otherwise": said.get("approve_otherwise") or None,
        }
        self.instance.approvals = None
        try:
            self.instance.approvals = approvals_clean(given, tools=said.get("tools", []))
        except ValidationError as error:
            self.add_error("approve", error)
        return said


def sections(form: forms.BaseForm, arranged: Mapping[str, Iterable[str]]) -> dict[str, list[forms.BoundField]]:
    """The fields of a form by the heading they stand under."""
    return {heading: [form[name] for name in names] for heading, names in arranged.items()}


def _tool_choices(agent: Agent) -> list[tuple[str, SafeString]]:
    """Each tool with its description; one that the agent has and that is gone stays, to be taken away."""
    told = {
        tool.name: Truncator(tool.spec.description).chars(MAX_TOLD_CHARS)
        for tool in offered_tools.value(project_id=agent.project_id)
    }
    gone = dict.fromkeys((name for name in agent.tools if name not in told), "It no longer exists. Remove it.")
    return [
        (name, format_html("<code>{}</code> <small>{}</small>", name, about)) for name, about in (told | gone).items()
    ]


def belong_to_current_project(instance: Named) -> None:
    """Before it is validated: names are free or taken within a project."""
    if instance.project_id is None:
        instance.project = selectors.project_current()
