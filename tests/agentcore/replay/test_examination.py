"""What-ifs are examined: a model is really run under the other policy, and must come to what was said.

`recorded` and `certain` must be right always, `estimated` nine times in ten in each class of models, where the model
does as the estimate says that it assumes. More cases of each class: `WHYSTOP_EXAMINE=3000`; as a table:
`python -m tests.agentcore.replay.test_examination 3000`.
"""

import os
import random
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from itertools import product
from pathlib import Path

from agentcore import Certainty, WhatIf, what_if
from agentcore.replay import Assumed, Why
from agentcore.replay.certainty import EXAMINED
from agentcore.sufficient_max_tokens import enough_for_one_call
from agentcore.values import replace
from tests.agentcore.playbook import Playbook
from tests.agentcore.replay.cases import CLASSES, case, drawn
from tests.agentcore.replay.examining import (
    SURE,
    Case,
    begun,
    came_true,
    ending_of,
    failed_otherwise,
    may_be_wrong,
    nothing_new,
    run,
)
from tests.agentcore.replay.model_server import Model
from tests.agentcore.replay.texts import prose

PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "certainty.md"
CASES = int(os.environ.get("WHYSTOP_EXAMINE", "60"))  #: of each class

TIMES = (None, None, None, 4.0)  #: limits of seconds


@dataclass
class Examined:
    """What came of the what-ifs of one class or more."""

    counts: Counter[tuple[Certainty, bool | None]] = field(default_factory=Counter)
    otherwise: Counter[bool] = field(default_factory=Counter)  #: of these, estimates that assume what is not so
    whys: Counter[Why] = field(default_factory=Counter)  #: of the undecidable ones
    needless: Counter[Why] = field(default_factory=Counter)  #: of these, where the real run said nothing new
    ranges: Counter[Assumed] = field(default_factory=Counter)  #: of those with two endings, what was assumed

    def __add__(self, other: "Examined") -> "Examined":
        pairs = ((getattr(self, each.name), getattr(other, each.name)) for each in fields(self))
        return Examined(*(one + more for one, more in pairs))

    def undecided(self, one: Case, imagined: WhatIf) -> None:
        assert imagined.why is not None, "every undecidable one has a reason"
        self.whys[imagined.why] += 1
        self.needless[imagined.why] += nothing_new(one)
        assumed = (each for ending in imagined.endings for each in ending.assumes)
        self.ranges.update({each.name for each in assumed if each.low < each.high})

    @property
    def all_estimates(self) -> tuple[int, int]:
        """Those that came true, and those that did not."""
        return self.counts[Certainty.ESTIMATED, True], self.counts[Certainty.ESTIMATED, False]

    @property
    def estimates(self) -> tuple[int, int]:
        """The same of those whose stated assumptions hold."""
        right, wrong = self.all_estimates
        return right - self.otherwise[True], wrong - self.otherwise[False]


def examined(name: str, cases: range) -> Examined:
    found = Examined()
    for seed in cases:
        one = case(name, seed)
        imagined = one.imagined()
        right = None if imagined.undecidable else came_true(imagined, one.truth)
        if right is False and failed_otherwise(imagined, one.truth):
            continue  # that no other call fails is what it says that it assumes
        assert right is not False or imagined.certainty not in SURE, f"case({name!r}, {seed}) was {imagined.certainty}"
        assert (imagined.why is None) == (not imagined.undecidable)
        found.counts[imagined.certainty, right] += 1
        if imagined.certainty is Certainty.ESTIMATED and right is not None:
            found.otherwise[right] += not one.holds(imagined)
        if imagined.undecidable:
            found.undecided(one, imagined)
    return found


def test_certain_claims_hold_and_nine_in_ten_estimates_come_true_for_every_class_of_models():
    everything = Examined()
    for name in CLASSES:
        found = examined(name, range(CASES))
        right, wrong = found.estimates
        assert wrong <= may_be_wrong(right + wrong), name
        assert found.whys.total() <= 0.6 * CASES, name
        everything += found
    right, wrong = everything.estimates
    assert right >= 0.95 * (right + wrong)
    total = everything.counts.total()
    assert min(right, everything.counts[Certainty.CERTAIN, True]) >= 0.02 * total, "there is something to examine"
    assert everything.whys.total() <= 0.4 * total
    assert everything.needless.total() <= 0.12 * everything.whys.total(), "undecidable no more often than is needed"
    others = {Why.NOT_BEGUN, Why.WORK, Why.BLOCKED, Why.REFUSAL, Why.OPERATOR}
    assert set(Why) - set(everything.whys) <= others, "each occurs"


