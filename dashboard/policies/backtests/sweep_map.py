"""Two limits at once over a sample of turns: how many would be whole, at what price, how many cannot be told."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product
from time import thread_time
from uuid import UUID

from agentcore.events import Setup
from agentcore.number_format import percent
from agentcore.reasons import TurnStatus
from agentcore.replay import Certainty, Experience, Recording
from agentcore.values import replace
from dashboard.agents.models import Project
from dashboard.agents.observe_policy import was_watched
from dashboard.policies.backtests.recording_loader import TurnRow, batches, recordings
from dashboard.policies.backtests.turn_judgement import tried_under
from dashboard.replay.experience import experience_of
from dashboard.turns.filters import TimelineFilters
from dashboard.turns.models import UNFINISHED
from dashboard.turns.prices.rates import rate_of
from dashboard.turns.prices.selectors import totals_price
from dashboard.turns.selectors import traffic_matching
from dashboard.turns.sent_caps import sent_cap

SAMPLE = 100  #: turns, the newest
MOST_WORK = 32_000  #: of one map, in steps of following a recording (`agentcore.replay.work_budget`)
FIRST_WORK = 4_000  #: the same of a first map, which is shown while the whole one is made
#: Of one map, in seconds of the processor: a step of a long answer takes longer than one of a short one.
MOST_SECONDS = 6.0
CONTINUATIONS = (0, 1, 2, 3, 5, 8)
#: Of the largest max_tokens in the sample, or of the most tokens that a turn gave under it: a cap far above all answers
#: would make every column alike. That largest one is a column too.
SHARES = (0.25, 0.5, 1.0, 2.0, 4.0)
#: What is known of a turn's model.
Known = Callable[[TurnRow], Experience]
NO_EXPERIENCE = Experience()


def no_experience(_told: TurnRow) -> Experience:
    return NO_EXPERIENCE


#: What became of a turn, in words: by its status, where it is neither complete nor undecidable.
SORTS = {
    "partial": "Cut short, or stopped at a limit",
    "aborted": "Refused, or stopped before an answer",
    "failed": "Failed",
    "cancelled": "Cancelled",
    "interrupted": "Interrupted",
    "undecidable": "Not known",
    "complete": "Complete",
}


@dataclass(frozen=True, slots=True)
class CellOutcome:
    """One turn under one cell's limits. `word`: complete, partial (anything else that is known) or undecidable."""

    told: TurnRow
    word: str
    dollars: float | None
    certainty: str = Certainty.UNDECIDABLE.value
    status: str = ""  #: how it would have ended; empty where that cannot be told
    work: int = 1  #: that this took

    @property
    def sort(self) -> str:
        """One of SORTS."""
        return self.status if self.word == "partial" else self.word

    @property
    def look(self) -> str:
        """The word it is shown by."""
        return {"complete": "completed", "undecidable": "unknown"}.get(self.sort, self.sort)


