"""A cut tool call is estimated by calls that returned tool calls, and an estimate that is missing says why."""

from typing import Any

import pytest
from django.utils.timezone import now

from dashboard.policies.suggestions.list_suggestions import suggestions_now
from dashboard.policies.suggestions.selectors import LEAST, suggestion_for
from dashboard.policies.suggestions.suggestion import Basis, Suggestion
from dashboard.policies.suggestions.suggestion_text import because
from dashboard.turns.models import Attempt, Turn
from tests.dashboard.driving import Play

pytestmark = pytest.mark.django_db(transaction=True)

TOTAL = "max_total_tokens"


def told(turn: Turn) -> Suggestion:
    said = suggestion_for(turn)
    assert said is not None
    return said


@pytest.fixture
def cut(play: Play) -> Turn:
    """A tool call that was cut at 40 tokens and not requested again."""
    limits = {"max_tool_repair_attempts": 0}
    turn = play("sim-cut-tool", tools=["calculator"], max_tokens=40, overrides={"limits": limits})
    assert (turn.status, turn.attempts) == ("partial", 1)
    return turn


def calls(cut: Turn, tokens: list[int], **changed: Any) -> None:
    """Other turns of the same agent and model: each made one tool call of so many tokens, and answered then."""
    about: dict[str, Any] = {"agent": cut.agent, "agent_name": cut.agent_name} | changed
    about |= {"project": cut.project, "provider": cut.provider}
    ended = {"status": "completed", "model_stop_reason": "end_turn", "attempts": 2, "max_tokens": 900}
    for count in tokens:
        turn = Turn.objects.create(model=cut.model, output_tokens=count + 10, input_text="Another.", **about, **ended)
        made: dict[str, Any] = {
            "iteration": 1,
            "kind": "initial",
            "request": {},
            "request_url": "",
            "started_at": now(),
        }
        made |= {"turn_id": turn.id, "provider": cut.provider, "model": cut.model, "request_sha256": ""}
        call = [{"id": "1", "name": "calculator", "arguments": {}, "raw": "{}"}]
        usage = {"input_tokens": 1, "output_tokens": count}
        Attempt.objects.create(index=1, stop_reason="tool_call", tool_calls=call, usage=usage, **made)
        Attempt.objects.create(index=2, stop_reason="end_turn", usage={"input_tokens": 1, "output_tokens": 10}, **made)


def test_a_cut_tool_call_is_estimated_by_the_agents_calls_that_returned_tool_calls(cut: Turn):
    calls(cut, [69 + 3 * (place * 7 % 26) for place in range(26)])
    said = told(cut)
    assert (said.basis, said.limit, said.value, said.answers) == (Basis.AGENT, "max_tokens", 149, 26)
    assert because(said).startswith(
        "All 26 tool-call responses of agent sim-cut-tool longer than 40 tokens fit in 149 tokens. "
        "The estimate for the next one is 95 %, because there are only 26."
    ), because(said)
    assert suggestions_now([cut.id], cut.project)[0][1] == said, "and so does a list"


def test_it_is_the_models_calls_where_the_agent_has_too_few(cut: Turn):
    calls(cut, [89] * 12, agent=None, agent_name="another")
    said = told(cut)
    assert (said.basis, said.value) == (Basis.MODEL, 94)


def test_without_enough_of_them_the_sentence_counts_tool_calls(cut: Turn):
    calls(cut, [89] * (LEAST - 1))
    assert because(told(cut)) == (
        "The recording ends before the tool call does, and too few longer tool-call responses are recorded for an "
        "estimate: 9 complete ones of model sim-cut-tool, where an estimate needs 10. A "
        "turn and its re-runs count as one."
    )


@pytest.fixture
def bound(play: Play) -> Turn:
    """A turn that a total stopped."""
    turn = play("sim-endless", max_tokens=40, overrides={"limits": {TOTAL: 100}})
    assert turn.resource == TOTAL
    return turn


def used(bound: Turn, tokens: list[int], **changed: Any) -> list[Turn]:
    """Other turns of the same agent and model that used so many tokens in all."""
    about = {"project": bound.project, "agent": bound.agent, "agent_name": bound.agent_name, "provider": bound.provider}
    ended = {"status": "completed", "model_stop_reason": "end_turn", "attempts": 1, "max_tokens": 900} | changed
    make = Turn.objects.create
    return [make(model=bound.model, output_tokens=count, input_text="Another.", **about, **ended) for count in tokens]


def test_turns_of_one_call_tell_of_a_total_as_well(bound: Turn):
    used(bound, [500 + place * 7 % 20 for place in range(2 * LEAST)])
    said = told(bound)
    assert (said.limit, said.basis, said.answers) == (TOTAL, Basis.AGENT, 2 * LEAST)


def test_re_runs_of_one_turn_are_counted_once_and_the_sentence_says_so(bound: Turn):
    (first,) = used(bound, [500])
    used(bound, [500 + place for place in range(2 * LEAST)], parent=first)
    words = because(told(bound))
    assert (
        "1 complete one of model sim-endless, where an estimate needs 10. A turn and its re-runs count as one." in words
    )


def test_turns_that_were_stopped_are_named_as_the_reason(bound: Turn):
    used(bound, [500 + place for place in range(LEAST)])
    used(bound, [499] * LEAST + [600] * LEAST, status="partial")
    words = because(told(bound))
    assert (
        "too many turns of model sim-endless that used more of it were cut or stopped for an estimate: 20 of 30."
        in words
    )


def test_where_only_the_newest_count_the_sentence_says_why(bound: Turn):
    used(bound, [300 + place * 7 % 20 for place in range(20)])
    used(bound, [900 + place * 7 % 20 for place in range(20)])
    said = told(bound)
    assert said.newest
    assert "20 newest turns of agent sim-endless that used more than" in because(said)
    assert " Older ones used less and are not counted." in because(said)
