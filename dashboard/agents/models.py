"""Who is asked, where, and within which limits.

Project ─┬─ Connection ── Agent        a connection's key stays in the environment; only the variable's name is stored
         └─ Policy ── PolicyVersion    a version never changes: the database refuses it (migration 0002)
              ├─ PolicyActivation      since when which version counts, or will (`activation_models`)
              └─ PolicyAttachment      where a policy counts beside the agents that name it (`activation_models`)
Changes of projects, connections, agents and attachments are kept by the database itself (`change_tracking`).
"""

from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from agentcore.policy import LIMIT_NAMES
from dashboard.agents import policy_validation, validation
from dashboard.agents.activation_models import PolicyActivation, PolicyAttachment
from dashboard.agents.approvals import approvals_clean
from dashboard.agents.breakpoints import breakpoints_clean
from dashboard.agents.change_tracking import keep_changes
from dashboard.agents.continuation_settings import NOT_A_CHOICE, Continuing
from dashboard.agents.criteria import criteria_valid
from dashboard.agents.named_models import Named
from dashboard.agents.offered_tools import offered_tools
from dashboard.platform.egress.keys import key_for
from dashboard.platform.ids import new_id

__all__ = ["Agent", "Connection", "Policy", "PolicyActivation", "PolicyAttachment", "PolicyVersion", "Project"]

MOST_CALLS = (1_000_000, "It must be at most 1,000,000 calls; leave it empty for no limit.")


class Project(models.Model):
    """A project, which owns all other data. `default` always exists. `accounts.models.Membership` holds the members."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    name = models.CharField(max_length=64, unique=True, validators=[validation.name_valid])
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name


class Connection(Named, Continuing):
    """One endpoint: dialect, address and output limits. The API key is read from the environment at each call."""

    provider = models.CharField(max_length=64, validators=[validation.provider_valid])
    base_url = models.CharField(
        "address",
        max_length=500,
        validators=[validation.base_url_valid],
        help_text="The base URL, as the provider's own client library takes it: with /v1 for OpenAI, without it for "
        "Anthropic and Gemini.",
    )
    api_key_env = models.CharField(
        "API key variable",
        max_length=128,
        blank=True,
        default="",
        validators=[validation.api_key_env_valid],
        help_text="The name of the environment variable that holds the API key, such as OPENAI_API_KEY. Never enter "
        "the key itself. Leave empty to send no key; Bedrock calls are signed with the environment's AWS credentials.",
    )
    max_output_tokens = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1, "It must be at least 1 token.")],
        help_text="The most output tokens that one call may request. Leave empty if unknown.",
    )
    context_window = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1, "It must be at least 1 token.")],
        help_text="Input and output tokens of one call together. Leave empty if unknown.",
    )
    max_concurrent_calls = models.PositiveIntegerField(
        "concurrent calls",
        null=True,
        blank=True,
        validators=[MinValueValidator(1, "It must be at least 1 call."), MaxValueValidator(*MOST_CALLS)],
        help_text="Calls in progress at the same time, across all workers. Further calls wait in a queue. "
        "Leave empty for no limit.",
    )
    requests_per_minute = models.PositiveIntegerField(
        "calls per minute",
        null=True,
        blank=True,
        validators=[MinValueValidator(1, "It must be at least 1 call."), MaxValueValidator(*MOST_CALLS)],
        help_text="Calls started within any 60 seconds, across all workers. Further calls wait in a queue. "
        "Leave empty for no limit.",
    )
    hint_role = models.CharField(
        max_length=16,
        default="system",
        choices=[("system", "system"), ("user", "user")],
        error_messages=NOT_A_CHOICE,
        help_text="The role of the hint that asks the model to continue. Select user if the server rejects system.",
    )
    max_tokens_field = models.CharField(
        max_length=32,
        default="max_tokens",
        choices=[("max_tokens", "max_tokens"), ("max_completion_tokens", "max_completion_tokens")],
        error_messages=NOT_A_CHOICE,
        help_text="The field that limits the output (OpenAI-style). Reasoning models need max_completion_tokens.",
    )

    @property
    def ceiling(self) -> int | None:
        """Tokens one call may ask for, where that is known."""
        known = [number for number in (self.max_output_tokens, self.context_window) if number is not None]
        return min(known, default=None)

    @property
    def is_limited(self) -> bool:
        """Whether calls have to wait in line."""
        return self.max_concurrent_calls is not None or self.requests_per_minute is not None

    @property
    def key_found(self) -> bool | None:
        """Whether there is a key that may be sent to this address; None where none is named."""
        return key_for(self.api_key_env, self.base_url) is not None if self.api_key_env else None

    def clean(self) -> None:
        super().clean()
        validation.prefill_possible(self.provider, prefill=self.prefill, way=self.prefill_way)
        validation.key_may_go("api_key_env", self.api_key_env, self.base_url)
        ceiling = self.ceiling
        agents = self.agents.filter(max_tokens__gt=ceiling) if ceiling is not None and not self._state.adding else None
        agent = agents.first() if agents is not None else None
        if agent is not None:
            raise ValidationError(
                f"The agent “{agent.name}” requests {agent.max_tokens:,} tokens, more than the {ceiling:,} allowed. "
                f"Lower its {LIMIT_NAMES['max_tokens']} first."
            )


class Policy(Named):
    """A named policy. Its versions hold the limits and the error policy."""

    class Meta(Named.Meta):
        verbose_name_plural = "policies"


class PolicyVersion(models.Model):
    """One version of a policy, which never changes. A field that it does not set is inherited (see
    `policy_resolution`)."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    policy = models.ForeignKey(Policy, on_delete=models.CASCADE, related_name="versions")
    version = models.PositiveIntegerField()
    limits = models.JSONField(default=dict, blank=True, validators=[policy_validation.limits_valid])
    error_policy = models.JSONField(default=dict, blank=True, validators=[policy_validation.error_policy_valid])
    envelope = models.JSONField(null=True, blank=True, validators=[policy_validation.envelope_valid])
    tool_calls_on_truncation = models.TextField(
        default="", blank=True, validators=[policy_validation.tool_calls_on_truncation_valid]
    )
    finish_reasons = models.JSONField(default=list, blank=True, validators=[policy_validation.finish_reasons_valid])
    criteria = models.JSONField(default=list, blank=True, validators=[criteria_valid])
    retention = models.JSONField(default=dict, blank=True, validators=[policy_validation.retention_valid])
    why = models.TextField(default="", blank=True)  #: of this version, in its maker's words
    #: What these very words were tried on before they were kept; null: on nothing.
    backtest = models.ForeignKey(
        "backtests.Backtest", null=True, blank=True, on_delete=models.RESTRICT, related_name="versions"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)

    class Meta:
        ordering = ["policy", "-version"]
        constraints = [models.UniqueConstraint(fields=["policy", "version"], name="agents_policyversion_version")]

    def __str__(self) -> str:
        return f"{self.policy} v{self.version}"


