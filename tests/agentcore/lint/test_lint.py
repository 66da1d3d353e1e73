"""Whole payloads through the codecs: every planted lie is found, and no honest turn is called a liar."""

import pytest

from agentcore.lint import CODES, lint
from tests.agentcore.lint.honest import HONEST
from tests.agentcore.lint.lies import LIES
from tests.agentcore.lint.turns import Told


def test_the_set_is_as_large_as_it_is_said_to_be():
    assert (len(LIES), len(HONEST)) == (40, 200)
    assert {told.code for told in LIES} == set(CODES)
    assert len({told.dialect for told in LIES}) == len({told.dialect for told in HONEST}) == 8


@pytest.mark.parametrize("told", LIES, ids=lambda told: told.name)
def test_a_planted_lie_is_found_with_its_evidence(told: Told):
    found = {sign.code: sign for sign in told.signs}
    assert told.code in found, told.response
    assert found[told.code].words.endswith(".")


@pytest.mark.parametrize("told", HONEST, ids=lambda told: told.name)
def test_an_honest_turn_is_not_flagged(told: Told):
    assert told.signs == (), told.response


@pytest.mark.parametrize("told", LIES, ids=lambda told: told.name)
def test_the_providers_word_stays_as_it_was(told: Told):
    before = told.response
    assert lint(before, told.cap, told.before)
    assert (before.raw_stop_reason, before.stop_reason) == (told.response.raw_stop_reason, told.response.stop_reason)
