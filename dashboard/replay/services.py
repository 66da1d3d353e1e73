"""Asking a recorded turn: is it true, and what if. Asking a provider once more is in `rerun_service`."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from django.core.exceptions import ValidationError

from agentcore.policy import Policy
from agentcore.reasons import TurnStatus
from agentcore.replay import Certainty, Experience, Recording, Verification, fold, what_if
from agentcore.replay import WhatIf as Imagined
from agentcore.snapshot import Snapshot
from agentcore.states import CALLS, State
from agentcore.verdict import verdict_of
from dashboard.agents.criteria import criteria_faults
from dashboard.agents.policies import overridden
from dashboard.live.services import overrides_clean
from dashboard.live.turn_loader import connection_of, how_to_find_out
from dashboard.replay.experience import experience_of
from dashboard.turns.api_serializers import what_if_json
from dashboard.turns.certainty_text import ending_in_words, if_high, if_low, why_in_words
from dashboard.turns.end_summary import cut_sign
from dashboard.turns.evidence import Fault
from dashboard.turns.history import recording_of
from dashboard.turns.models import UNFINISHED, Turn
from dashboard.turns.projection import failed_by, held_ms, project, status_of, undecided
from dashboard.turns.seals.seal_check import turn_faults
from dashboard.turns.verification import diverging, verification_of

#: Of an imagined turn that ends where the recorded one may have been cut, below another cap.
RECORDED_MAY_BE_CUT = "The recorded answer may be cut off where it ends, so this one may be longer."


@dataclass(frozen=True, slots=True)
class WhatIf:
    """A turn as it would have been, and how sure that is. `turn` holds columns as a stored turn's; nothing is stored.

    `endings`: where assumptions decide, the turn at both ends of their ranges, the smaller first; else none.
    """

    recording: Imagined
    turn: dict[str, Any]
    endings: "tuple[WhatIf, ...]" = ()

    @property
    def undecidable(self) -> bool:
        return self.recording.undecidable

    @property
    def without_estimates(self) -> Imagined:
        """The what-if up to its first estimated step: what follows has words that nobody said there. So a turn that is
        asked live goes on from the recording's own."""
        found = self.recording
        kept = list(takewhile(lambda span: span.record.certainty is not Certainty.ESTIMATED, fold(found)))
        while kept and kept[-1].after.state is State.HELD:
            kept.pop()
        if len(kept) == len(found.records):
            return found
        final = kept[-1].after if kept else None
        return replace(found, records=tuple(span.record for span in kept), final=final)

    @property
    def estimates(self) -> int:
        """Steps that a turn which goes on live from here does not take over."""
        return len(self.recording.records) - len(self.without_estimates.records) if self.undecidable else 0

    @property
    def conditions(self) -> tuple[tuple[str, str], ...]:
        """Each ending in words: `If nothing is repeated`, `completed in 4 calls`."""
        assumes = self.recording.assumes
        ends = (ending_in_words(ending.turn, undecidable=ending.undecidable) for ending in self.endings)
        return tuple(zip((if_low(assumes), if_high(assumes)), ends, strict=False))

    @property
    def endings_in_words(self) -> str:
        """`If nothing is repeated: completed in 4 calls. If 48 …`; empty where there is one ending."""
        return " ".join(f"{condition}: {end}." for condition, end in self.conditions)

    def shown(self, turn: Turn) -> dict[str, Any]:
        """As the API tells it; `turn`: the stored one."""
        told, *endings = [what_if_json(turn, each._counted, each.recording) for each in (self, *self.endings)]
        return {**told, "endings": endings}

    @property
    def _counted(self) -> dict[str, Any]:
        """Its columns, without the time for which operators held the recorded turn."""
        held = held_ms((record.command, record.event.at) for record in self.recording.records)
        return {**self.turn, "duration_ms": max(0, self.turn["duration_ms"] - held)}


def turn_verify(*, turn: Turn) -> Verification:
    """Feed the recorded events to the machine again and compare everything: transitions, evaluations and commands, the
    answers with the provider's bytes, the turn's row and what else is made of its history with it, and all of that with
    its chain.

    Where a criterion of the turn's policy cannot be asked any more nothing can be compared, and the divergence says so.
    """
    found = verification_of(turn)
    changed = turn_faults(turn) if found.verified and turn.status not in UNFINISHED else []
    words = f"It differs from what was sealed: {' '.join(changed)}"
    return diverging(found, Fault(found.records, words)) if changed else found


