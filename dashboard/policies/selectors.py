"""Reads: shadows and what they counted. What is not there raises `DoesNotExist`."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, Q, QuerySet, Sum

from dashboard.agents.models import Policy
from dashboard.policies.models import Shadow, ShadowVerdict
from dashboard.turns.models import Turn

LISTED = 200  #: turns of a line of the ledger
SHOWN = 20  #: flipped turns that are listed


@dataclass(frozen=True, slots=True)
class Tally:
    """How many turns would have ended the same, otherwise, or cannot be told; what all told would have cost more."""

    same: int
    flipped: int
    undecidable: int
    tokens_delta: int
    calls_delta: int

    @property
    def judged(self) -> int:
        return self.same + self.flipped + self.undecidable


def tally_of(shadow: Shadow) -> Tally:
    words = {word: Count("pk", filter=Q(word=word)) for word in ShadowVerdict.Word.values}
    sums = {"tokens": Sum("tokens_delta", default=0), "calls": Sum("calls_delta", default=0)}
    found = shadow.verdicts.aggregate(**words, **sums)
    return Tally(found["same"], found["flipped"], found["undecidable"], found["tokens"], found["calls"])


def shadows_of(policy: Policy) -> QuerySet[Shadow]:
    """Those of its versions, the newest first."""
    return Shadow.objects.filter(version__policy=policy).select_related("version__policy", "created_by")


def shadow_get(shadow_id: UUID) -> Shadow:
    return Shadow.objects.select_related("version__policy").get(pk=shadow_id)


def turns_stopped(turn_ids: Sequence[UUID]) -> list[Turn]:
    """The first of these turns, the newest first, as a list shows them."""
    shown = (
        "input_text",
        "agent_name",
        "provider",
        "model",
        "terminal_reason",
        "status",
        "output_tokens",
        "created_at",
    )
    return list(Turn.objects.filter(id__in=turn_ids[:LISTED]).only(*shown).order_by("-id"))


def disagreements(shadow: Shadow) -> QuerySet[ShadowVerdict]:
    """The turns that would have gone another way, the newest first."""
    flipped = shadow.verdicts.filter(word=ShadowVerdict.Word.FLIPPED).select_related("turn")
    return flipped.only("word", "before", "after", "turn__id", "turn__input_text", "turn__agent_name").order_by("-turn")
