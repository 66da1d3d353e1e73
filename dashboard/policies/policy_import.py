"""One policy of a file, taken in (see `policy_file`). What is here stays as it is; what is not taken is named.

A policy that is not here comes with all its versions. Of one that is here, what counts in the file comes to count where
its words differ, drafts become drafts, and versions that only counted once stay in the file.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from django.core.exceptions import ValidationError
from django.utils import timezone

from agentcore.quoting import quoted
from dashboard.agents.models import Policy, PolicyVersion, Project
from dashboard.agents.policies import POLICY_FIELDS, policy_said
from dashboard.agents.policy_validation import listed
from dashboard.agents.selectors import policy_version_active
from dashboard.policies.field_settings import said_by_version
from dashboard.policies.policy_creation import policy_create
from dashboard.policies.policy_impact import activation_warnings
from dashboard.policies.policy_versions import version_activate

if TYPE_CHECKING:
    from dashboard.accounts.models import User

MAX_VERSIONS = 500
MAX_SCHEDULED = 50
WHY = "Imported from a file"
POLICY = ("name", "active", "past", "schedule", "versions")
ABOUT = ("version", "why", "made_at", "by")  #: what a version of the file says of itself


@dataclass(frozen=True, slots=True)
class ImportedVersion:
    """A version of the file. `number` is whatever the file calls it."""

    number: Any
    why: str
    words: Mapping[str, Any]  #: clean, by `POLICY_FIELDS`
    fault: ValidationError | None  #: why the words cannot be taken in; a version that stays in the file may have one

    @property
    def key(self) -> str:
        return "" if self.fault else _key(PolicyVersion(**self.words))


@dataclass(frozen=True, slots=True)
class _File:
    """A policy of the file. `by`: who takes it in."""

    name: str
    versions: Sequence[ImportedVersion]
    active: ImportedVersion | None  #: what counted where the file was made; None: there were only drafts
    past: Sequence[Any]  #: numbers of versions that only counted once
    schedule: Sequence[tuple[ImportedVersion, datetime, str]]  #: with the moment and the reason
    project: Project
    by: "User | None"

    def kept(self, told: ImportedVersion, *, counts: bool = False) -> PolicyVersion:
        """A version of the file as the next one here. Raises its fault."""
        if told.fault is not None:
            raise told.fault
        why = WHY if counts else f"{WHY}. {told.why}".strip()
        return policy_create(
            project=self.project, name=self.name, created_by=self.by, why=why, activate=counts, **told.words
        )


def policy_in(told: Mapping[str, Any], project: Project, by: "User | None") -> list[str]:
    """What was done, in sentences; none where all of it was here. Raises `ValidationError` that names the policy."""
    file = _read(told, project, by)
    here = Policy.objects.filter(project=project, name=file.name).first()
    known = _known(here)
    done = [*(_merged(file, here, known) if here else _new(file, known)), *_scheduled(file, known)]
    policy = here or next(iter(known.values())).policy
    active = policy_version_active(policy=policy) if done else None
    return [*done, *(f"“{file.name}”: {words}" for words in (activation_warnings(active) if active else ()))]


def _known(policy: Policy | None) -> dict[str, PolicyVersion]:
    """The versions here by what they say; of several that say the same the newest."""
    versions = policy.versions.select_related("policy").order_by("version") if policy else ()
    return {_key(version): version for version in versions}


def _key(version: PolicyVersion) -> str:
    """What a version says, so that equal words have equal keys."""
    return json.dumps(said_by_version(version), sort_keys=True)


def _new(file: _File, known: dict[str, PolicyVersion]) -> Iterator[str]:
    made = [(told, file.kept(told)) for told in file.versions]
    known.update({told.key: version for told, version in made})
    # Only now, so that none of the others passes for a draft written since.
    for told, version in made:
        if told is file.active:
            version_activate(version=version, by=file.by, why=WHY)
    yield f"“{file.name}” is new here, with {len(made)} version{'s' if len(made) > 1 else ''}."


def _merged(file: _File, policy: Policy, known: dict[str, PolicyVersion]) -> Iterator[str]:
    now = policy_version_active(policy=policy)
    if file.active is not None and (now is None or file.active.key != _key(now)):
        version = known[file.active.key] = file.kept(file.active, counts=True)
        yield f"“{file.name}” differs; the file's settings are its version {version.version}, which is now active."
    scheduled = [told for told, _, _ in file.schedule]
    left: list[ImportedVersion] = []
    for told in file.versions:
        if told is file.active or told.key in known:
            continue
        if told.number in file.past and told not in scheduled:
            left.append(told)
        else:
            version = known[told.key] = file.kept(told)
            yield f"“{file.name}” has a new draft: version {version.version}."
    if left:
        numbers = listed([str(told.number) for told in left])
        yield f"“{file.name}”: not imported, because it was active before: version {numbers} of the file."


def _scheduled(file: _File, known: Mapping[str, PolicyVersion]) -> Iterator[str]:
    for told, starts_at, why in file.schedule:
        moment, version = f"{starts_at:%Y-%m-%d %H:%M} UTC", known[told.key]
        if version.activations.filter(starts_at=starts_at, withdrawn_at=None).exists():
            continue
        if starts_at <= timezone.now():
            yield f"{version} was scheduled for {moment}, which has passed; it was not scheduled again."
            continue
        version_activate(version=version, by=file.by, why=f"{WHY}. {why}".strip(), starts_at=starts_at)
        yield f"{version} becomes active at {moment}."


def _read(told: Mapping[str, Any], project: Project, by: "User | None") -> _File:
    name, versions, past = told.get("name"), told.get("versions"), told.get("past")
    fits = isinstance(name, str) and isinstance(versions, list) and 0 < len(versions) <= MAX_VERSIONS
    if not fits or not all(isinstance(version, dict) for version in versions or ()):
        raise ValidationError("Each policy needs a name and a list of versions.")
    refuse_unknown(told, POLICY, what="a policy", whose=str(name))
    known = [_version(version, str(name)) for version in versions or ()]
    active = _numbered(known, told.get("active"), str(name), "active")
    if past is not None and not isinstance(past, list):
        raise ValidationError(f"“{name}”: past must be a list of version numbers.")
    schedule = _schedule(told.get("schedule") or [], known, str(name))
    return _File(str(name), known, active, _before(known, active) if past is None else past, schedule, project, by)


def _before(versions: Sequence[ImportedVersion], active: ImportedVersion | None) -> list[Any]:
    """What a file that does not say what is past surely means: the versions before the one that counts."""
    numbers = [told.number for told in versions if isinstance(told.number, int)]
    return [number for number in numbers if active and isinstance(active.number, int) and number < active.number]


def _numbered(versions: Sequence[ImportedVersion], number: Any, name: str, what: str) -> ImportedVersion | None:
    if number is None:
        return None
    found = next((told for told in versions if told.number == number), None)
    if found is None:
        raise ValidationError(f"{quoted(name)}: version {quoted(number)} is listed as {what}, but is not in the file.")
    return found


def _schedule(rows: Any, versions: Sequence[ImportedVersion], name: str) -> list[tuple[ImportedVersion, datetime, str]]:
    whole = isinstance(rows, list) and len(rows) <= MAX_SCHEDULED and all(isinstance(row, dict) for row in rows)
    if not whole:
        raise ValidationError(f"“{name}”: schedule must be a list of at most {MAX_SCHEDULED} objects.")
    found = []
    for row in rows:
        told = _numbered(versions, row.get("version"), name, "scheduled")
        if told is None:
            raise ValidationError(f"“{name}”: each schedule entry needs a version and starts_at.")
        found.append((told, _moment(row.get("starts_at"), name), _text(row.get("why"))))
    return found


def _moment(text: Any, name: str) -> datetime:
    try:
        moment = datetime.fromisoformat(str(text))
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        words = f"{quoted(name)}: {quoted(text)} is not a moment such as 2026-01-31T12:00+00:00."
        raise ValidationError(words) from error


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _version(told: Mapping[str, Any], name: str) -> ImportedVersion:
    """A version of the file, its words clean. Raises `ValidationError` where it has a field that none has."""
    refuse_unknown(told, (*ABOUT, *POLICY_FIELDS), what="a version", whose=name)
    given = {field: told[field] for field in POLICY_FIELDS if told.get(field)}
    try:
        return ImportedVersion(told.get("version"), _text(told.get("why")), policy_said(**given), None)
    except ValidationError as error:
        fault = ValidationError([f"“{name}”: {sentence}" for sentence in error.messages])
        return ImportedVersion(told.get("version"), _text(told.get("why")), {}, fault)


def refuse_unknown(told: Mapping[str, Any], known: Sequence[str], *, what: str, whose: str = "") -> None:
    """Raises `ValidationError` where it has a field that nothing here reads: a slip would be left out unawares."""
    if unknown := [field for field in told if field not in known]:
        named = f"“{whose}”: t" if whose else "T"
        raise ValidationError(f"{named}here is no field {quoted(unknown[0])}; {what} has {listed(known)}.")
