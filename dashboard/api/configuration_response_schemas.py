"""Response schemas of connections, policies with their versions and limit estimates, and agents (design §4.3)."""

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from dashboard.accounts.roles import CHANGE_CONNECTION, may
from dashboard.agents.policy_resolution import Level
from dashboard.api.request_schemas import NewConnection
from dashboard.api.response_fields import Json, MaybeObject, Object, Objects, words


def _as_in_requests(name: str) -> Any:
    """A field of a connection, described as in the request that creates one."""
    return Field(description=NewConnection.model_fields[name].description)


class Connection(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: UUID
    name: str
    provider: str = _as_in_requests("provider")
    base_url: str = _as_in_requests("base_url")
    api_key_env: str = _as_in_requests("api_key_env")
    max_output_tokens: int | None = _as_in_requests("max_output_tokens")
    context_window: int | None = _as_in_requests("context_window")
    max_concurrent_calls: int | None = _as_in_requests("max_concurrent_calls")
    requests_per_minute: int | None = _as_in_requests("requests_per_minute")
    hint_role: str = _as_in_requests("hint_role")
    max_tokens_field: str = _as_in_requests("max_tokens_field")
    prefill: bool = _as_in_requests("prefill")
    prefill_way: str = _as_in_requests("prefill_way")
    prefill_echo: bool = _as_in_requests("prefill_echo")
    probe: dict[str, str] | None = Field(
        description="What the last test of the connection found: whether its server continues a last assistant message."
    )
    probed_at: datetime | None = Field(description="When the connection was last tested.")
    key_found: bool | None = Field(
        description="Whether the API key may be sent; null for users who may not change the connection."
    )
    created_at: datetime

    @field_validator("key_found", mode="before")
    @classmethod
    def _told_to_those_who_may_change_it(cls, found: bool | None, info: ValidationInfo) -> bool | None:
        request = (info.context or {}).get("request")
        return found if request is not None and may(request.user, CHANGE_CONNECTION) else None


class Policy(BaseModel):
    id: UUID
    name: str
    version: int = Field(description="The version shown: the latest, unless the request selects another.")
    active: int | None = Field(description="The active version; null if all versions are drafts.")
    limits: Object = Field(description="Every limit, defaults included.")
    error_policy: Object
    envelope: Object = Field(description="`{recovery: [path]}`, defaults included.")
    tool_calls_on_truncation: str
    finish_reasons: list[str]
    criteria: Objects = Field(description="`{path, kwargs?}` each.")
    retention: Object = Field(description="`{keep_raw_days}`; null: no limit, or the value of an attached policy.")
    warnings: list[str] = Field(
        description="Settings that are allowed but probably unintended, or that no longer work."
    )
    backtest: UUID | None = Field(description="The backtest of its settings before it was saved.")
    created_at: datetime


class Activation(BaseModel):
    policy: str
    version: int
    starts_at: datetime
    why: str
    warnings: list[str] = Field(
        description="As `warnings` of the policy, the agents that the version applies to but does not fit, and the "
        "limits of the version before that it removes."
    )


class PolicySource(BaseModel):
    """One number or rule, and where it comes from."""

    field: str = Field(description="The field of the policy in dotted form, or `max_tokens`.")
    value: Json
    level: str = Field(description="Most specific first: " + words(Level))
    of: str = Field(description="What the policy is attached to: an agent, a model on a connection, or a provider.")
    policy: str = Field(description="The name of the policy; empty for an override of the turn and for defaults.")
    version: int | None
    spec_key: str | None = Field(description="The name of this limit in the specification.")


class Agent(BaseModel):
    id: UUID
    name: str
    connection: str
    model: str
    system_prompt: str
    max_tokens: int
    tools: list[str]
    envelope_schema: MaybeObject
    policy: str | None
    gateway_mode: str
    breakpoints: list[dict[str, Any]] = Field(description="The breakpoints of its turns.")
    approvals: MaybeObject = Field(description="Tools that run only after a person approves the call.")
    created_at: datetime


class PolicyVersion(BaseModel):
    """A policy version and its status."""

    version: int
    stands: str = Field(description="`active`, `planned` (scheduled), `past` or `draft` (inactive).")
    at: datetime | None = Field(description="When the version became, will become, or stopped being active.")
    changes: list[str] = Field(description="Its differences from the previous version, as text.")
    why: str
    created_at: datetime
    created_by: str | None
    backtest: UUID | None = Field(description="The backtest of its settings before it was saved.")


class Quantile(BaseModel):
    """`complete` is the share of answers that are complete within `tokens`."""

    complete: float = Field(description="Above 0, below 1.")
    tokens: int | None = Field(description="null if these recordings do not show it.")
    low: int | None = Field(description="The lower end of the 95 % interval.")
    high: int | None = Field(description="The upper end; null if these recordings do not show it.")


class Estimate(BaseModel):
    """The lengths of answers, by the Kaplan–Meier estimate. A truncated answer counts as at least as long as its
    received part."""

    words: str
    turns: int
    cut: int = Field(description="The number of turns with a truncated answer.")
    undecided: float = Field(description="The share of answers that are longer than the longest complete one.")
    suffices: int | None = Field(
        description="A limit that is enough for an estimated 95 % of further answers, if they are like those counted: "
        "their tokens, and 5 for an end marker that is not reported. Null if too few answers ended, or too many of "
        "them were cut. If answers have become longer, only the newest count."
    )
    quantiles: list[Quantile]
    capped: bool = Field(description="Whether only the newest turns were counted, because there were more.")
    certainties: dict[str, int] = Field(
        description="How certain the lengths are, by turns: `recorded` (one call returned the answer), `certain` "
        "(every "
        "continuation was exact), `estimated` (continued after a hint, or usage was not reported), `undecidable` (cut)."
    )
