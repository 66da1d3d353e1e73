"""A history is judged again with what its criteria said then, whatever has become of their code since."""

from dataclasses import replace

import pytest

from agentcore import ContinuationDecision, ContinuationEvaluation, RecordingError, StopReason, advance, verify, what_if
from agentcore.replay import as_judged
from agentcore.snapshot import Snapshot
from tests.agentcore.playbook import Playbook, call, called, ended, started, tools_returned, truncated


class WantsOneMore:
    """Asks for another answer after the first."""

    def explain(self, state):
        if state.iteration > 1 or state.calls:
            return ContinuationEvaluation("WantsOneMore", ContinuationDecision.ALLOW, "enough")
        wish = ContinuationDecision.REQUEST
        return ContinuationEvaluation("WantsOneMore", wish, "not enough", {"iteration": 1}, message="And?")


class Veto:
    def decide(self, state):
        return ContinuationDecision.FORBID


class Late:
    """Forbids what comes after a truncation, as an error of its own."""

    def explain(self, state):
        forbid = state.truncated
        decision = ContinuationDecision.FORBID if forbid else ContinuationDecision.ALLOW
        return ContinuationEvaluation("Late", decision, "said so", stop_reason=StopReason.ERROR)


def wishing():
    return Playbook(criteria=(WantsOneMore(),)) >> started() >> ended("one") >> ended("two")


def forbidden():
    return (
        Playbook(criteria=(WantsOneMore(), Late())) >> started() >> called(call()) >> tools_returned() >> truncated("x")
    )


def folded(story, criteria):
    """The last snapshot, from the stored recording, with other criteria in place of those that judged."""
    recording = story.stored()
    policy, snapshot = replace(recording.policy, criteria=criteria), Snapshot()
    for record in recording.records:
        snapshot = advance(snapshot, record.event, as_judged(policy, record.transitions)).snapshot
    return snapshot


@pytest.mark.parametrize("story", [wishing, forbidden])
@pytest.mark.parametrize("other", [Veto, WantsOneMore, Late])
def test_a_fold_ends_where_the_turn_did_even_if_the_criteria_would_now_decide_otherwise(story, other):
    told = story()
    again = folded(told, tuple(other() for _ in told.policy.criteria))
    assert (again.end, again.messages, again.spent) == (told.end, told.snapshot.messages, told.snapshot.spent)
    assert again.outcome.to_dict() == told.snapshot.outcome.to_dict()


def test_the_message_of_a_request_is_recorded_and_replayed():
    snapshot = folded(wishing(), (Veto(),))
    assert [message.text for message in snapshot.messages][-1] == "And?"


def test_verify_evaluates_the_criteria_again():
    recording = wishing().stored()
    assert verify(recording).verified
    changed = verify(replace(recording, policy=replace(recording.policy, criteria=(Veto(),))))
    assert not changed.verified
    assert changed.divergence.seq == 2


def test_another_message_to_the_model_is_a_divergence():
    class SaysOtherwise(WantsOneMore):
        def explain(self, state):
            said = super().explain(state)
            return replace(said, message=said.message and "What else?")

    recording = wishing().stored()
    changed = verify(replace(recording, policy=replace(recording.policy, criteria=(SaysOtherwise(),))))
    assert changed.divergence.seq == 2


def test_what_if_reads_recorded_judgements_for_the_past_and_evaluates_new_steps():
    recording = wishing().stored()
    policy = replace(recording.policy, criteria=())
    imagined = what_if(replace(recording, policy=replace(recording.policy, criteria=(Veto(),))), policy)
    assert not imagined.undecidable
    assert imagined.final.end.output_text == "one"


def test_a_policy_without_criteria_stays_unchanged():
    policy = Playbook().policy
    assert as_judged(policy, [{"from": None}]) is policy


def test_missing_evaluations_are_reported_in_words():
    with pytest.raises(RecordingError, match="evaluations that cannot be read"):
        as_judged(
            forbidden().policy, [{"from": "evaluate_stop", "outcome": {"evaluations": [1, 2], "stopReason": "x"}}]
        )