class Agent(Named):
    """A model behind a connection, with its prompt, tools and policy."""

    connection = models.ForeignKey(Connection, on_delete=models.PROTECT, related_name="agents")
    model = models.CharField(max_length=200, help_text="The model name that is sent to the provider.")
    system_prompt = models.TextField(blank=True, default="")
    max_tokens = models.PositiveIntegerField(help_text="The most output tokens of one call, reasoning tokens included.")
    tools = models.JSONField(default=list, blank=True)
    envelope_schema = models.JSONField(
        null=True,
        blank=True,
        validators=[validation.json_schema_valid],
        help_text="The JSON Schema that the answer must satisfy. Leave empty for free text.",
    )
    policy = models.ForeignKey(
        Policy, null=True, blank=True, on_delete=models.PROTECT, help_text="Leave empty to inherit the limits."
    )
    gateway_mode = models.CharField(
        max_length=16,
        default="continue",
        choices=[("observe", "observe"), ("continue", "continue")],
        error_messages=NOT_A_CHOICE,
        help_text="observe: the gateway only records the agent's calls. continue: it also continues truncated answers.",
    )
    breakpoints = models.JSONField(
        default=list,
        blank=True,
        help_text="Where every turn of this agent pauses: a JSON list of objects with state, trigger, stop_reason, "
        'tool or budget_below, such as [{"state": "continue_pending"}, {"budget_below": 0.1}].',
    )
    approvals = models.JSONField(
        null=True,
        blank=True,
        help_text='Tools that run only after a person approves the call: {"tools": […], "seconds": 300, "otherwise": '
        '"refuse"}. “otherwise” says what happens when the time is up: refuse, run or cancel.',
    )

    def clean(self) -> None:
        super().clean()
        faults = {
            "model": _fault_of(partial(validation.model_valid, self.model)),
            "tools": self._tools_fault(),
            "max_tokens": self._max_tokens_fault(),
            "breakpoints": self._breakpoints_fault(),
            "approvals": self._approvals_fault(),
        }
        errors = {field: fault for field, fault in faults.items() if fault is not None}
        if errors:
            raise ValidationError(errors)

    def _tools_fault(self) -> ValidationError | None:
        known = known_tools(self.project_id) if self.tools else ()
        return _fault_of(partial(validation.tools_valid, self.tools, known))

    def _breakpoints_fault(self) -> ValidationError | None:
        try:
            self.breakpoints = breakpoints_clean(self.breakpoints or [], tools=_names(self.tools))
        except ValidationError as error:
            return error
        return None

    def _approvals_fault(self) -> ValidationError | None:
        try:
            self.approvals = approvals_clean(self.approvals, tools=_names(self.tools))
        except ValidationError as error:
            return error
        return None

    def _max_tokens_fault(self) -> ValidationError | None:
        connection = Connection.objects.filter(pk=self.connection_id).first()
        if connection is None or not isinstance(self.max_tokens, int):
            return None
        ceiling, name = connection.ceiling, connection.name
        return _fault_of(partial(validation.max_tokens_within, self.max_tokens, ceiling=ceiling, connection=name))


def _fault_of(judged: Callable[[], None]) -> ValidationError | None:
    try:
        judged()
    except ValidationError as error:
        return error
    return None


def _names(tools: Any) -> tuple[str, ...]:
    """The tools, as far as they are names; what else is wrong with them is said of them."""
    return tuple(name for name in tools if isinstance(name, str)) if isinstance(tools, list | tuple) else ()


def known_tools(project_id: UUID | None) -> tuple[str, ...]:
    """The names of the tools an agent of the project may be given."""
    return tuple(tool.name for tool in offered_tools.value(project_id=project_id))


keep_changes(Connection, but=("created_at", "probe", "probed_at"))
keep_changes(Agent, but=("created_at",))
keep_changes(PolicyAttachment)
keep_changes(Project, but=("created_at",))