@dataclass(frozen=True)
class Cell:
    """One pair of limits."""

    continuations: int
    max_tokens: int
    ended: tuple[CellOutcome, ...]
    left_out: int = 0  #: older turns of the sample that were not evaluated, for their work

    @cached_property
    def counts(self) -> dict[str, int]:
        words = [each.word for each in self.ended]
        return {word: words.count(word) for word in ("complete", "partial", "undecidable")}

    @cached_property
    def certainties(self) -> dict[str, int]:
        """The four counts of how certain that is."""
        words = [each.certainty for each in self.ended]
        return {certainty.value: words.count(certainty.value) for certainty in Certainty}

    @property
    def pair(self) -> tuple[int, int]:
        return self.continuations, self.max_tokens

    @property
    def query(self) -> str:
        """Both, as an address has them."""
        return f"continuations={self.continuations}&max_tokens={self.max_tokens}"

    @property
    def total(self) -> int:
        """The token total that goes with both."""
        return (self.continuations + 1) * self.max_tokens

    @property
    def complete(self) -> str:
        return self._percent("complete")

    @property
    def undecidable(self) -> str:
        return self._percent("undecidable")

    @property
    def estimated(self) -> str:
        return self._share(self.certainties["estimated"])

    @property
    def sorts(self) -> list[tuple[str, list[CellOutcome]]]:
        """Its turns by what became of them, those that are not whole first; the newest of each first."""
        newest = self.ended[::-1]
        found = {words: [each for each in newest if each.sort == sort] for sort, words in SORTS.items()}
        return [(words, turns) for words, turns in found.items() if turns]

    @property
    def shade(self) -> int:
        """0 to 4, by the share that is whole."""
        return min(4, 5 * self.counts["complete"] // max(1, len(self.ended)))

    @property
    def dollars(self) -> float | None:
        """What the `priced` turns would have cost together; None where there is none."""
        known = [each.dollars for each in self.ended if each.dollars is not None]
        return sum(known) if known else None

    @property
    def priced(self) -> int:
        """How many turns can be decided and have a known price; cells of other numbers are sums of other turns."""
        return sum(each.dollars is not None for each in self.ended)

    def _percent(self, word: str) -> str:
        return self._share(self.counts[word])

    def _share(self, count: int) -> str:
        return percent(count / max(1, len(self.ended)))


@dataclass(frozen=True, slots=True)
class SweepMap:
    """Rows by continuations, columns by max_tokens. `newest` and `oldest`: the last and the first of its turns; None
    where there is none. `watched`: how many were only watched. `left_out`: older turns of the sample that were not
    evaluated, for the map would have taken too much work. `unset`: how many were sent no max_tokens. `used`:
    continuations and max_tokens of the newest turn under a policy, a cell of the map; None where there is none."""

    columns: tuple[int, ...]
    rows: tuple[tuple[int, tuple[Cell, ...]], ...]
    turns: int
    newest: UUID | None
    watched: int
    left_out: int = 0
    unset: int = 0
    oldest: UUID | None = None
    used: tuple[int, int] | None = None
    goes_on: bool = False  #: whether a first map has less than a whole one would


def sample_of(
    *, project: Project, filters: TimelineFilters, newest: UUID | None = None, oldest: UUID | None = None
) -> list[tuple[TurnRow, Recording | None]]:
    """The newest turns with a history, from `oldest` to `newest`, as recordings; no re-runs. None for a history that
    cannot be read."""
    turns = traffic_matching(project=project, filters=filters).exclude(status__in=UNFINISHED).exclude(last_seq=0)
    if newest is not None:
        turns = turns.filter(id__lte=newest)
    if oldest is not None:
        turns = turns.filter(id__gte=oldest)
    ids = list(turns.order_by("-id").values_list("id", flat=True)[:SAMPLE])
    chosen = turns.filter(id__in=ids)
    return list(islice((pair for batch in batches(chosen) for pair in recordings(batch)), SAMPLE))


def experience_with(project: Project) -> Known:
    """What the stored calls of each turn's model bear out."""
    return lambda told: experience_of(project=project, provider=told.provider, model=told.model)


def map_of(
    sample: Sequence[tuple[TurnRow, Recording | None]], known: Known = no_experience, *, first: bool = False
) -> SweepMap:
    """Every pair of limits; each recording's past is read once. The newest turns first, as far as the work allows.
    `first`: a small part of it."""
    used = _used(sample)
    columns = tuple(sorted({*columns_of(sample), *(used[1:] if used else ())}))
    pairs = tuple(product(CONTINUATIONS, columns))
    tried = _tried(sample, pairs, known, FIRST_WORK if first else MOST_WORK)
    cells = {pair: Cell(*pair, tuple(each[place] for each in tried)) for place, pair in enumerate(pairs)}
    rows = tuple((n, tuple(cells[n, tokens] for tokens in columns)) for n in CONTINUATIONS)
    left_out = len(sample) - len(tried)
    known_turns = [recording for _, recording in sample[left_out:] if recording is not None]
    watched = sum(was_watched(recording.policy) for recording in known_turns)
    unset = sum(cap_of(recording) is None for recording in known_turns)
    newest, oldest = (sample[-1][0].id, sample[left_out][0].id) if tried else (None, None)
    goes_on = first and (left_out > 0 or sum(each.work for ended in tried for each in ended) >= FIRST_WORK)
    return SweepMap(columns, rows, len(tried), newest, watched, left_out, unset, oldest, used, goes_on)


def _tried(
    sample: Sequence[tuple[TurnRow, Recording | None]], pairs: Sequence[tuple[int, int]], known: Known, most: int
) -> list[list[CellOutcome]]:
    """Each turn under each of the pairs, in the order of the sample; older ones are left out where the work is spent.

    A turn whose pairs are not all tried is left out too, or the map would tell of it otherwise than its cells do. Of a
    single turn, the pairs beyond are undecidable."""
    found, work, until = list[list[CellOutcome]](), 0, thread_time() + MOST_SECONDS
    for told, recording in reversed(sample):
        if found and thread_time() > until:
            break
        experience, ended = known(told), list[CellOutcome]()
        for pair in pairs:
            over = work >= most
            if over and found:
                return found[::-1]
            ended.append(CellOutcome(told, "undecidable", None) if over else _ended(told, recording, *pair, experience))
            work += ended[-1].work
        found.append(ended)
    return found[::-1]


def columns_of(sample: Sequence[tuple[TurnRow, Recording | None]]) -> tuple[int, ...]:
    """Of a turn that was sent no cap, what it gave counts as what it needs."""
    asked = [cap_of(recording) or told.output_tokens for told, recording in sample if recording]
    largest, given = max(asked, default=0), max((told.output_tokens for told, _ in sample), default=0)
    most = min(largest, given) if given else largest
    shares = {max(1, round(most * share)) for share in SHARES}
    return tuple(sorted({*shares, largest})) if most else ()


def _used(sample: Sequence[tuple[TurnRow, Recording | None]]) -> tuple[int, int] | None:
    """Of the newest turn that a policy acted in and that was sent a cap, where the map has its row."""
    for _, recording in reversed(sample):
        if recording is not None and not was_watched(recording.policy) and (cap := cap_of(recording)):
            continuations = recording.policy.limits.max_continuations
            return (continuations, cap) if continuations in CONTINUATIONS else None
    return None


def cap_of(recording: Recording) -> int | None:
    """In tokens, of the first call; None where none was sent."""
    setup = _setup_of(recording)
    return recording.policy.max_tokens or (sent_cap(setup) if setup is not None else None)


def _setup_of(recording: Recording) -> Setup | None:
    base = recording.base_snapshot.setup
    return base or (getattr(recording.records[0].event, "setup", None) if recording.records else None)


def cell_of(
    sample: Sequence[tuple[TurnRow, Recording | None]],
    continuations: int,
    max_tokens: int,
    known: Known = no_experience,
) -> Cell:
    """The turns under one pair, the newest first as far as the work allows."""
    ended = tuple(each for (each,) in _tried(sample, [(continuations, max_tokens)], known, MOST_WORK))
    return Cell(continuations, max_tokens, ended, len(sample) - len(ended))


def _ended(
    told: TurnRow, recording: Recording | None, continuations: int, max_tokens: int, experience: Experience
) -> CellOutcome:
    """The token total is lifted with the continuations, so that they and max_tokens are what binds."""
    if recording is None:
        return CellOutcome(told, "undecidable", None)
    own = recording.policy
    total = (continuations + 1) * max_tokens
    limits = replace(own.limits, max_continuations=continuations, max_total_completion_tokens=total)
    found = tried_under(recording, replace(own, limits=limits, max_tokens=max_tokens), experience=experience)
    if found is None or found.undecidable or found.final is None or found.final.end is None:
        return CellOutcome(told, "undecidable", None, work=1 if found is None else found.work)
    rate = rate_of(provider=told.provider, model=told.model, address=told.address or "", at=told.started_at)
    price = totals_price(found.spent, recording.base_snapshot.own, rate)
    status = found.final.end.status
    word = "complete" if status is TurnStatus.COMPLETED else "partial"
    return CellOutcome(
        told, word, None if price is None else float(price.dollars), found.certainty.value, status.value, found.work
    )
