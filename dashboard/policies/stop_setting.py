"""What of its policy ended a stored turn, and who had set it so."""

from dataclasses import dataclass

from dashboard.agents.models import PolicyVersion
from dashboard.policies.field_settings import Setting, history_of, set_by
from dashboard.policies.field_sources import Source, sources_of
from dashboard.policies.operator_overrides import OPERATOR, changes_of
from dashboard.policies.stop_fields import ASKED, clause_of
from dashboard.turns.models import Turn
from dashboard.turns.selectors import outcomes_of


@dataclass(frozen=True, slots=True)
class StopSetting:
    """The field that ended a turn, with its value and source. `setting`: None where no policy spoke of it."""

    source: Source
    setting: Setting | None


def stop_setting_of(turn: Turn) -> StopSetting | None:
    """None where the turn runs, or ended by nothing its policy says."""
    field = clause_of(
        terminal_reason=turn.terminal_reason,
        stop_reason=turn.stop_reason,
        error_type=turn.error_type,
        resolved_by=_resolved_by(turn),
        resource=turn.resource,
    )
    source = next((source for source in sources_of(turn) if source.field == field), None)
    if source is None:
        return None
    if (changed := changes_of([turn.id]).get((turn.id, source.field))) is not None:
        source = Source(source.field, changed.value, OPERATOR, changed.by)
    return StopSetting(source, _setting(turn, source)) if caused(source) else None


def caused(source: Source) -> bool:
    """Whether this word can have ended a turn: where it says retry, the error could not heal, and that ended it."""
    return bool(source.value != "retry")


def _resolved_by(turn: Turn) -> str:
    if turn.terminal_reason not in ASKED:
        return ""
    last = outcomes_of(turn.id).order_by("-seq", "-position").values_list("resolved_by", flat=True).first()
    return last or ""


def _setting(turn: Turn, source: Source) -> Setting | None:
    if source.version_id is None:
        return None
    version = PolicyVersion.objects.select_related("policy").filter(pk=source.version_id).first()
    if version is None:
        return None
    at = turn.created_at
    return set_by(history_of(version.policy, at=at), version.pk, source.field, source.value, at)
