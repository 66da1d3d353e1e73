"""The words that readers see of a reason are made of what was judged, never of the sentence that is stored."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from agentcore.criteria import builtin
from agentcore.error_policy import ErrorPolicy
from agentcore.error_text import notice_text
from agentcore.errors import ErrorType
from agentcore.evaluation import ContinuationDecision
from agentcore.reason_text import criterion_in_words, criterion_name, evaluation_text
from agentcore.replay import fold, verify
from agentcore.resource import no_retry_helps, resource_of
from agentcore.verdict import verdict
from agentcore.why.derivation import derive
from agentcore.why.transition_case import cases_of
from agentcore.why.transition_text import transition_text
from tests.agentcore.playbook import (
    Playbook,
    call,
    called,
    cut_call,
    ended,
    error,
    lost,
    malformed_call,
    started,
    tool_failed,
    tools_returned,
    truncated,
    unknown,
)
from tests.together import together

SCHEMA = {"required": ["a"]}


def play(*events: Any, **rules: Any) -> Playbook:
    story = Playbook(**rules) >> started()
    for event in events:
        story = story >> event
    return story


def evaluations(story: Playbook) -> list[str]:
    return [
        evaluation_text(said, case.snapshot, case.error)
        for span in fold(story.recording)
        for case in cases_of(span)
        if case is not None
        for said in case.evaluations
    ]


def transitions(story: Playbook) -> list[str]:
    return [transition_text(case) for span in fold(story.recording) for case in cases_of(span) if case is not None]


NONE_ALLOWED = "Max continuations (max_continuations) is 0"
CUT = "cut off by Max tokens per call (max_tokens), 60 of 60 tokens used"
MODEL_ERROR = "model error, 1 failure; model errors stop the turn"
IDLE = [truncated("a"), truncated(""), truncated("")]
WATCHED = partial(play, watched=True, max_continuations=0, max_tool_repair_attempts=0, schema_rounds=0)
SEES = [
    (play(ended("a")), "no envelope to check at this transition", "the provider said “stop”: end_turn"),
    (play(unknown(None, "a")), "1 of 20 steps", "the provider gave no stop reason: unknown"),
    (play(truncated("a"), max_continuations=0), NONE_ALLOWED, NONE_ALLOWED),
    (
        play(cut_call(), max_tool_repair_attempts=0),
        "truncated tool call; Max tool-call repairs is 0",
        "a tool call was truncated and did not run (truncated tool call; Max tool-call repairs is 0)",
    ),
    (play(truncated("a", tokens=2_000), max_total_tokens=2_000), "2,010 of 2,000 tokens", None),
    (
        play(truncated("a", tokens=2_000), max_total_completion_tokens=2_000),
        "2,000 of 2,000 completion tokens used",
        None,
    ),
    (play(truncated("a" * 1_200), max_total_output_chars=1_000), "the text was cut at 1,000 characters", None),
    (play(*IDLE), "2 truncated answers in a row added nothing new", None),
    (
        play(truncated("{"), envelope_schema=SCHEMA, schema_rounds=0),
        "no envelope retries are allowed",
        "no envelope retries are allowed",
    ),
    (play(ended('{"a": 1}'), envelope_schema=SCHEMA), "it ended by itself and is valid", None),
    (WATCHED(truncated("a", tokens=60)), f"{CUT}; an observed call is not continued", None),
    (WATCHED(malformed_call()), "malformed tool call; an observed call is not requested again", None),
    (WATCHED(ended("{}"), envelope_schema=SCHEMA), "an observed call is not requested again", None),
    (play(called(call()), tools_returned(), ended("a")), "2 of 20 steps", "step 2 of 20"),
    (play(called(call()), client_tools=True), "1 tool calls", "the model asked for calculator; the caller runs them"),
    (
        play(error(retryable=False), error_policy=ErrorPolicy.retry_all()),
        "the same request would fail again (model)",
        "the same request would fail again (model)",
    ),
    (
        play(error(), error_policy=ErrorPolicy(on_model_error="ignore")),
        "Model error ignored by policy",
        "ignored by the error policy; there is no answer to return",
    ),
    (
        play(error(ErrorType.RATE_LIMIT), error_policy=ErrorPolicy.retry_all()),
        "Rate limit error, retrying (1/5)",
        None,
    ),
    (play(error()), MODEL_ERROR, MODEL_ERROR),
    (play(ended("a")), "1 s since the start, without pauses; no limit", None),
    (play(ended("a"), max_seconds=60), "1.0 of 60 s since the start, without pauses", None),
]  # fmt: skip


@together
@pytest.mark.parametrize(("story", "said", "moved"), SEES)
def test_displayed_reasons_are_in_plain_words(story: Playbook, said: str, moved: str | None):
    assert said in evaluations(story)
    assert moved is None or moved in transitions(story)


@together
@pytest.mark.parametrize("story", [story for story, *_ in SEES])
def test_no_code_parses_the_stored_sentence(story: Playbook):
    """Every sentence that a recording holds is taken away; where the words come from its values, nothing changes."""
    spans = fold(story.recording)
    for span in spans:
        bare = replace(
            span, record=replace(span.record, transitions=tuple(map(without_words, span.record.transitions)))
        )
        for case, silent in zip(cases_of(span), cases_of(bare), strict=True):
            if case is None:
                continue
            for said, unsaid in zip(case.evaluations, silent.evaluations, strict=True):
                seen = evaluation_text(unsaid, silent.snapshot, silent.error)
                assert seen in ("…", evaluation_text(said, case.snapshot, case.error))
            assert transition_text(silent) in ("…", transition_text(case))


def without_words(transition: dict[str, Any]) -> dict[str, Any]:
    outcome = transition.get("outcome")
    if outcome is not None:
        outcome = {**outcome, "evaluations": [{**said, "reason": "…"} for said in outcome["evaluations"]]}
    return {**transition, "reason": "…", "outcome": outcome}


@together
@pytest.mark.parametrize("revision", [None, 1, 4, 5, 9])
def test_the_binding_limit_is_stored_on_the_evaluation_in_every_revision(revision: int | None):
    cut = play(ended("{}"), envelope_schema=SCHEMA, schema_rounds=0, revision=revision)
    bounds = [said.bound for said in cut.snapshot.outcome.evaluations if said.decision is ContinuationDecision.FORBID]
    assert (bounds, resource_of(cut.snapshot)) == (["schema_rounds"], "schema_rounds")
    late = play(error(retry_after=900.0), error_policy=ErrorPolicy.retry_all(), revision=revision)
    assert no_retry_helps(late.snapshot)
    assert verify(late.stored()).verified


def test_a_stored_reason_keeps_its_wording_and_verifies():
    story = play(truncated("a"), max_continuations=0)
    assert "0 of 0 continuations used" in story.end.notice
    assert notice_text(story.snapshot) == "This answer is incomplete: Max continuations (max_continuations) is 0."
    assert "sentence" not in story.stored().records[-1].command
    assert verify(story.stored()).verified
    derivation = derive(story.recording)
    assert derivation is not None
    said = [node.words for node in derivation.tree.walk()]
    assert "The rules for truncated answers forbade another call: Max continuations (max_continuations) is 0" in said


def test_a_tool_error_is_shortened_to_fit_the_notice():
    call_id = play(called(call())).command.calls[0].id
    story = play(
        called(call()),
        tools_returned(replace(tool_failed(call_id), content="It broke.")),
        error_policy=ErrorPolicy.stop_on_any_error(),
    )
    assert notice_text(story.snapshot).endswith("; tool errors stop the turn (calculator: It broke).")


def test_a_permanent_error_is_not_attributed_to_the_policy():
    late = play(truncated("a"), error(retry_after=900.0), error_policy=ErrorPolicy.retry_all())
    assert "Not retried: the provider asks to wait 900 s, more than 120 s." in notice_text(late.snapshot)


def test_a_turn_that_its_time_limit_cut_does_not_blame_the_provider():
    story = play(truncated("a"), error(ErrorType.TIMEOUT), max_seconds=1.5)
    assert notice_text(story.snapshot) == "This answer is incomplete: the time limit of 1.5 s was reached."


def test_an_interrupted_turn_reports_that_its_answer_is_kept():
    story = play(lost("a", "The process is gone."))
    words = "This turn was interrupted and cannot continue: The process is gone. The partial answer is kept."
    assert notice_text(story.snapshot) == words


def test_a_judgement_known_only_by_its_sentence_is_shown_by_it():
    said = {"criterion": "TruncationCriterion", "decision": "forbid", "reason": "2 cut answers running", "context": {}}
    assert evaluation_text(said, None) == "2 cut answers running"


def test_a_verdict_groups_digits_as_the_notice_does():
    story = play(called(call(), tokens=2_000), max_total_tokens=1_500)
    assert notice_text(story.snapshot).startswith("This answer is incomplete: 2,010 of 1,500 tokens;")
    assert "2,010 of 1,500 tokens; these tool calls did not run: calculator." in verdict(story.snapshot)


def test_displayed_reasons_of_a_continuation_group_digits():
    story = play(truncated("part", tokens=12_000), max_tokens=12_000, max_total_completion_tokens=111_959)
    assert "cut off; 0 of 3 continuations used, 99,959 tokens left" in evaluations(story)
    assert "continuation 1 of 3, 12,000 tokens" in transitions(story)
    assert "99959 tokens left" in str(story.records), "the stored reason is the one that verifies"


def test_a_criterion_has_one_name_in_lists_and_sentences():
    names = [name for name, member in vars(builtin).items() if isinstance(member, type) and hasattr(member, "explain")]
    assert len(names) == 9
    for name in names:
        assert criterion_name(name) != name
        assert criterion_name(name)[1:] in criterion_in_words(name)
    assert (criterion_name("Budget"), criterion_in_words("Budget")) == ("Budget", "the criterion Budget")
