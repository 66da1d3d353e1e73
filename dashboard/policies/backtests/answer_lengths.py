"""Lengths of stored answers in tokens; a truncated answer counts as censored.

Also holds answers that become longer with time: only the newest of them tell how long the next will be.

The newer half is compared with the older one by the log-rank test, which counts cut answers as the estimate does.
Source: Mantel 1966; Peto and Peto 1972.

A turn and its re-runs are one family, of which one length counts: a prompt that was run again ten times says no more
of an agent than any other.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import Case, Exists, F, OuterRef, QuerySet, When

from agentcore.number_format import percent
from agentcore.prefill import goes_on_exactly
from agentcore.reasons import NormalizedStopReason, TurnStatus
from agentcore.replay import Certainty
from agentcore.sufficient_max_tokens import END_AT_MOST
from dashboard.agents.models import Project
from dashboard.gateway.models import GatewayCall
from dashboard.policies.backtests.batched_queries import rows_of_each
from dashboard.policies.backtests.survival import LEAST_ENDED, Curve, Length, Quantile, estimate
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.models import UNFINISHED, Turn
from dashboard.turns.selectors import turns_matching
from dashboard.turns.shared_values import whole
from dashboard.turns.templatetags.formatting import number

T = TypeVar("T")


def one_per_family(turns: Sequence[tuple[UUID, UUID | None, T]], length_of: Callable[[T], Length]) -> list[T]:
    """Of each family the first turn that ended by itself, else the longest of those that were cut; the oldest family
    first.

    `turns`: their ids, those of the turns that they run again, and what is known of them; the newest first.
    """
    chosen, first_of = dict[UUID, T](), dict[UUID, UUID]()
    for turn_id, parent_id, found in reversed(turns):
        first = first_of[turn_id] = first_of.get(parent_id, parent_id) if parent_id else turn_id
        if first not in chosen or _is_better(length_of(found), length_of(chosen[first])):
            chosen[first] = found
    return list(chosen.values())


def _is_better(length: Length, known: Length) -> bool:
    return not known.ended and (length.ended or length.tokens > known.tokens)


LONGER = 2.5758  #: standard errors, which the newer half reaches by chance once in 200 times


def newest_alike(lengths: Sequence[Length]) -> Sequence[Length]:
    """Of these, oldest first, the newest that are not longer than those before them: all, a half, a quarter …"""
    older, newer = lengths[: len(lengths) // 2], lengths[len(lengths) // 2 :]
    if sum(length.ended for length in newer) < LEAST_ENDED or not _longer(older, newer):
        return lengths
    return newest_alike(newer)


def _longer(older: Sequence[Length], newer: Sequence[Length]) -> bool:
    """Whether the newer ones end later than both together would."""
    ended = Counter(length.tokens for length in (*older, *newer) if length.ended)
    later = sum(length.ended for length in newer)
    gone, gone_newer = _leaving((*older, *newer)), _leaving(newer)
    at_risk, of_newer, expected, variance = len(older) + len(newer), len(newer), 0.0, 0.0
    for tokens in sorted(gone):
        if (ends := ended[tokens]) and at_risk > 1:
            share = of_newer / at_risk
            expected += ends * share
            variance += ends * share * (1 - share) * (at_risk - ends) / (at_risk - 1)
        elif ends:
            expected += ends * of_newer / at_risk
        at_risk -= gone[tokens]
        of_newer -= gone_newer[tokens]
    return variance > 0 and (expected - later) / math.sqrt(variance) > LONGER


def _leaving(lengths: Sequence[Length]) -> Counter[int]:
    return Counter(length.tokens for length in lengths)


MOST = 5_000  #: turns, the newest: enough for the 99 % quantile, and read within a tenth of a second
#: Signs that an answer which says it ended was cut: it counts as one that was. Of rows from before the sign of the last
#: answer was stored, those of all calls count.
CUT_SIGNS = frozenset({"output_at_cap", "unclosed_json", "unclosed_fence", "unclosed_bracket", "unclosed_sentence"})
ASKED = (0.5, 0.75, 0.9, 0.95, 0.99)
ENOUGH = 0.95  #: of the answers, whole: what a limit should do
FEW = 30  #: turns, below which an interval says little
#: The settings of the connection, of turns that were continued; of others the setup is not read.
SETUP = Case(When(continuations__gt=0, then=F("setup__setup")))


_KnownLength = tuple[Length, Certainty]
_OfTurn = tuple[UUID, UUID | None, _KnownLength]  #: a turn, the turn that it runs again, and the length of its answer


@dataclass(frozen=True, slots=True)
class Estimate:
    """The curve of one answer's tokens, over all its continuations. `capped`: only the newest `MOST` turns count.

    A length is recorded where one call said the answer; certain where every continuation was a prefill; estimated after
    a hint, for the model might have taken other tokens in one go, and where usage was not reported; undecidable where
    the answer was cut.
    """

    curve: Curve
    capped: bool
    certainties: Mapping[str, int] = field(default_factory=dict)  #: how certain each length is, all four; they add up
    older: int = 0  #: answers that do not count, for the newer ones are longer

    @property
    def words(self) -> str:
        """What it says, claiming no more than it knows."""
        curve = self.curve
        if not curve.count:
            return "None of these turns shows the length of an answer."
        older = "" if not self.older else f" Answers have become longer: {number(self.older)} older ones do not count."
        return f"{_median(curve.quantile(0.5).tokens)}{self._nearly_all}.{older}"

    @property
    def _nearly_all(self) -> str:
        """What was counted, and apart from it what is estimated of further answers, on which condition."""
        curve = self.curve
        tokens, share = curve.expected(ENOUGH)
        longer = f"an estimated {percent(curve.undecided)} of answers are longer than any that ended"
        if curve.ended < LEAST_ENDED:
            complete = f"{number(curve.ended)} of these answers {'is' if curve.ended == 1 else 'are'} complete"
            return f"; {complete}, and an estimate for further answers needs at least {LEAST_ENDED}"
        if tokens is None:
            return f"; these recordings do not show within how many tokens {percent(ENOUGH)} are complete: {longer}"
        few = f"; more answers are needed to estimate within how many tokens {percent(ENOUGH)} are complete"
        rest = few if share < ENOUGH else f"; {longer}" if curve.undecided > 0 else ""
        estimated = f"An estimated {percent(share)} of further answers like these have at most {number(tokens)} tokens"
        return f". {self._counted(tokens)} {estimated}{rest}"

    def _counted(self, tokens: int) -> str:
        """`113 of these 120 answers ended within 163 tokens; 4 were cut earlier.`"""
        ended, cut = self.curve.counts_at(tokens)
        earlier = f"; {number(cut)} {'was' if cut == 1 else 'were'} cut earlier" if cut else ""
        answers = f"{number(ended)} of these {number(self.curve.count)} answers"
        return f"{answers} ended within {number(tokens)} tokens{earlier}."

    @property
    def likely(self) -> int | None:
        """The length within which `ENOUGH` of further answers like these are estimated to be complete. None where these
        answers do not bear out so many."""
        longest, share = self.curve.expected(ENOUGH)
        return None if longest is None or share < ENOUGH else longest

    @property
    def suffices(self) -> int | None:
        """A limit that is estimated to be enough for `ENOUGH` of further answers like these: their length, and what an
        end takes that nobody reports. None as `likely`."""
        return None if self.likely is None else self.likely + END_AT_MOST

    @property
    def quantiles(self) -> tuple[Quantile, ...]:
        """The shares that the page lists. From `ENOUGH` on, a share that these answers do not bear out has no number:
        the sentence says of it that more answers are needed."""
        return tuple(self._quantile(of) for of in ASKED)

    @property
    def bounds_missing(self) -> bool:
        """Whether one of these has no interval, or none with an upper end."""
        return any(quantile.high is None for quantile in self.quantiles)

    @property
    def nearly_all(self) -> Quantile:
        """The one that the chart marks."""
        return self._quantile(ENOUGH)

    def _quantile(self, of: float) -> Quantile:
        known = of < ENOUGH or self.curve.expected(of)[1] >= of
        return self.curve.quantile(of) if known else Quantile(of, None, None, None)

    @property
    def few(self) -> bool:
        return self.curve.count < FEW


def _median(tokens: int | None) -> str:
    return "Median not known" if tokens is None else f"Median {number(tokens)} token{'' if tokens == 1 else 's'}"


def estimate_of(*, project: Project, filters: TimelineFilters) -> Estimate:
    """Of the turns that gave one answer, in one call or continued; a turn that ran tools, or one call for several,
    gives several and is left out. A call that was only watched counts: how long an answer is depends on no policy."""
    turns = list(_turns(project, filters))
    found = _once(turns)
    alike = newest_alike([length for length, _ in found])
    older = len(found) - len(alike)
    counted = Counter(certainty for _, certainty in found[older:])
    certainties = {certainty.value: counted[certainty] for certainty in Certainty}
    return Estimate(estimate(alike), len(turns) == MOST, certainties, older)


def lengths_of(*, project: Project, filters: TimelineFilters) -> tuple[Length, ...]:
    """The lengths that `estimate_of` is made of, oldest first."""
    return _lengths(_turns(project, filters))


def lengths_of_each(*, project: Project, filters: Sequence[TimelineFilters]) -> list[tuple[Length, ...] | None]:
    """The same of several filters, by few statements; None where these took too long."""
    found = rows_of_each([_rows(project, each) for each in filters], _TOLD)
    return [None if rows is None else _lengths(_told(*row) for row in rows) for rows in found]


def _lengths(turns: Iterable[_OfTurn]) -> tuple[Length, ...]:
    return tuple(length for length, _ in _once(list(turns)))


def _once(turns: Sequence[_OfTurn]) -> list[_KnownLength]:
    return one_per_family(turns, lambda known: known[0])


def _turns(project: Project, filters: TimelineFilters) -> Iterator[_OfTurn]:
    """The newest turns, the newest first."""
    for row in _rows(project, filters).values_list(*_TOLD).iterator(chunk_size=5_000):
        yield _told(*row)


def _rows(project: Project, filters: TimelineFilters) -> QuerySet[Turn]:
    turns = turns_matching(project=project, filters=filters).exclude(status__in=UNFINISHED).order_by("-id")
    one_answer = turns.filter(attempts=F("continuations") + 1, output_tokens__gt=0, envelope_retries=0)
    several = GatewayCall.objects.filter(turn_id=OuterRef("pk"), n__gt=1)
    return one_answer.exclude(Exists(several)).annotate(asked_of=SETUP)[:MOST]


#: The columns that `_told` reads, in its order.
_TOLD = (
    "id", "parent_id", "output_tokens", "model_stop_reason", "status", "lint", "continuations", "tokens_estimated",
    "provider", "model", "cut_sign", "asked_of",
)  # fmt: skip


def _told(*row: Any) -> _OfTurn:
    turn_id, parent_id, tokens, reason, status, lint, continuations, guessed, provider, model, sign, setup = row
    extra = whole(setup or {}).get("extra")
    ended = _ended_by_itself(reason, status) and not (sign or (sign is None and not CUT_SIGNS.isdisjoint(lint)))
    exact = goes_on_exactly(provider, model, extra or {}) and "ambiguous_seam" not in lint
    certainty = _certainty(continued=continuations > 0, guessed=guessed, exact=exact)
    return turn_id, parent_id, (Length(tokens, ended), certainty if ended else Certainty.UNDECIDABLE)


def _certainty(*, continued: bool, guessed: bool, exact: bool) -> Certainty:
    """Of the length of an answer that ended by itself."""
    if guessed or (continued and not exact):
        return Certainty.ESTIMATED
    return Certainty.CERTAIN if continued else Certainty.RECORDED


def _ended_by_itself(reason: str | None, status: str) -> bool:
    """Whole calls that go to the gateway's caller end an answer as its last word does; calls that a limit kept from
    running, or that were broken, leave more to come."""
    if reason == NormalizedStopReason.TOOL_CALL:
        return status == TurnStatus.COMPLETED
    return reason == NormalizedStopReason.END_TURN
