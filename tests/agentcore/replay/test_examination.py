"""What-ifs are examined: a model is really run under the other policy, and must come to what was said.

`recorded` and `certain` must be right always, `estimated` nine times in ten in each class of models. More cases of each
class: `WHYSTOP_EXAMINE=3000`; as a table: `python -m tests.agentcore.replay.test_examination 3000`.
"""

import os
import random
import sys
from collections import Counter
from itertools import product

from agentcore import Certainty, what_if
from agentcore.one_call import enough_for_one_call
from agentcore.values import replace
from tests.agentcore.playbook import Playbook
from tests.agentcore.replay.cases import CLASSES, case, drawn
from tests.agentcore.replay.examining import (
    SURE,
    begun,
    came_true,
    ending_of,
    failed_otherwise,
    run,
)
from tests.agentcore.replay.model_server import Model
from tests.agentcore.replay.texts import prose

CASES = int(os.environ.get("WHYSTOP_EXAMINE", "60"))  #: of each class

TIMES = (None, None, None, 4.0)  #: limits of seconds

Counts = Counter[tuple[Certainty, bool | None]]


def examined(name: str, cases: range) -> Counts:
    counts: Counts = Counter()
    for seed in cases:
        one = case(name, seed)
        imagined = one.imagined()
        right = None if imagined.undecidable else came_true(imagined, one.truth)
        if right is False and failed_otherwise(imagined, one.truth):
            continue  # that no other call fails is taken for granted
        assert right is not False or imagined.certainty not in SURE, f"case({name!r}, {seed}) was {imagined.certainty}"
        counts[imagined.certainty, right] += 1
    return counts


def test_no_class_of_models_makes_a_sure_claim_wrong_and_estimates_come_true_nine_times_in_ten():
    """Of the estimates of few cases a single one may be wrong by chance."""
    everything: Counts = Counter()
    for name in CLASSES:
        counts = examined(name, range(CASES))
        right, wrong = counts[Certainty.ESTIMATED, True], counts[Certainty.ESTIMATED, False]
        assert wrong <= max(2, 0.1 * (right + wrong)), name
        assert counts[Certainty.UNDECIDABLE, None] <= 0.6 * CASES, name
        everything += counts
    right, wrong = everything[Certainty.ESTIMATED, True], everything[Certainty.ESTIMATED, False]
    assert right >= 0.95 * (right + wrong)
    assert min(right, everything[Certainty.CERTAIN, True]) >= 0.05 * everything.total(), "there is something to examine"
    assert everything[Certainty.UNDECIDABLE, None] <= 0.4 * everything.total()


def test_both_endings_of_an_undecidable_one_are_ends_that_differ():
    for seed in range(300):
        imagined = case("everything", seed).imagined()
        assert len(imagined.endings) in (0, 2)
        if imagined.endings:
            finals = [ending.final for ending in imagined.endings]
            ends = [ending_of(snapshot) for snapshot in finals if snapshot is not None]
            assert ends[0] != ends[1]
            assert imagined.assumes


def test_the_number_that_a_verdict_names_is_certain_to_need_one_call_in_a_what_if_as_well():
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


def test_a_model_that_goes_on_in_other_words_after_a_hint_is_never_certain_about_one_call():
    for seed in range(200):
        chance = random.Random(seed)
        model = Model(seed, (prose(chance, 200),), goes_on="other")
        recorded = run(begun(Playbook(max_tokens=chance.choice([60, 90, 120]))), model)
        policy = replace(recorded.policy, max_tokens=chance.randrange(20, 600))
        imagined = what_if(recorded.recording, policy)
        if imagined.certainty in SURE:
            assert came_true(imagined, run(begun(Playbook(max_tokens=policy.max_tokens)), model))


def table(count: int) -> str:
    """Shares by class, as a table of markdown."""
    lines = [
        "| class | recorded | certain | estimated | of these came true | undecidable |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name in CLASSES:
        counts = examined(name, range(count))
        total = counts.total()
        shares = [sum(n for (one, _), n in counts.items() if one is certainty) / total for certainty in Certainty]
        true = counts[Certainty.ESTIMATED, True] / max(1, shares[2] * total)
        recorded, certain, likely, open_ = (f"{share:.0%}" for share in shares)
        lines.append(f"| {name} | {recorded} | {certain} | {likely} | {true:.0%} | {open_} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(table(int(sys.argv[1]) if len(sys.argv) > 1 else 3_000) + "\n")
