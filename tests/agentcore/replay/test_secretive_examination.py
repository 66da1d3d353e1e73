"""What-ifs about a provider that hides its reasoning and its cuts are as right as about any other."""

from collections import Counter

import pytest

from agentcore import Snapshot, what_if
from agentcore.sufficient_max_tokens import enough_for_one_call
from agentcore.values import replace
from tests.agentcore.replay.secretive_provider import CLASSES, cap_of, drawn, policy_of, really

CASES = 120  #: of each class


def ending_of(snapshot: Snapshot | None) -> tuple[object, ...]:
    assert snapshot is not None
    assert snapshot.end is not None
    end = snapshot.end
    return (end.status, end.stop_reason, end.terminal_reason, end.error_code, snapshot.spent.attempts)


@pytest.mark.parametrize("name", CLASSES)
def test_no_hidden_behaviour_makes_a_certain_claim_wrong(name):
    counts: Counter[str] = Counter()
    for seed in range(CASES):
        model, chance = drawn(name, seed)
        cap, policy = cap_of(chance, model), policy_of(chance, name)
        recording = really(model, cap, policy)
        other = replace(policy_of(chance, name), max_tokens=cap_of(chance, model))
        if chance.random() < 0.6:
            other = replace(other, limits=policy.limits, criteria=policy.criteria)
        truth = really(model, cap, other)
        if recording is None or truth is None:
            continue
        imagined = what_if(recording, other)
        counts[imagined.certainty] += 1
        if imagined.undecidable:
            continue
        same = ending_of(imagined.final) == ending_of(truth.final)
        if imagined.certainty == "estimated":
            counts["came true"] += same
            continue
        assert same, f"drawn({name!r}, {seed}) was {imagined.certainty}"
        assert imagined.final.output_text == truth.final.output_text, f"drawn({name!r}, {seed})"
    assert counts["undecidable"] <= 0.75 * CASES
    assert "lies" in CLASSES[name] or counts["came true"] >= 0.85 * counts["estimated"]


def test_the_number_of_a_verdict_is_sufficient():
    found = 0
    for name in ("hidden in the output", "criteria and errors"):
        for seed in range(3 * CASES):
            model, chance = drawn(name, seed)
            cap, policy = cap_of(chance, model), policy_of(chance, name)
            recording = really(replace(model, share=0.0, fixed=0), cap, policy)
            if recording is None or recording.final.end.terminal_reason != "completed":
                continue
            if not (recording.final.spent.continuations and (least := enough_for_one_call(recording.final))):
                continue
            found += 1
            for larger in (least, least + 1, 9 * least):
                truth = really(replace(model, share=0.0, fixed=0), cap, replace(policy, max_tokens=larger))
                assert truth.final.spent.attempts == 1, f"drawn({name!r}, {seed})"
                assert truth.final.output_text == recording.final.output_text
    assert found >= 5, "there is something to examine"
