"""Policies as one file, out and in: `{whystop_policies: 1, policies: […], attachments: […]}`.

Each policy has its `name`, the number of the version that is `active` (or null) and its `versions`: `{version, why,
made_at, by}` and what it says; limits may also be named by the spec's own keys. Taking in changes nothing that is
there: a policy whose active words differ gets its next version.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.db import transaction
from pydantic_core import from_json

from dashboard.agents.models import Connection, Policy, PolicyVersion, Project
from dashboard.agents.policies import POLICY_FIELDS
from dashboard.agents.policy_validation import listed
from dashboard.agents.selectors import attachment_list, policy_list, policy_version_active
from dashboard.agents.services import policy_create, policy_said
from dashboard.agents.versioning import policy_attach, version_activate
from dashboard.policies.settings import said_by_version

if TYPE_CHECKING:
    from dashboard.accounts.models import User

MAX_FILE = 2_000_000  #: bytes
MAX_POLICIES, MAX_VERSIONS = 500, 500
WHY = "Taken in from a file"
ABOUT = ("version", "why", "made_at", "by")  #: what a version of the file says of itself


def as_file(project: Project) -> dict[str, Any]:
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
    active = policy_version_active(policy=policy)
    versions = sorted(policy.versions.all(), key=lambda version: version.version)
    return {
        "name": policy.name,
        "active": active.version if active else None,
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


def taken_in(body: bytes, *, project: Project, by: "User | None") -> list[str]:
    """Take a file in, all of it or nothing; what was done, in sentences. Raises `ValidationError`."""
    file = _read(body)
    with transaction.atomic():
        told = [sentence for policy in file["policies"] for sentence in _policy_in(policy, project, by)]
        told += [sentence for place in file["attachments"] if (sentence := _place_in(place, project, by))]
    return told or ["Everything in the file was here already."]


def _read(body: bytes) -> dict[str, Any]:
    try:
        file = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise ValidationError(f"This is not a JSON file: {error}.") from error
    if b"\\u0000" in body:
        raise ValidationError("The file holds the character U+0000, which nothing of a policy needs; take that out.")
    if not isinstance(file, Mapping) or file.get("whystop_policies") != 1:
        raise ValidationError("This is not a file of policies: it must say “whystop_policies”: 1.")
    policies, places = file.get("policies", []), file.get("attachments", [])
    whole = (
        isinstance(policies, list) and isinstance(places, list) and all(isinstance(p, dict) for p in policies + places)
    )
    if not whole or len(policies) > MAX_POLICIES or len(places) > MAX_POLICIES:
        raise ValidationError(f"policies and attachments must be lists of at most {MAX_POLICIES} objects.")
    return {"policies": policies, "attachments": places}


def _policy_in(told: Mapping[str, Any], project: Project, by: "User | None") -> list[str]:
    name, versions = told.get("name"), told.get("versions")
    fits = isinstance(name, str) and isinstance(versions, list) and 0 < len(versions) <= MAX_VERSIONS
    if not fits or not all(isinstance(version, dict) for version in versions or ()):
        raise ValidationError("Each policy needs a name and a list of versions.")
    active = _active(versions or [], told.get("active"), str(name))
    here = Policy.objects.filter(project=project, name=name).first()
    if here is None:
        return _new(str(name), versions or [], active, project, by)
    now = policy_version_active(policy=here)
    words = _words(active, str(name)) if active else None
    if words is None or (now is not None and said_by_version(PolicyVersion(**words)) == said_by_version(now)):
        return []
    version = policy_create(project=project, name=str(name), created_by=by, why=WHY, **words)
    return [f"“{name}” differs; the file’s words are its version {version.version}, which counts now."]


def _active(versions: list[dict[str, Any]], number: Any, name: str) -> dict[str, Any] | None:
    """The version that counted where the file was made; None where there were only drafts."""
    if number is None:
        return None
    found = next((version for version in versions if version.get("version") == number), None)
    if found is None:
        raise ValidationError(f"“{name}”: version {number!r} is said to be active, but it is not in the file.")
    return found


def _new(
    name: str, versions: list[dict[str, Any]], active: dict[str, Any] | None, project: Project, by: "User | None"
) -> list[str]:
    for told in versions:
        why = told.get("why") if isinstance(told.get("why"), str) else ""
        words = _words(told, name)
        version = policy_create(
            project=project, name=name, created_by=by, why=f"{WHY}. {why}".strip(), activate=False, **words
        )
        if told is active:
            version_activate(version=version, by=by, why=WHY)
    return [f"“{name}” is new here, with {len(versions)} version{'s' if len(versions) > 1 else ''}."]


def _words(told: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What a version of the file says, clean. Raises `ValidationError` that names the policy."""
    if unknown := [field for field in told if field not in (*ABOUT, *POLICY_FIELDS)]:
        raise ValidationError(
            f"“{name}”: there is no field “{unknown[0]}”; a version has {listed((*ABOUT, *POLICY_FIELDS))}."
        )
    given = {field: told[field] for field in POLICY_FIELDS if told.get(field)}
    try:
        return policy_said(**given)
    except ValidationError as error:
        raise ValidationError([f"“{name}”: {sentence}" for sentence in error.messages]) from error


def _place_in(told: Mapping[str, Any], project: Project, by: "User | None") -> str:
    policy = Policy.objects.filter(project=project, name=str(told.get("policy"))).first()
    if policy is None:
        raise ValidationError(
            f"An attachment names the policy “{told.get('policy')}”, which is neither here nor there."
        )
    named = told.get("connection")
    connection = Connection.objects.filter(project=project, name=str(named)).first() if named else None
    if named and connection is None:
        return f"There is no connection “{named}” here, so “{policy}” was not attached to it."
    place = {"model": str(told.get("model") or ""), "provider": str(told.get("provider") or "")}
    there = attachment_list(project=project).filter(connection=connection, **place).first()
    if there is not None and there.policy == policy:
        return ""
    return f"Attached: {policy_attach(project=project, policy=policy, connection=connection, by=by, why=WHY, **place)}."
