"""A what-if has a bound of work, counted in steps and characters: beyond it the rest is undecidable, in words."""

from typing import Any

import pytest

from agentcore import Certainty, Limits, Policy, TokenUsage, what_if
from agentcore.events import Event, ModelResponded
from agentcore.messages import ChatResponse
from agentcore.reasons import NormalizedStopReason
from agentcore.replay import WhatIf
from agentcore.replay.work_budget import MOST_WORK
from agentcore.values import replace
from tests.agentcore.playbook import Playbook, responded, started

MOST = 100_000_000  #: as large as a policy may be made by hand
ROOM = Limits(max_continuations=10_000, max_total_completion_tokens=MOST, max_total_output_chars=MOST, max_steps=10_000)
PROSE = "Step 1 says that the limit holds, and that whoever raised it before knew less than the one who reads this. "


def ended(text: str, tokens: int) -> Event:
    used = TokenUsage(600, tokens)
    return responded(ChatResponse(text, usage=used, stop_reason=NormalizedStopReason.END_TURN, raw_stop_reason="stop"))


def asked(
    text: str, tokens: int, cap: int, *, trace: bool = False, continuations: int = 10_000, **setup: Any
) -> WhatIf:
    """An answer of so many tokens, under no limit to speak of, imagined under a small cap."""
    story = (
        Playbook(policy=Policy(limits=ROOM), max_tokens=max(400, tokens) + 1, **setup)
        >> started()
        >> ended(text, tokens)
    )
    limits = replace(ROOM, max_continuations=continuations)
    return what_if(story.recording, replace(story.policy, max_tokens=cap, limits=limits), trace=trace)


@pytest.mark.parametrize(
    ("text", "tokens", "cap", "setup"),
    [
        ((PROSE * 2)[:200], 400, 399, {}),
        (PROSE * 900, 9_500, 1, {"extra": {"prefill": True}}),
        (PROSE * 900, 25_000, 10, {"extra": {"prefill": True}}),
        ("a" * 100_000, 10_000, 49, {}),
        ("ab\n" * 30_000, 9_000, 60, {}),
    ],
    ids=["the answer said again and again", "one token a call", "ten tokens a call", "one letter", "short lines"],
)
def test_a_what_if_of_thousands_of_calls_stops_and_reports_how_many_it_made(text, tokens, cap, setup):
    imagined = asked(text, tokens, cap, **setup)
    assert (imagined.certainty, imagined.endings) == (Certainty.UNDECIDABLE, ())
    assert imagined.stopped.startswith("stopped after ")
    assert imagined.stopped.endswith(" imagined records: the rest would take too much work")
    assert imagined.work <= 2 * MOST_WORK, "a last step is whole, and the recorded ones are counted too"


def test_the_text_of_a_simulated_call_does_not_grow_with_kept_repeats():
    """The high end reasons and repeats nearly all of its cap, so that each of its calls says it all once more."""
    text = (PROSE * 2)[:200]
    imagined = asked(text, 400, 399, trace=True, continuations=8)
    high = imagined.endings[-1]
    said = [one.event.response.text for one in high.records if isinstance(one.event, ModelResponded)]
    assert len(said) == 9
    assert max(map(len, said)) <= len(text)


def test_an_ordinary_what_if_takes_little_work_and_does_not_stop():
    imagined = asked(PROSE * 4, 118, 40, extra={"prefill": True})
    assert imagined.certainty is Certainty.ESTIMATED
    assert (imagined.stopped, imagined.work < MOST_WORK / 100) == ("", True)


def test_the_recorded_steps_count_as_work_and_never_stop_a_what_if():
    story = Playbook(policy=Policy(limits=ROOM), max_tokens=400) >> started() >> ended("word " * 400_000, 300)
    imagined = what_if(story.recording, story.policy, trace=False)
    assert (imagined.certainty, imagined.stopped) == (Certainty.RECORDED, "")
    assert imagined.work > MOST_WORK
