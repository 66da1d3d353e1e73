"""Whole payloads through the codecs: every planted lie is found, and no honest turn is called a liar."""

import pytest

from agentcore.lint import CODES, asks_for_stops, lint, seam_sign, signs
from agentcore.messages import ChatResponse
from agentcore.reasons import NormalizedStopReason
from tests.agentcore.lint.misleading_stop_reasons import LIES
from tests.agentcore.lint.true_stop_reasons import HONEST
from tests.agentcore.lint.turns import Told
from tests.agentcore.playbook import Playbook, ended, started
from tests.together import together


def test_the_corpus_has_its_documented_size():
    assert (len(LIES), len(HONEST)) == (40, 200)
    assert {told.code for told in LIES} == set(CODES) - {"ambiguous_seam"}  # which no single answer shows
    assert len({told.dialect for told in LIES}) == len({told.dialect for told in HONEST}) == 8


@together
@pytest.mark.parametrize("told", LIES, ids=lambda told: told.name)
def test_a_planted_fault_is_found_with_its_evidence(told: Told):
    found = {sign.code: sign for sign in told.signs}
    assert told.code in found, told.response
    assert found[told.code].words.endswith(".")


def test_a_seam_sign_shows_both_readings_and_mentions_an_echo_only_where_one_is_possible():
    rows = "name,qty\n" + "widget,1\n" * 40
    sign = seam_sign(rows, 180, 90)
    kept, dropped = sign.readings
    assert (kept.count("widget,1\n"), dropped.count("widget,1\n")) == (28, 18)
    assert (kept in rows, len(kept) - len(dropped), len(sign.text)) == (True, 90, 80)
    assert "prefill_echo" not in sign.words
    assert "prefill_echo" in seam_sign("what waswhat was it", 8, 8).words


@together
@pytest.mark.parametrize("told", HONEST, ids=lambda told: told.name)
def test_an_honest_turn_is_not_flagged(told: Told):
    assert told.signs == (), told.response


@together
@pytest.mark.parametrize("told", LIES, ids=lambda told: told.name)
def test_linting_does_not_change_the_providers_stop_reason(told: Told):
    before = told.response
    assert lint(before, told.cap, told.before)
    assert (before.raw_stop_reason, before.stop_reason) == (told.response.raw_stop_reason, told.response.stop_reason)


@pytest.mark.parametrize(
    ("before", "said", "sign"),
    [
        ("Look: \n``", "`python\nprint(1)", "unclosed_fence"),
        ("~~~\nprint(1)", "\nprint(2)", "unclosed_fence"),
        ('{"a": [1, ', "2, 3", "unclosed_json"),
        (" \n", '[{"a": 1}', "unclosed_json"),
    ],
)
def test_a_delimiter_that_a_continuation_leaves_open_may_have_been_opened_before_it(before: str, said: str, sign: str):
    assert lint(ChatResponse(said, stop_reason=NormalizedStopReason.END_TURN), 1000, before) == (sign,)


#: Strings of the caller's own to end at, where each dialect keeps them.
STOPS = [
    {"stop": ["```"]},
    {"stop": "}"},
    {"stop_sequences": ["}"]},
    {"generationConfig": {"stopSequences": ["}"]}},
    {"inferenceConfig": {"stopSequences": ["}"]}},
    {"options": {"stop": ["}"]}},
]


@together
@pytest.mark.parametrize("extra", STOPS, ids=str)
@pytest.mark.parametrize("text", ['```json\n{"a": 1}\n', '{"a": 1', "<think>so"])
def test_an_answer_that_may_end_at_a_caller_stop_string_is_not_flagged(extra: dict[str, object], text: str):
    asked = Playbook(max_tokens=400, extra=extra) >> started() >> ended(text, tokens=9)
    assert asked.snapshot.flagged == ()
    unasked = Playbook(max_tokens=400, extra={"stop": [], "options": None}) >> started() >> ended(text, tokens=9)
    assert unasked.snapshot.flagged != ()


def test_output_at_the_cap_is_flagged_even_with_caller_stop_strings():
    asked = Playbook(max_tokens=60, extra={"stop": ["}"]}) >> started() >> ended('{"a": 1', tokens=60)
    assert asked.snapshot.flagged == ("output_at_cap",)
    assert asks_for_stops(asked.setup.extra)
    assert [sign.code for sign in signs(asked.snapshot.response, 60, stops=True)] == ["output_at_cap"]
