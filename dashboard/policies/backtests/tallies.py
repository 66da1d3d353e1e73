"""What a backtest found, as counts that add up: of turns, of parts, of the whole. Plain JSON when stored."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

LISTED = 1_000  #: flipped turns that are named; as many of those that would have continued to an unknown end


@dataclass(frozen=True, slots=True)
class TurnVerdict:
    """One turn under the draft. `word`: same, flipped or undecidable; `how` a flipped one differs: it would have gone
    on, stopped sooner, or ended for another reason at the same length. An undecidable one is `unended` where it would
    have gone on past the end of its recording.

    `ended` and `ends`: why it ended, and why it would have. `watched`: no policy had acted on it; it ended as its
    provider said. Differences are zero where it is undecidable; `dollars` is None where no price is known.
    """

    word: str
    how: str = ""
    ended: str = ""
    ends: str = ""
    tokens: int = 0
    calls: int = 0
    seconds: float = 0.0
    dollars: float | None = 0.0
    watched: bool = False
    certainty: str = "undecidable"  #: recorded, certain, estimated or undecidable
    why: str = ""  #: an undecidable one's reason (`certainty_text.UNDECIDED`)
    rerun: str = ""  #: the live re-run that decides it, by id; empty: the recording does
    uncounted: bool = False  #: tokens, and so the price, of what was recorded are our estimate
    completes: bool = False  #: it would have completed
    overridden: bool = False  #: without the turn's own overrides, which it keeps, it would have ended otherwise

    @property
    def about(self) -> bool:
        """Whether its differences in tokens and price are estimates."""
        return bool(self.tokens or self.dollars) and (self.uncounted or self.certainty == "estimated")


@dataclass(slots=True)
class Group:
    """Counts of one provider and model: by how the turns would have ended, and by how certain that is. The latter are
    None where some of them were judged before certainties were counted."""

    provider: str
    model: str
    same: int = 0
    flipped: int = 0
    undecidable: int = 0
    gone_on: int = 0  #: of the flipped
    completed: int | None = 0  #: of those gone on; None: some were judged before that was counted
    sooner: int = 0  #: of the flipped
    proven: int = 0  #: of those gone on, those that a live re-run has proven
    unended: int = 0  #: of the undecidable, those that would have continued; how they end is not recorded
    tokens: int = 0
    calls: int = 0
    seconds: float = 0.0
    dollars: float = 0.0
    unpriced: int = 0
    watched: int = 0  #: of all, those that were only watched
    recorded: int | None = 0
    certain: int | None = 0
    estimated: int | None = 0
    about: int | None = 0  #: decided turns whose differences in tokens and price are estimates
    overridden: int = 0  #: of all, those in which the turn's own overrides decide
    overridden_turns: list[str] = field(default_factory=list)  #: the first of these, by id
    #: the undecidable by reason; None where some were judged before reasons were counted
    whys: dict[str, int] | None = field(default_factory=dict)

    @classmethod
    def stored(cls, group: Mapping[str, Any]) -> "Group":
        """From JSON as it was stored; what it did not count then is not known."""
        return cls(**{**dict.fromkeys((*NOT_ALWAYS, "whys")), **group})

    @property
    def turns(self) -> int:
        return self.same + self.flipped + self.undecidable

    @property
    def is_about(self) -> bool:
        """Whether its differences in tokens and price may be estimates: one is, or nobody looked."""
        return self.about is None or self.about > 0

    @property
    def otherwise(self) -> int:
        """Of the flipped, those that would have ended for another reason at the same length."""
        return self.flipped - self.gone_on - self.sooner

    def count(self, judged: TurnVerdict) -> None:
        setattr(self, judged.word, getattr(self, judged.word) + 1)
        if judged.how in ("gone_on", "sooner", "unended"):
            setattr(self, judged.how, getattr(self, judged.how) + 1)
        self.completed = (self.completed or 0) + (judged.completes and judged.how == "gone_on")
        self.tokens += judged.tokens
        self.calls += judged.calls
        self.seconds += judged.seconds
        self.dollars += judged.dollars or 0.0
        self.unpriced += judged.dollars is None
        self.watched += judged.watched
        self.proven += bool(judged.rerun) and judged.certainty == "certain"
        self.overridden += judged.overridden
        self.about = (self.about or 0) + judged.about
        if judged.certainty in SURE:
            setattr(self, judged.certainty, (getattr(self, judged.certainty) or 0) + 1)
        if judged.why:
            self.whys = _summed(self.whys, {judged.why: 1})

    def add(self, other: "Group") -> None:
        for name in SUMMED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in NOT_ALWAYS:
            counts = (getattr(self, name), getattr(other, name))
            setattr(self, name, None if None in counts else sum(counts))
        self.overridden_turns = sorted({*self.overridden_turns, *other.overridden_turns})[:OVERRIDDEN]
        self.whys = _summed(self.whys, other.whys)


def _summed(one: dict[str, int] | None, other: dict[str, int] | None) -> dict[str, int] | None:
    return None if one is None or other is None else dict(Counter(one) + Counter(other))


def by_frequency(whys: Mapping[str, int]) -> dict[str, int]:
    """Counts by reason, the most frequent first."""
    return dict(sorted(whys.items(), key=lambda each: (-each[1], each[0])))


#: How certain a decided turn is. With the undecidable they add up to all turns.
SURE = ("recorded", "certain", "estimated")
NOT_ALWAYS = (*SURE, "about", "completed")  #: counts that earlier releases did not keep
SUMMED = (
    "same",
    "flipped",
    "undecidable",
    "gone_on",
    "sooner",
    "unended",
    "tokens",
    "calls",
    "seconds",
    "dollars",
    "unpriced",
    "watched",
    "proven",
    "overridden",
)
OVERRIDDEN = 5  #: turns of a group that are named


@dataclass(frozen=True, slots=True)
class Flip:
    """One flipped turn: why it ended, why it would have, and the differences."""

    turn: str
    ended: str
    ends: str
    how: str
    tokens: int
    calls: int
    certainty: str = ""  #: empty: judged before certainties were counted
    about: bool | None = None  #: its tokens are an estimate; None: judged before that was looked at
    rerun: str = ""  #: the live re-run that shows it, by id

    @property
    def by_rerun(self) -> str:
        """What the re-run makes of it; empty without one."""
        if not self.rerun:
            return ""
        return "proven by a re-run" if self.certainty == "certain" else "shown by a re-run"


@dataclass(frozen=True, slots=True)
class Undecided:
    """One undecidable turn, and why it is."""

    turn: str
    why: str


@dataclass(slots=True)
class Tally:
    """Groups by provider and model; the first flipped turns; the first undecidable ones, and by their ids those of
    unknown end."""

    groups: dict[tuple[str, str], Group] = field(default_factory=dict)
    flips: list[Flip] = field(default_factory=list)
    unended: list[str] = field(default_factory=list)
    undecided: list[Undecided] = field(default_factory=list)

    def count(self, turn: Any, judged: TurnVerdict) -> None:
        """`turn`: with `id`, `provider` and `model`."""
        group = self._group(turn.provider, turn.model)
        group.count(judged)
        if judged.overridden and len(group.overridden_turns) < OVERRIDDEN:
            group.overridden_turns.append(str(turn.id))
        if judged.word == "flipped" and len(self.flips) < LISTED:
            ends = (judged.ended, judged.ends, judged.how, judged.tokens, judged.calls, judged.certainty, judged.about)
            self.flips.append(Flip(str(turn.id), *ends, judged.rerun))
        if judged.how == "unended" and len(self.unended) < LISTED:
            self.unended.append(str(turn.id))
        if judged.why and len(self.undecided) < LISTED:
            self.undecided.append(Undecided(str(turn.id), judged.why))

    def total(self) -> Group:
        whole = Group("", "")
        for group in self.groups.values():
            whole.add(group)
        return whole

    def as_json(self) -> dict[str, Any]:
        largest = sorted(self.groups.values(), key=lambda group: (-group.turns, group.provider, group.model))
        return {
            "groups": [asdict(group) for group in largest],
            "flips": [asdict(flip) for flip in self.flips],
            "unended_turns": self.unended,
            "undecided": [asdict(turn) for turn in self.undecided],
        }

    def _group(self, provider: str, model: str) -> Group:
        key = (provider, model)
        if key not in self.groups:
            self.groups[key] = Group(provider, model)
        return self.groups[key]


def added_up(found: Iterable[Mapping[str, Any]]) -> Tally:
    """The tally of several parts; of the turns that are named those with the first ids, whichever part came first."""
    whole = Tally()
    for part in found:
        for group in part["groups"]:
            whole._group(group["provider"], group["model"]).add(Group.stored(group))
        whole.flips += [Flip(**flip) for flip in part["flips"]]
        whole.unended += part.get("unended_turns", [])
        whole.undecided += [Undecided(**turn) for turn in part.get("undecided", [])]
    whole.flips = sorted(whole.flips, key=lambda flip: flip.turn)[:LISTED]
    whole.unended = sorted(whole.unended)[:LISTED]
    whole.undecided = sorted(whole.undecided, key=lambda turn: turn.turn)[:LISTED]
    return whole
