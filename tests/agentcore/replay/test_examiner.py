"""What-ifs are examined: the provider is really run under the other policy, and must come to what was said.

`recorded` and `certain` must be right always, `estimated` nine times in ten, and `undecidable` only so often.
"""

import random
from collections import Counter
from dataclasses import dataclass, replace

import pytest

from agentcore import Certainty, ErrorPolicy, Policy, Recording, WhatIf, what_if
from agentcore.events import ModelFailed, ModelResponded
from agentcore.machine.states import TERMINAL, State
from agentcore.replay import fork
from agentcore.replay.fork import under
from tests.agentcore.playbook import Playbook
from tests.agentcore.replay.examiner import ENDINGS, Provider, beginning_at, run, words

SURE = (Certainty.RECORDED, Certainty.CERTAIN)
PAIRS = 750  #: of a provider and two policies, in each part

LIMITS = {
    "max_tokens": [20, 30, 40, 50, 60, 80, 100, 120, 150, 200, 300, 400, 600, 1000],
    "max_continuations": [0, 1, 2, 3, 3, 3, 5, 9],
    "max_total_completion_tokens": [None, None, None, 100, 300, 2000],
    "max_seconds": [None] * 6 + [0.5, 2.0, 5.0],
    "max_total_output_chars": [120_000] * 5 + [200, 600],
    "max_total_tokens": [None] * 6 + [400, 1000],
    "max_tool_repair_attempts": [0, 1, 1],
    "max_steps": [20, 20, 20, 1, 2],
    "error_policy": [ErrorPolicy.stop_on_any_error(), ErrorPolicy.retry_all(), ErrorPolicy.retry_all(2)],
}
FAILURES = [{}] * 5 + [{1: None}, {2: None}, {1: None, 2: None}, {2: 12}, {3: None}, {1: 19}]
REASONING = [(0,)] * 4 + [(50,), (30, 0), (300,), (300, 0), (0, 20)]


@dataclass(frozen=True)
class Case:
    """A turn that was recorded under one policy, what is asked of it, and how it really ended under the other."""

    seed: int
    recording: Recording
    policy: Policy
    truth: Playbook

    def imagined(self) -> WhatIf:
        return what_if(self.recording, self.policy)


def provider_of(chance: random.Random) -> Provider:
    iterations, prefill = chance.choice([1, 1, 1, 2, 3]), chance.random() < 0.4
    ending = chance.choice(sorted(ENDINGS)) if chance.random() < 0.2 else "stop"
    return Provider(
        tuple(words(chance.randrange(10**9), chance.choice([10, 40, 80, 130, 300])) for _ in range(iterations)),
        reasoning=chance.choice(REASONING),
        repeats=chance.choice([0, 0, 5, 12, 30, 60]),
        failures=chance.choice(FAILURES),
        usage=chance.random() < 0.85,
        prefill=prefill,
        echoes=prefill and chance.random() < 0.5,
        tool_errors=frozenset(chance.choice([(), (), (1,), (2,)])),
        ending=ending,
    )


def asked_of(chance: random.Random) -> dict[str, object]:
    return {name: chance.choice(values) for name, values in LIMITS.items()}


def case(seed: int) -> Case:
    chance = random.Random(seed)
    provider, had = provider_of(chance), asked_of(chance)
    other, changed = asked_of(chance), chance.sample(sorted(had), chance.choice([1, 1, 1, 2, 3, 9]))
    asked = {name: other[name] if name in changed else value for name, value in had.items()}
    extra = {"prefill": True} if provider.prefill else {}
    recorded = run(Playbook(extra=extra, **had), provider)
    wanted = Playbook(extra=extra, **asked)
    policy = replace(wanted.policy, max_tokens=asked["max_tokens"])
    if chance.random() < 0.25 and len(recorded.records) > 2:
        return forked(seed, chance, provider, recorded, policy)
    return Case(seed, recorded.recording, policy, run(wanted, provider))


def forked(seed: int, chance: random.Random, provider: Provider, parent: Playbook, policy: Policy) -> Case:
    """The same of a turn that began in the middle of another."""
    own = replace(parent.policy, max_tokens=parent.setup.max_tokens)
    base = fork(parent.recording, chance.randrange(1, len(parent.records)), own, "child")
    assert base.state not in (*TERMINAL, State.HELD)
    child = run(beginning_at(base, own, parent.setup), provider)
    truth = run(beginning_at(under(base, own, policy), policy, parent.setup), provider)
    return Case(seed, Recording(own, base, child.records), policy, truth)


