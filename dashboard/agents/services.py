"""Writes to projects' connections and agents. Each raises `ValidationError` with sentences by field."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, models, transaction

from agentcore.quoting import quoted
from dashboard.agents import policy_validation
from dashboard.agents.models import Agent, Connection, Policy, Project


def connection_create(
    *,
    project: Project,
    name: str,
    provider: str,
    base_url: str,
    api_key_env: str = "",
    max_output_tokens: int | None = None,
    context_window: int | None = None,
    max_concurrent_calls: int | None = None,
    requests_per_minute: int | None = None,
    hint_role: str = "system",
    max_tokens_field: str = "max_tokens",
    prefill: bool = False,
    prefill_way: str = "prefill",
    prefill_echo: bool = False,
) -> Connection:
    connection = Connection(
        project=project,
        name=name,
        provider=provider,
        base_url=base_url,
        api_key_env=api_key_env,
        max_output_tokens=max_output_tokens,
        context_window=context_window,
        max_concurrent_calls=max_concurrent_calls,
        requests_per_minute=requests_per_minute,
        hint_role=hint_role,
        max_tokens_field=max_tokens_field,
        prefill=prefill,
        prefill_way=prefill_way,
        prefill_echo=prefill_echo,
    )
    valid_save(connection)
    return connection


def connection_update(*, connection: Connection, changes: Mapping[str, Any]) -> Connection:
    """`changes`: new values by field name."""
    changeable = {field.name for field in connection._meta.fields} - {
        "id",
        "project",
        "created_at",
        "probe",
        "probed_at",
    }
    unknown = sorted(set(changes) - changeable)
    if unknown:
        known = policy_validation.listed(sorted(changeable))
        raise ValidationError(f"There is no field {quoted(unknown[0])} to change; the fields are {known}.")
    for field, value in changes.items():
        setattr(connection, field, value)
    valid_save(connection)
    return connection


def agent_create(
    *,
    project: Project,
    name: str,
    connection: Connection,
    model: str,
    max_tokens: int,
    system_prompt: str = "",
    tools: Sequence[str] = (),
    envelope_schema: Mapping[str, Any] | None = None,
    policy: Policy | None = None,
    gateway_mode: str = "continue",
    breakpoints: Sequence[Mapping[str, Any]] = (),
    approvals: Mapping[str, Any] | None = None,
) -> Agent:
    """`breakpoints`: where its turns hold; `approvals`: `{tools, seconds?, otherwise?}`."""
    agent = Agent(
        project=project,
        name=name,
        connection=connection,
        model=model,
        max_tokens=max_tokens,
        system_prompt=system_prompt,
        tools=list(tools),
        envelope_schema=envelope_schema,
        policy=policy,
        gateway_mode=gateway_mode,
        breakpoints=as_list(breakpoints),
        approvals=approvals,
    )
    valid_save(agent)
    return agent


def as_list(given: Any) -> Any:
    """A tuple as the list that JSON has; anything else as it is."""
    return list(given) if isinstance(given, tuple) else given


def valid_save(instance: models.Model) -> None:
    """Saves what is valid. Who loses a race for a name is told so in the same words as who came late."""
    instance.full_clean()
    try:
        with transaction.atomic():
            instance.save()
    except IntegrityError:
        instance.full_clean()
        raise
