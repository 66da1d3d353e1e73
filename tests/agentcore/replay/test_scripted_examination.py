"""What-ifs are examined a second time, with a provider and cases that share nothing with `test_examination`.

`recorded` and `certain` must be right always, `estimated` nine times in ten; a what-if without a trace says the same.
More cases of each class: `WHYSTOP_EXAMINE_AGAIN=300`.
"""

import json
import os
from collections import Counter
from typing import Any

import pytest

from agentcore import Certainty, Recording, Snapshot, WhatIf, recording_from_json, recording_to_json, verify, what_if
from agentcore.events import ModelFailed
from agentcore.replay import Assumed
from tests.agentcore.replay.examining import may_be_wrong
from tests.agentcore.replay.scripted_cases import CLASSES, Case, case

SURE = (Certainty.RECORDED, Certainty.CERTAIN)
DAILY = 2  #: cases of each class
NIGHTLY = int(os.environ.get("WHYSTOP_EXAMINE_AGAIN", "60"))

Counts = Counter[tuple[Certainty, bool]]


def ending_of(snapshot: Snapshot | None) -> tuple[Any, ...] | None:
    """What a what-if says of how a turn ends; None of one that is undecidable."""
    if snapshot is None or snapshot.end is None:
        return None
    end = snapshot.end
    return end.status, end.stop_reason, end.terminal_reason, end.error_code, snapshot.spent.attempts


def came_true(imagined: WhatIf, truth: Recording) -> bool:
    """Whether the turn ended so; where that was sure, with the text that was said too."""
    assert imagined.final is not None
    assert truth.final is not None
    same = ending_of(imagined.final) == ending_of(truth.final)
    return same and (imagined.certainty not in SURE or imagined.final.output_text == truth.final.output_text)


def failed_otherwise(one: Case) -> bool:
    """Whether a call failed that the recording does not have: what-ifs take for granted that none does."""
    runs = one.recording, one.truth
    failures = [sum(isinstance(record.event, ModelFailed) for record in run.records) for run in runs]
    return bool(one.habits.fails) and failures[1] > failures[0]


def assumes_reported_truncations(one: Case, told: WhatIf) -> bool:
    """Whether it assumes that truncations are reported, and this provider does not report them."""
    return one.habits.hides_cuts and Assumed.TRUNCATION in {assumption.name for assumption in told.assumes}


def assumes_repeated_actions(one: Case, told: WhatIf) -> bool:
    """Whether it assumes that operators act the same again, and this operator reacts to the text."""
    return one.habits.reads and Assumed.OPERATORS in {assumption.name for assumption in told.assumes}


def says_the_same(told: WhatIf, other: WhatIf) -> bool:
    same = (told.certainty, told.assumes, told.why) == (other.certainty, other.assumes, other.why)
    return same and ending_of(told.final) == ending_of(other.final)


def from_json(one: Case) -> WhatIf:
    """The same what-if of the recording as it is stored."""
    stored = json.loads(json.dumps(recording_to_json(one.recording)))
    return what_if(recording_from_json(stored, like=one.recording.policy), one.policy, trace=False)


def examined(name: str, cases: range, *, forked: bool = False) -> Counts:
    counts: Counts = Counter()
    for seed in cases:
        one = case(name, seed, forked=forked)
        if one is None:
            continue
        told = one.imagined()
        said = f"case({name!r}, {seed}, forked={forked}) was {told.certainty}"
        assert verify(one.recording).verified, said
        assert says_the_same(told, one.imagined(trace=False)), said
        assert says_the_same(told, from_json(one)), said
        right = told.undecidable or came_true(told, one.truth)
        assert right or told.certainty not in SURE, said
        if not right and (
            failed_otherwise(one) or assumes_reported_truncations(one, told) or assumes_repeated_actions(one, told)
        ):
            continue
        counts[told.certainty, right] += 1
    return counts


def summed(cases: range, *, forked: bool = False) -> Counts:
    counts: Counts = Counter()
    for name in CLASSES:
        found = examined(name, cases, forked=forked)
        right, wrong = found[Certainty.ESTIMATED, True], found[Certainty.ESTIMATED, False]
        assert wrong <= may_be_wrong(right + wrong), name
        counts += found
    return counts


@pytest.mark.parametrize("forked", [False, True], ids=["whole", "forked"])
def test_a_second_examiner_finds_no_certain_claim_that_is_wrong(forked):
    counts = summed(range(DAILY), forked=forked)
    for certainty in Certainty:
        assert counts[certainty, True], f"none was {certainty}"


@pytest.mark.nightly
@pytest.mark.parametrize("forked", [False, True], ids=["whole", "forked"])
def test_a_second_examiner_finds_nine_of_ten_estimates_right(forked):
    counts = summed(range(DAILY, DAILY + NIGHTLY), forked=forked)
    right, wrong = counts[Certainty.ESTIMATED, True], counts[Certainty.ESTIMATED, False]
    assert right + wrong >= NIGHTLY
    assert right >= 0.9 * (right + wrong)
    assert counts[Certainty.UNDECIDABLE, True] <= 0.5 * counts.total()