def came_true(imagined: WhatIf, truth: Playbook) -> bool:
    assert imagined.final is not None
    found, true = imagined.final, truth.snapshot
    assert found.end is not None
    assert true.end is not None
    ends = [(s.end.status, s.end.stop_reason, s.end.terminal_reason, s.spent.attempts) for s in (found, true)]
    claims_text = imagined.certainty in SURE
    return ends[0] == ends[1] and (not claims_text or found.end.output_text == true.end.output_text)


def failed_beyond(examined: Case) -> bool:
    """Whether a call failed that the recording has no call of the same number for."""
    recorded = sum(isinstance(record.event, ModelFailed | ModelResponded) for record in examined.recording.records)
    happened = [r.event for r in examined.truth.records if isinstance(r.event, ModelFailed | ModelResponded)]
    return any(isinstance(event, ModelFailed) for event in happened[recorded:])


@pytest.mark.parametrize("part", range(4))
def test_what_is_recorded_or_certain_comes_true_always_and_what_is_estimated_nine_times_in_ten(part):
    counts: Counter[tuple[Certainty, bool | None]] = Counter()
    for seed in range(part * PAIRS, (part + 1) * PAIRS):
        examined = case(seed)
        imagined = examined.imagined()
        right = None if imagined.undecidable else came_true(imagined, examined.truth)
        assert right is not False or imagined.certainty not in SURE, f"case({seed}) was {imagined.certainty}"
        if imagined.certainty is Certainty.ESTIMATED and failed_beyond(examined):
            continue  # that no other call fails is assumed
        counts[imagined.certainty, right] += 1
    estimates = counts[Certainty.ESTIMATED, True] + counts[Certainty.ESTIMATED, False]
    assert counts[Certainty.ESTIMATED, True] >= 0.9 * estimates
    assert counts[Certainty.UNDECIDABLE, None] <= 0.25 * PAIRS
    assert min(counts[Certainty.CERTAIN, True], estimates) >= 0.02 * PAIRS, "there is something to examine"


def test_both_endings_of_an_undecidable_one_are_ends_that_differ():
    for seed in range(600):
        imagined = case(seed).imagined()
        assert len(imagined.endings) in (0, 2)
        if imagined.endings:
            low, high = (ending.final for ending in imagined.endings)
            assert low is not None
            assert high is not None
            assert low.end is not None
            assert high.end is not None
            ends = [(s.end.status, s.end.terminal_reason, s.spent.attempts, s.iteration) for s in (low, high)]
            assert ends[0] != ends[1] or low.end.stop_reason != high.end.stop_reason
            assert imagined.assumes


def test_a_provider_that_goes_on_in_other_words_after_a_hint_is_never_certain_about_one_call():
    for seed in range(400):
        chance = random.Random(seed)
        provider = Provider((words(seed, 200),), other_words=chance.choice([0.5, 0.9, 1.1, 1.5, 2.0]))
        recorded = run(Playbook(max_tokens=chance.choice([60, 90, 120])), provider)
        policy = replace(recorded.policy, max_tokens=chance.randrange(20, 600))
        imagined = what_if(recorded.recording, policy)
        truth = run(Playbook(max_tokens=policy.max_tokens), provider)
        if imagined.certainty in SURE:
            assert came_true(imagined, truth)


@pytest.mark.parametrize(
    ("seed", "fault"),
    [
        (17467, "hidden reasoning of an answer that broke off without usage"),
        (17584, "a call that took exactly the time that was left"),
        (18516, "hidden reasoning of a cut answer without usage"),
        (20704, "the first call of a fork counted as its second"),
        (22721, "an answer that failed having spent tokens, with nothing shown"),
    ],
)
def test_what_was_once_claimed_wrongly_is_claimed_no_more(seed, fault):
    examined = case(seed)
    imagined = examined.imagined()
    wrong = not imagined.undecidable and not came_true(imagined, examined.truth)
    assert not (wrong and imagined.certainty in SURE), fault
