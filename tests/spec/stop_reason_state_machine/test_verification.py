"""stop-reason-state-machine: the plan's integration and regression cases, over real HTTP against the simulator."""

import pytest

from agentcore import AttemptKind
from dashboard.simulator.texts import ESSAY
from tests.agentcore.playbook import Playbook, call_model, ended, finish, started, truncated
from tests.dashboard.driving import Play
from tests.spec.rules import Kind, rule

VERIFICATION = "stop-reason-state-machine §Verification"
over_http = pytest.mark.django_db(transaction=True)


@rule(VERIFICATION, "A truncated answer is continued successfully")
@over_http
def test_a_provider_that_truncates_once_or_twice_is_continued_to_the_end(play: Play) -> None:
    turn = play("sim-essay", overrides={"max_tokens": 150})
    assert (turn.status, turn.terminal_reason, turn.output_text) == ("completed", "completed", ESSAY)


@rule(VERIFICATION, "An answer that is always truncated reaches the retry limit")
@over_http
def test_a_provider_that_always_truncates_is_called_four_times(play: Play) -> None:
    turn = play("sim-endless", overrides={"max_tokens": 40})
    assert (turn.status, turn.terminal_reason, turn.attempts) == ("partial", "retry_limit", 4)


@rule(VERIFICATION, "A partial tool call is repaired")
@over_http
def test_a_provider_that_truncates_a_call_is_called_again(play: Play) -> None:
    turn = play("sim-cut-tool", tools=["calculator"], overrides={"max_tokens": 60})
    assert (turn.status, turn.tool_repairs) == ("completed", 1)
    assert turn.output_text.startswith("The sum comes to ")


@rule(VERIFICATION, "An answer that was not truncated is unchanged")
def test_a_complete_answer_is_passed_on_unchanged() -> None:
    text = "  Once, twice:\n\nonce, twice.  "
    story = Playbook() >> started() >> ended(text) << finish(text, terminal="completed")
    assert story.snapshot.spent.attempts == 1


@rule(VERIFICATION, "Merged continuations contain no duplicated text")
def test_text_repeated_by_a_continuation_appears_once() -> None:
    story = Playbook() >> started() >> truncated("The quick brown fox ") >> ended("quick brown fox jumps.")
    assert story << finish("The quick brown fox jumps.")


@rule(VERIFICATION, "Continuations that add nothing new end before the limits do", Kind.SHOULD)
def test_repetition_is_detected() -> None:
    text = "The quick brown fox jumps over the lazy dog."
    story = Playbook(max_continuations=50, max_total_completion_tokens=9999) >> started() >> truncated(text)
    story = story >> truncated(text) << call_model(AttemptKind.CONTINUATION) >> truncated(text)
    assert story << finish(text, terminal="repetition")