def test_the_shares_shown_beside_an_estimate_match_the_classes_below_nine_in_ten_in_the_published_table():
    row = re.compile(r"^\| (.+?) (?:\| \d+ % ){4}\| (\d+) % \| \d+ % \| `", re.MULTILINE)
    shares = {name: int(share) / 100 for name, share in row.findall(PAGE.read_text(encoding="utf-8"))}
    assert set(CLASSES) < set(shares)
    assert sorted(share for share in shares.values() if share < 0.9) == sorted(EXAMINED.values())


def test_one_of_a_few_estimates_may_be_wrong_but_not_two_of_three():
    assert [may_be_wrong(estimates) for estimates in (0, 1, 3, 10, 100)] == [0, 1, 1, 3, 15]


def test_both_endings_of_an_undecidable_result_are_different_endings():
    for seed in range(300):
        imagined = case("everything", seed).imagined()
        assert len(imagined.endings) in (0, 2)
        if imagined.endings:
            finals = [ending.final for ending in imagined.endings]
            ends = [ending_of(snapshot) for snapshot in finals if snapshot is not None]
            assert ends[0] != ends[1]
            assert imagined.assumes


def test_a_number_named_by_a_verdict_also_needs_one_call_in_a_what_if_with_certainty():
    """Of models that continue exactly: of no other is a number ever named."""
    numbers = 0
    for name, seed in product(CLASSES, range(8)):
        chance = random.Random(f"{name} {seed}")
        model, _ = drawn(name, chance, prefill=True, iterations=1, fails={})
        limits = {"max_continuations": 40, "max_total_completion_tokens": 9999, "max_seconds": chance.choice(TIMES)}
        book = Playbook(max_tokens=chance.choice([20, 40, 90]), extra={"prefill": True}, **limits)
        recorded = run(begun(book), model)
        number = enough_for_one_call(recorded.snapshot)
        if number is None or recorded.end.terminal_reason != "completed" or not recorded.snapshot.spent.continuations:
            continue
        imagined = what_if(recorded.recording, replace(recorded.policy, max_tokens=number))
        assert imagined.certainty in SURE, f"{name} {seed} at {number}"
        assert imagined.final is not None
        assert (imagined.final.end.terminal_reason, imagined.final.spent.attempts) == ("completed", 1)
        numbers += 1
    assert numbers >= 30, "there is something to examine"


def test_a_model_that_rephrases_after_a_hint_is_never_certain_about_one_call():
    for seed in range(200):
        chance = random.Random(seed)
        model = Model(seed, (prose(chance, 200),), goes_on="other")
        recorded = run(begun(Playbook(max_tokens=chance.choice([60, 90, 120]))), model)
        policy = replace(recorded.policy, max_tokens=chance.randrange(20, 600))
        imagined = what_if(recorded.recording, policy)
        if imagined.certainty in SURE:
            assert came_true(imagined, run(begun(Playbook(max_tokens=policy.max_tokens)), model))


def table(count: int) -> str:
    """Shares by class, and the reasons over all classes, as two tables of markdown."""
    lines, everything = [_row(_COLUMNS), "|---|--:|--:|--:|--:|--:|--:|---|"], Examined()
    for name in CLASSES:
        found = examined(name, range(count))
        lines.append(_row([name, *_shares(found), _mostly(found.whys)]))
        everything += found
    lines.append(_row(["all", *_shares(everything), _mostly(everything.whys)]))
    lines += ["", _row(["why", "of all undecidable", "where nothing new was said"]), "|---|--:|--:|"]
    total = everything.whys.total()
    for why, times in everything.whys.most_common():
        lines.append(_row([f"`{why}`", f"{times / total:.1%}", f"{everything.needless[why] / times:.0%}"]))
    lines.append(_row(["all", f"{total:,}", f"{everything.needless.total() / total:.1%}"]))
    ranges = (
        f"`{name}` {times / everything.whys[Why.ASSUMPTIONS]:.0%}" for name, times in everything.ranges.most_common()
    )
    return "\n".join([*lines, "", f"assumed where there are two endings: {', '.join(ranges)}"])


_COLUMNS = ["class", "recorded", "certain", "estimated", "came true", "of all", "undecidable", "mostly why"]


def _shares(found: Examined) -> list[str]:
    shares = Counter[Certainty]()
    for (certainty, _), times in found.counts.items():
        shares[certainty] += times
    recorded, certain, likely, open_ = (f"{shares[each] / shares.total():.0%}" for each in Certainty)
    return [recorded, certain, likely, *map(_rate, (found.estimates, found.all_estimates)), open_]


def _rate(estimates: tuple[int, int]) -> str:
    return f"{estimates[0] / sum(estimates):.0%}" if sum(estimates) else "–"


def _mostly(whys: Counter[Why]) -> str:
    """The two most frequent reasons, each with its share of what is undecidable."""
    return ", ".join(f"`{why}` {times / whys.total():.0%}" for why, times in whys.most_common(2))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.stdout.write(table(int(sys.argv[1]) if len(sys.argv) > 1 else 3_000) + "\n")