def turn_what_if(*, turn: Turn, overrides: Mapping[str, Any]) -> WhatIf:
    """The recording under other numbers, with no provider asked. Raises `ValidationError` in words."""
    return what_if_under(recording_of(turn), turn, overrides)


def what_if_under(recording: Recording, turn: Turn, overrides: Mapping[str, Any]) -> WhatIf:
    """The what-if of a recording already loaded."""
    wanted = _wanted(turn, overrides)
    if faults := criteria_faults(recording.policy):
        raise ValidationError(faults)
    return what_if_of(recording, overridden(recording.policy, wanted), turn)


def what_if_of(recording: Recording, policy: Policy, turn: Turn) -> WhatIf:
    return _told(what_if(recording, policy, experience=turn_experience(turn)), turn)


def turn_experience(turn: Turn) -> Experience:
    """What the stored calls of the turn's model bear out."""
    return experience_of(project=turn.project, provider=turn.provider, model=turn.model)


def _told(imagined: Imagined, turn: Turn) -> WhatIf:
    assert imagined.final is not None, "a what-if knows where it ended"
    at = None if turn.started_at is None else turn.finished_at
    columns = project(imagined.final, seq=len(imagined.records), started_at=turn.started_at, at=at)
    endings = tuple(_told(ending, turn) for ending in imagined.endings)
    if (happened := _happened(imagined)) is not None:
        columns["verdict"] = happened
    if lost := _lost_sign(imagined, turn):
        columns |= {"cut_sign": lost, "verdict": f"{columns['verdict']} {RECORDED_MAY_BE_CUT}"}
    if imagined.undecidable:
        columns = undecided(columns, why_in_words(imagined.why), how_to_find_out(turn)) | {
            "attempts": answered_calls(imagined.final)
        }
    if imagined.stopped:
        columns |= {"verdict": f"Not known: {imagined.stopped}.", "notice": f"The what-if {imagined.stopped}."}
    columns["error_type"] = failed_by(move for record in imagined.records for move in record.transitions)
    spent = imagined.spent
    columns |= {"input_tokens": spent.input_tokens, "output_tokens": spent.output_tokens}
    columns["duration_ms"] = round((imagined.seconds + imagined.held) * 1000)
    told = WhatIf(imagined, columns, endings)
    if endings:
        columns["verdict"] = (
            f"Not known: two endings are possible, depending on the assumptions. {told.endings_in_words}"
        )
        columns["notice"] = "From here on the ending depends on the assumptions."
    return told


def answered_calls(final: Snapshot) -> int:
    """The calls of a what-if that the recording answers; at its open end, one more would have followed."""
    return final.own.attempts - (final.state in CALLS)


def _lost_sign(imagined: Imagined, turn: Turn) -> str:
    """The sign that the recorded answer was cut at its cap, where the imagined turn completes with that answer below
    another cap: it does not show the sign, and goes on no further. Empty without any."""
    final = imagined.final
    completed = final is not None and status_of(final) is TurnStatus.COMPLETED and not imagined.undecidable
    hidden = completed and turn.status == TurnStatus.COMPLETED and final is not None and not final.cut_sign
    return cut_sign(turn) if hidden else ""


def _happened(imagined: Imagined) -> str | None:
    """The verdict of a turn that was imagined, without what would have helped it: the recording goes on where the
    imagined turn was stopped, and may tell. None where the turn is the recorded one, or has no end."""
    assert imagined.final is not None, "a what-if knows where it ended"
    told = None if imagined.certainty is Certainty.RECORDED else verdict_of(_as_shown(imagined))
    return None if told is None else told.happened


def _as_shown(imagined: Imagined) -> Snapshot:
    """The last snapshot of the steps, so that the verdict has their numbers; without steps that of the lower end."""
    assert imagined.final is not None, "a what-if knows where it ended"
    midway = imagined.upper is not None and imagined.records
    return fold(imagined)[-1].after if midway else imagined.final


def _wanted(turn: Turn, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """A what-if asks no provider: it needs no agent, but keeps to the ceiling of one that is there."""
    return overrides_clean(overrides, connection_of(turn))
