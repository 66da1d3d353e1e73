"""Policies as one file, out and in: `{whystop_policies: 1, policies: […], attachments: […]}`.

Each policy has its `name`, the number of the version that is `active` (or null), of those that counted once (`past`),
what is to count later (`schedule`: `{version, starts_at, why}`) and its `versions`: `{version, why, made_at, by}` and
what it says; limits may also be named by the spec's own keys. How it is taken in: `policy_import`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from agentcore.quoting import quoted
from dashboard.agents.models import Connection, Policy, PolicyVersion, Project
from dashboard.agents.policies import POLICY_FIELDS
from dashboard.agents.selectors import activations_of, attachment_list, policy_list
from dashboard.platform.strict_json import read_strictly
from dashboard.policies.policy_impact import place_warnings
from dashboard.policies.policy_import import WHY, policy_in, refuse_unknown
from dashboard.policies.policy_versions import policy_attach

if TYPE_CHECKING:
    from dashboard.accounts.models import User

MAX_FILE = 2_000_000  #: bytes
MAX_POLICIES = 500
FIELDS = ("whystop_policies", "policies", "attachments")
PLACE = ("policy", "connection", "model", "provider")


def policies_export(project: Project) -> dict[str, Any]:
    """Everything that is kept of the project's policies."""
    policies = policy_list(project=project).prefetch_related("versions__created_by")
    return {
        "whystop_policies": 1,
        "policies": [_policy_told(policy) for policy in policies],
        "attachments": [
            {
                "policy": place.policy.name,
                "connection": place.connection.name if place.connection else None,
                "model": place.model,
                "provider": place.provider,
            }
            for place in attachment_list(project=project)
        ],
    }


def _policy_told(policy: Policy) -> dict[str, Any]:
    now, rows = timezone.now(), [row for row in activations_of(policy) if row.withdrawn_at is None]
    counted = [row.version.version for row in rows if row.starts_at <= now]
    versions = sorted(policy.versions.all(), key=lambda version: version.version)
    return {
        "name": policy.name,
        "active": counted[0] if counted else None,
        "past": sorted(set(counted) - {*counted[:1]}),
        "schedule": [
            {"version": row.version.version, "starts_at": row.starts_at.isoformat(), "why": row.why}
            for row in reversed(rows)
            if row.starts_at > now
        ],
        "versions": [_version_told(version) for version in versions],
    }


def _version_told(version: PolicyVersion) -> dict[str, Any]:
    said = {field: getattr(version, field) for field in POLICY_FIELDS if getattr(version, field)}
    return {
        "version": version.version,
        "why": version.why,
        "made_at": version.created_at.isoformat(),
        "by": version.created_by.get_username() if version.created_by else None,
        **said,
    }


def policies_import(body: bytes, *, project: Project, by: "User | None") -> list[str]:
    """Take a file in, all of it or nothing; what was done, in sentences. Raises `ValidationError`."""
    file = _read(body)
    with transaction.atomic():
        told = [sentence for policy in file["policies"] for sentence in policy_in(policy, project, by)]
        told += [sentence for place in file["attachments"] if (sentence := _place_in(place, project, by))]
    return told or ["Everything in the file was here already."]


def _read(body: bytes) -> dict[str, Any]:
    try:
        file = read_strictly(body)
    except ValueError as error:
        raise ValidationError(f"This is not a JSON file: {error}.") from error
    if b"\\u0000" in body:
        raise ValidationError("The file contains the character U+0000. Remove it.")
    if not isinstance(file, Mapping) or file.get("whystop_policies") != 1:
        raise ValidationError("This is not a policy file: it must have “whystop_policies”: 1.")
    refuse_unknown(file, FIELDS, what="the file")
    policies, places = file.get("policies", []), file.get("attachments", [])
    whole = (
        isinstance(policies, list) and isinstance(places, list) and all(isinstance(p, dict) for p in policies + places)
    )
    if not whole or len(policies) > MAX_POLICIES or len(places) > MAX_POLICIES:
        raise ValidationError(f"policies and attachments must be lists of at most {MAX_POLICIES} objects.")
    return {"policies": policies, "attachments": places}


def _place_in(told: Mapping[str, Any], project: Project, by: "User | None") -> str:
    refuse_unknown(told, PLACE, what="an attachment")
    policy = Policy.objects.filter(project=project, name=str(told.get("policy"))).first()
    if policy is None:
        missing = quoted(str(told.get("policy")))
        raise ValidationError(
            f"An attachment names the policy {missing}, which is neither in the file nor in this project."
        )
    named = told.get("connection")
    connection = Connection.objects.filter(project=project, name=str(named)).first() if named else None
    if named and connection is None:
        return f"There is no connection {quoted(str(named))} here, so {quoted(policy.name)} was not attached to it."
    place = {"model": str(told.get("model") or ""), "provider": str(told.get("provider") or "")}
    there = attachment_list(project=project).filter(connection=connection, **place).first()
    if there is not None and there.policy == policy:
        return ""
    made = policy_attach(project=project, policy=policy, connection=connection, by=by, why=WHY, **place)
    return " ".join([f"Attached: {made}.", *place_warnings(policy)])
