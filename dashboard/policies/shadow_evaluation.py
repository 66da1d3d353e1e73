"""A draft evaluated beside the real policy: each turn that ran under its policy is judged again when it has ended.

The worker sweeps every few seconds. A turn is judged from its own recording, as what-if does: where the draft would
have asked for more than was recorded, the verdict is `undecidable`, and nothing is guessed.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from agentcore.policy import Policy
from agentcore.replay import Certainty, Record, Recording
from dashboard.agents.models import PolicyVersion
from dashboard.agents.policy_layers import layer_of, tried, versions_named
from dashboard.agents.policy_resolution import Level
from dashboard.agents.selectors import policy_version_active
from dashboard.platform.ids import first_id_at
from dashboard.policies.backtests.turn_judgement import KEPT, goes_on, tried_under, why_undecided
from dashboard.policies.models import Shadow, ShadowVerdict
from dashboard.policies.selectors import APART, turns_under, turns_unjudged
from dashboard.policies.services import shadow_end
from dashboard.replay.services import turn_experience
from dashboard.turns.history import recording_of
from dashboard.turns.models import UNFINISHED, Turn

log = structlog.get_logger(__name__)

SWEEP_SECONDS = 5.0  #: between two sweeps; and how long one lasts at most, so that the worker has as much for the rest
BATCH = 50  #: turns of one transaction
#: A turn's id may be a little older than its row: clocks of several machines differ.
SKEW = timedelta(minutes=1)

Word = ShadowVerdict.Word


def sweep() -> int:
    """Judge what has ended since, for every shadow that runs, until nothing is left or the time is over; returns how
    many turns were judged."""
    until, judged = time.monotonic() + SWEEP_SECONDS, 0
    behind = list(Shadow.objects.filter(ended_at=None).values_list("id", flat=True))
    while behind:
        done = {shadow_id: _sweep(shadow_id) for shadow_id in behind}
        judged += sum(done.values())
        behind = [shadow_id for shadow_id in behind if done[shadow_id] >= BATCH and time.monotonic() < until]
    return judged


def _sweep(shadow_id: UUID) -> int:
    """One batch; fewer than `BATCH` are the last. One worker at a time: the shadow's row is the lock."""
    with transaction.atomic():
        rows = Shadow.objects.select_for_update(skip_locked=True, of=("self",)).select_related("version__policy")
        shadow = rows.filter(id=shadow_id, ended_at=None).first()
        if shadow is None or _activated(shadow):
            return 0
        horizon = first_id_at(timezone.now() - SKEW)
        # First, for what ends in between is then found by its place.
        _keep_places(shadow, horizon)
        late, others = turns_unjudged(shadow)
        passed_by = list(late[:BATCH])
        turns = list(others[: BATCH - len(passed_by)])
        _judge(shadow, passed_by + turns)
        judged = len(passed_by) + len(turns)
        # A whole batch: more may wait, and nothing is known past the last of it.
        seen_to = horizon if judged < BATCH else min(horizon, turns[-1].id) if turns else shadow.seen_to
        shadow.seen_to = max(shadow.seen_to, seen_to)
        shadow.save(update_fields=["seen_to"])
    return judged


def _activated(shadow: Shadow) -> bool:
    """Ends the shadow of a version that has become active, however that came about."""
    version = shadow.version
    if policy_version_active(policy=version.policy) != version:
        return False
    shadow_end(shadow, None)
    return True


def _keep_places(shadow: Shadow, horizon: UUID) -> None:
    """Of turns that have not ended, so that a held one holds up none that come after it."""
    late = turns_under(shadow).filter(status__in=UNFINISHED, id__lt=horizon)
    places = [ShadowVerdict(shadow=shadow, turn=turn, word=ShadowVerdict.NOT_ENDED) for turn in late.only("id")]
    ShadowVerdict.objects.bulk_create(places, ignore_conflicts=True)


def _judge(shadow: Shadow, turns: Sequence[Turn]) -> None:
    places = shadow.verdicts.filter(word=ShadowVerdict.NOT_ENDED)
    places.filter(Q(turn__in=turns) | Q(turn__status__in=APART)).delete()
    ShadowVerdict.objects.bulk_create([verdict_of(shadow, turn) for turn in turns], ignore_conflicts=True)


def verdict_of(shadow: Shadow, turn: Turn) -> ShadowVerdict:
    """What the draft would have made of a turn that has ended; not saved."""
    before = turn.terminal_reason or turn.status
    try:
        recording = recording_of(turn)
        policy = policy_in_shadow(turn, shadow.version, recording.policy)
        imagined = tried_under(recording, policy, experience=turn_experience(turn), trace=True)
    except Exception as error:
        # A recording that cannot be judged again must not hold up all that come after it.
        log.warning("shadow_undecidable", turn=str(turn.id), error=str(error))
        imagined = None
    if imagined is None or imagined.undecidable or imagined.final is None or imagined.final.end is None:
        unended = imagined is not None and goes_on(turn, recording, imagined)
        word, unknown = Word.UNENDED if unended else Word.UNDECIDABLE, Certainty.UNDECIDABLE.value
        why = why_undecided(imagined)
        return ShadowVerdict(shadow=shadow, turn=turn, word=word, certainty=unknown, why=why, before=before)
    end, spent = imagined.final.end, imagined.spent
    same = (end.status.value, end.terminal_reason) == (turn.status, turn.terminal_reason)
    return ShadowVerdict(
        shadow=shadow,
        turn=turn,
        word=Word.SAME if same else Word.FLIPPED,
        certainty=imagined.certainty.value,
        before=before,
        after=end.terminal_reason,
        tokens_delta=spent.output_tokens - turn.output_tokens,
        calls_delta=spent.attempts - turn.attempts,
        parted_at=parted_at(recording, imagined),
    )


def parted_at(recording: Recording, imagined: Recording) -> int | None:
    """The first record where another decision would have been taken; None where all would have been the same.

    Reasons and numbers that were only looked at are no decisions, and neither is how long a command may take.
    """
    for one, other in zip(recording.records, imagined.records, strict=False):
        if _decision(one) != _decision(other):
            return one.seq
    shared = min(len(recording.records), len(imagined.records))
    rest = recording.records[shared:] or imagined.records[shared:]
    return rest[0].seq if rest else None


def _decision(record: Record) -> tuple[object, ...]:
    moves = tuple((move["from"], move["trigger"], move["to"]) for move in record.transitions)
    return moves, {name: value for name, value in record.command.items() if name != "seconds_left"}


def policy_in_shadow(turn: Turn, draft: PolicyVersion, own: Policy) -> Policy:
    """The turn's policy with the draft where a version of its policy stood; overrides and other levels stay."""
    layer, stored = layer_of(draft, Level.AGENT, ""), turn.policy_sources
    policy = tried(layer, stored, turn.overrides, versions_named(stored))
    return replace(policy, max_tokens=own.max_tokens, **{name: getattr(own, name) for name in KEPT})
