"""Reads: shadows, what they counted, and whether they have any turns to evaluate. What is not there raises
`DoesNotExist`."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Sum

from agentcore.number_format import count
from agentcore.reasons import TurnStatus
from agentcore.replay import Certainty
from dashboard.agents.models import Policy, PolicyAttachment, Project
from dashboard.agents.observe_policy import ENDLESS_CHARS
from dashboard.agents.selectors import agents_under, policy_version_active
from dashboard.platform.ids import first_id_at
from dashboard.policies.backtests.result_text import counts_in_words
from dashboard.policies.backtests.tallies import SURE, Undecided, by_frequency
from dashboard.policies.models import Shadow, ShadowVerdict
from dashboard.turns.end_summary import READ
from dashboard.turns.models import UNFINISHED, Turn

LISTED = 200  #: turns of a line of the ledger
TOLD = ("word", "before", "after", "calls_delta", "tokens_delta", "parted_at", "certainty")
MOST_WAITING = 1_000  #: turns that are counted; where more wait, nobody asks how many
#: Ended by a person or lost: no policy had the last word.
APART = (TurnStatus.CANCELLED.value, TurnStatus.INTERRUPTED.value)
SHOWN = 20  #: flipped turns that are listed


@dataclass(frozen=True, slots=True)
class Tally:
    """How many turns would have ended the same, otherwise, or cannot be told; what all told would have cost more.

    `recorded`, `certain` and `estimated`: how certain the decided ones are; None where some were judged before that was
    kept.
    """

    same: int
    flipped: int
    undecidable: int
    tokens_delta: int
    calls_delta: int
    gone_on: int = 0  #: of the flipped
    sooner: int = 0  #: of the flipped
    unended: int = 0  #: of the undecidable: their end is not known, because they would have continued
    another_way: int = 0  #: of the same: decided otherwise on the way
    recorded: int | None = 0
    certain: int | None = 0
    estimated: int | None = 0
    about: int = 0  #: of those decided, whose difference in tokens is an estimate, or may be one
    waiting: int = 0  #: ended and not judged yet; `MOST_WAITING` stands for more too
    whys: dict[str, int] = field(default_factory=dict)  #: the undecidable by reason, as far as reasons were kept

    @property
    def judged(self) -> int:
        return self.same + self.flipped + self.undecidable

    @property
    def words(self) -> str:
        return counts_in_words(asdict(self))


UNDECIDABLE = (ShadowVerdict.Word.UNENDED, ShadowVerdict.Word.UNDECIDABLE)
UNDECIDED = (ShadowVerdict.NOT_ENDED, *UNDECIDABLE)
FLIPPED = Q(word=ShadowVerdict.Word.FLIPPED)
#: As a backtest tells them apart: by calls, and by tokens where those are the same.
COUNTED: Mapping[str, Q] = {
    **{word: Q(word=word) for word in ShadowVerdict.Word.values},
    "undecidable": Q(word__in=UNDECIDABLE),
    "gone_on": FLIPPED & (Q(calls_delta__gt=0) | Q(calls_delta=0, tokens_delta__gt=0)),
    "sooner": FLIPPED & (Q(calls_delta__lt=0) | Q(calls_delta=0, tokens_delta__lt=0)),
    **{certainty: ~Q(word__in=UNDECIDED) & Q(certainty=certainty) for certainty in SURE},
    "unsure": ~Q(word__in=UNDECIDED) & Q(certainty=""),
    "about": ~Q(word__in=UNDECIDED)
    & ~Q(tokens_delta=0)
    & (Q(certainty__in=("", Certainty.ESTIMATED.value)) | Q(turn__tokens_estimated=True)),
    "another_way": Q(word=ShadowVerdict.Word.SAME, parted_at__isnull=False),
}


def tally_of(shadow: Shadow) -> Tally:
    counts = {name: Count("pk", filter=of) for name, of in COUNTED.items()}
    sums = {f"{name}_sum": Sum(f"{name}_delta", default=0) for name in ("tokens", "calls")}
    found = shadow.verdicts.aggregate(**counts, **sums)
    if found.pop("unsure"):
        found |= dict.fromkeys(SURE)
    deltas = {"tokens_delta": found.pop("tokens_sum"), "calls_delta": found.pop("calls_sum")}
    waiting = 0 if shadow.ended_at else sum(turns[:MOST_WAITING].count() for turns in turns_unjudged(shadow))
    return Tally(**found, **deltas, waiting=min(waiting, MOST_WAITING), whys=_whys(shadow))


def _whys(shadow: Shadow) -> dict[str, int]:
    kept = shadow.verdicts.exclude(why="").values("why")
    return by_frequency(dict(kept.annotate(turns=Count("pk")).values_list("why", "turns")))


def turns_under(shadow: Shadow) -> QuerySet[Turn]:
    """Turns that ran under the shadowed policy since it began, as far as the sweep has not gone past them. One that was
    only watched did not: no policy acted on it. One that was made from another is an experiment, often with the draft's
    own limits."""
    ran = Turn.objects.filter(
        project=shadow.project_id,
        parent=None,
        id__gte=max(shadow.seen_to, first_id_at(shadow.started_at)),
        created_at__gte=shadow.started_at,
    )
    return ran.filter(named_in(shadow.version.policy)).exclude(WATCHED)


def named_in(policy: Policy) -> Q:
    """Turns among whose policies this one is; also those that were only watched."""
    return _contains("policy_sources", {"layers": [{"policy": policy.name}]})


def _contains(column: str, asked: Mapping[str, object]) -> Q:
    """Rows of older releases hold the whole object, others a list with what is asked for
    (`dashboard.turns.shared_values`)."""
    return Q(**{f"{column}__contains": asked}) | Q(**{f"{column}__contains": [asked]})


WATCHED = _contains("policy", {"limits": {"max_total_output_chars": ENDLESS_CHARS}})  #: no policy acted on these


def turns_unjudged(shadow: Shadow) -> tuple[QuerySet[Turn], QuerySet[Turn]]:
    """Those that have ended and have no verdict yet, oldest first: the ones whose place was kept, and all others."""
    kept = shadow.verdicts.filter(word=ShadowVerdict.NOT_ENDED).values("turn")
    known = ShadowVerdict.objects.filter(shadow=shadow, turn=OuterRef("pk"))
    ended = ~Q(status__in=(*UNFINISHED, *APART))
    late = Turn.objects.filter(ended, id__in=kept).order_by("id")
    return late, turns_under(shadow).filter(ended, ~Exists(known)).order_by("id")


def shadows_of(policy: Policy) -> QuerySet[Shadow]:
    """Those of its versions, the newest first."""
    return Shadow.objects.filter(version__policy=policy).select_related("version__policy", "created_by", "ended_by")


def ended_by_activation(shadow: Shadow) -> bool:
    """Whether it ended because its version became active, however that came about."""
    if shadow.ended_at is None:
        return False
    meanwhile = (shadow.started_at, shadow.ended_at)
    return shadow.version.activations.filter(withdrawn_at=None, starts_at__range=meanwhile).exists()


def shadow_get(shadow_id: UUID, *, project: Project) -> Shadow:
    return Shadow.objects.select_related("version__policy").get(pk=shadow_id, project=project)


def turns_stopped(turn_ids: Sequence[UUID]) -> list[Turn]:
    """The first of these turns, the newest first, as a list shows them."""
    shown = (
        "input_text",
        "agent_name",
        "provider",
        "model",
        "output_tokens",
        "created_at",
        *READ,
    )
    return list(Turn.objects.filter(id__in=turn_ids[:LISTED]).only(*shown).order_by("-id"))


def unended_of(shadow: Shadow) -> list[UUID]:
    """The first turns that would have continued to an unknown end."""
    found = shadow.verdicts.filter(word=ShadowVerdict.Word.UNENDED).order_by("turn")
    return list(found.values_list("turn_id", flat=True)[:LISTED])


def undecided_of(shadow: Shadow) -> list[Undecided]:
    """The newest undecidable turns."""
    found = shadow.verdicts.exclude(why="").order_by("-turn").values_list("turn_id", "why")
    return [Undecided(str(turn_id), why) for turn_id, why in found[:LISTED]]


def disagreements(shadow: Shadow) -> QuerySet[ShadowVerdict]:
    """The turns that would have gone another way, the newest first."""
    flipped = shadow.verdicts.filter(word=ShadowVerdict.Word.FLIPPED).select_related("turn")
    return flipped.only(*TOLD, "turn__id", "turn__input_text", "turn__agent_name", "turn__tokens_estimated").order_by(
        "-turn"
    )


LOOKED_AT = 100  #: turns, the newest; re-runs and forks are left out, as in a shadow run
NAMED = 3  #: agents and places that are named


def reach_warning(policy: Policy) -> str:
    """`It applies to none of the last 41 turns, because no agent uses it and it is not attached anywhere.` Empty where
    a shadow run has turns to evaluate, or where nothing tells, because there are no turns yet."""
    turns = Turn.objects.filter(project=policy.project_id, parent=None).order_by("-id")
    newest = list(turns.values_list("id", flat=True)[:LOOKED_AT])
    named = Turn.objects.filter(named_in(policy), id__in=newest)
    acted_on = named.exclude(WATCHED).count()
    places = _places(policy)
    inactive = policy_version_active(policy=policy) is None
    if acted_on and places and not inactive:
        return ""
    if not (newest or inactive or not places):
        return ""
    why = _why(places, inactive=inactive, watched=named.exists())
    if not newest:
        return f"It applies to no turn, because {why}."
    of = f"{'none' if not acted_on else f'{acted_on:,}'} of the last {count(len(newest), 'turn')}"
    return f"It applies to {of}{', and to none from now on' if acted_on else ''}, because {why}."


def _places(policy: Policy) -> Sequence[str]:
    """The agents that use it, and what it is attached to."""
    agents = [agent.name for agent in agents_under(policy=policy)]
    attached = PolicyAttachment.objects.filter(policy=policy).select_related("connection")
    return [*sorted(agents), *sorted(place.place for place in attached)]


def _why(places: Sequence[str], *, inactive: bool, watched: bool) -> str:
    if not places:
        return "no agent uses it and it is not attached anywhere"
    if inactive:
        return "none of its versions is active, so no turn runs under it"
    if watched:
        return "the gateway only observed the turns to which it applies"
    more = f" and {len(places) - NAMED:,} more" if len(places) > NAMED else ""
    return f"it applies to {', '.join(places[:NAMED])}{more}, and none of these turns ran there"


def warnings_for(policy: Policy) -> list[str]:
    """What to say when a shadow run of the policy has begun."""
    warning = reach_warning(policy)
    return [f"This shadow run may have nothing to evaluate. {warning}"] if warning else []
