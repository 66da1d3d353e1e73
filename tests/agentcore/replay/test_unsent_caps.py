"""What-ifs and signs of calls that nobody set a cap for: none is sent, and 16,384 is what Whystop reckons with."""

from dataclasses import replace

import pytest

from agentcore import ChatResponse, Experience, NormalizedStopReason, TokenUsage, TurnStatus, what_if
from agentcore.events import ToolResult
from agentcore.lint import lint, signs
from agentcore.messages import NO_CAP
from agentcore.replay import Certainty
from agentcore.replay.certainty import CUT_AS_TOLD, Why
from agentcore.replay.pending_call import CUT_AS_ENDED
from agentcore.replay.recorded_run import Past
from agentcore.sufficient_max_tokens import continued_at_the_cap
from tests.agentcore.playbook import Playbook, call, called, error, responded, started, tools_returned
from tests.together import together

RECKONED = 16_384
CAPS = (518, 600, 2_000, RECKONED, 20_000)


def said(tokens: int | None = 512, reason=NormalizedStopReason.END_TURN, text: str = "word " * 300, **more):
    usage = None if tokens is None else TokenUsage(20, tokens, **more)
    return ChatResponse(text, usage=usage, stop_reason=reason, raw_stop_reason="stop")


def of(*moves, uncapped=NO_CAP, max_tokens=RECKONED, **asked):
    extra = {"uncapped": uncapped} if uncapped else {}
    story = Playbook(revision=8, max_tokens=max_tokens, extra=extra, **asked) >> started()
    for move in moves:
        story = story >> move
    return story


def asked(story, cap, experience=None):
    policy = replace(story.policy, max_tokens=cap)
    return what_if(story.recording, policy, experience=experience or Experience())


@together
@pytest.mark.parametrize("uncapped", [NO_CAP, "unknown", True])
@pytest.mark.parametrize("cap", CAPS)
def test_an_end_without_a_cap_is_certain_only_where_the_provider_reports_truncations(cap: int, uncapped):
    """A server may have a default of its own, and call its cut an end."""
    story = of(responded(said(no_reasoning=True)), uncapped=uncapped)
    none, bad, good = (asked(story, cap, Experience(reports_all=True, tells_cuts=told)) for told in (None, False, True))
    assert none.certainty is Certainty.ESTIMATED
    assert CUT_AS_TOLD in [one.source for one in none.assumes]
    assert (bad.certainty, CUT_AS_ENDED in [one.source for one in bad.assumes]) == (Certainty.UNDECIDABLE, True)
    assert (good.certainty, good.assumes) == (Certainty.CERTAIN, ())


def test_the_same_calls_without_a_cap_are_recorded():
    story = of(responded(said()))
    found = what_if(story.recording, replace(story.policy, limits=replace(story.policy.limits, max_continuations=9)))
    assert (found.certainty, found.assumes) == (Certainty.RECORDED, ())


@together
@pytest.mark.parametrize("cap", [2_000, 20_000])
def test_a_complete_call_without_a_cap_is_no_more_certain_than_text(cap: int):
    story = of(
        called(call("calculator", expression="1")),
        tools_returned(ToolResult("call_1", "calculator", "1")),
        responded(said()),
    )
    assert asked(story, cap, Experience(reports_all=True, tells_cuts=False)).certainty is not Certainty.CERTAIN


@together
@pytest.mark.parametrize("tokens", [1_000, RECKONED, 20_000])
def test_a_truncation_without_a_cap_does_not_show_what_is_counted(tokens: int):
    story = of(responded(said(tokens, NormalizedStopReason.MAX_TOKENS, "word " * tokens)), max_continuations=0)
    past = Past.of(story.recording)
    assert not past.cut_otherwise
    assert not any(one.unreported or one.cut_as_told or one.veiled for one in past.attempts.values())
    assert not continued_at_the_cap(story.snapshot)
    assert asked(story, 2 * tokens).certainty is Certainty.UNDECIDABLE


def test_the_length_of_an_uncounted_truncation_without_a_cap_is_that_of_its_text():
    thought = ChatResponse("", reasoning_content="hm " * 100, stop_reason=NormalizedStopReason.MAX_TOKENS)
    story = of(responded(thought), max_continuations=0)
    (one,) = Past.of(story.recording).attempts.values()
    assert (one.spent, one.reasoning) == (None, 75)


@together
@pytest.mark.parametrize("uncapped", [NO_CAP, "unknown", True])
def test_an_answer_with_as_many_tokens_as_the_calculated_cap_is_not_at_a_cap(uncapped):
    for answer in (said(RECKONED), said(RECKONED, text="", reasoning_tokens=RECKONED)):
        assert "output_at_cap" not in of(responded(answer), uncapped=uncapped).snapshot.flagged
        assert "output_at_cap" in of(responded(answer), uncapped=None).snapshot.flagged
    assert lint(said(RECKONED), None) == ()


def test_a_sign_without_a_cap_mentions_none():
    eaten = said(300, NormalizedStopReason.MAX_TOKENS, "", reasoning_tokens=300)
    (sign,) = signs(eaten, None)
    assert sign.words == "300 output tokens were used, 300 of them for reasoning, and no text."


def test_a_request_refused_without_a_cap_may_be_accepted_with_one():
    story = of(error(kind="bad_request", status=400, retryable=False))
    assert asked(story, RECKONED).certainty is not Certainty.RECORDED


def test_two_calls_without_a_sent_cap_are_the_same_whatever_total_is_left():
    """What is left of a total caps no call that sends none: it is judged when the answer is there."""
    cut = said(300, NormalizedStopReason.MAX_TOKENS, "word " * 300)
    story = of(responded(cut), responded(said(207)))
    lower = replace(story.policy, limits=replace(story.policy.limits, max_total_completion_tokens=400))
    found = what_if(story.recording, lower)
    assert (found.final.end.status, found.certainty) == (TurnStatus.COMPLETED, Certainty.RECORDED)


@together
@pytest.mark.parametrize("uncapped", [NO_CAP, "unknown", True])
def test_a_continuation_under_a_cap_requests_the_same_as_a_call_without_one(uncapped):
    """Each was called another request, so that nothing was told of a turn that had to be continued."""
    story = of(responded(said(512, no_reasoning=True)), uncapped=uncapped)
    found = asked(story, 200, Experience(reports_all=True, tells_cuts=True))
    assert found.why is Why.ASSUMPTIONS
    assert [ending.final.end.terminal_reason for ending in found.endings] == ["completed", "completed"]
