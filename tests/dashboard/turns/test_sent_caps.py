"""What a page says of `max_tokens`, where a number may not be known."""

from agentcore.events import Setup
from agentcore.messages import NO_CAP
from dashboard.turns.sent_caps import DEFAULT_CAP, UNRECORDED, cap_of_turn


def setup(**extra: object) -> Setup:
    return Setup("t", "openai", "m", DEFAULT_CAP, extra=extra)


def test_a_cap_is_a_number_unset_or_not_recorded():
    assert cap_of_turn(1_200, None) == "1,200"
    assert cap_of_turn(1_200, setup()) == "1,200"
    assert cap_of_turn(None, setup(uncapped=NO_CAP)) == "no limit set"
    assert cap_of_turn(DEFAULT_CAP, setup(uncapped=UNRECORDED)) == "not recorded"


def test_the_usage_of_a_truncated_answer_is_compared_with_its_cap():
    assert cap_of_turn(640, setup(uncapped=UNRECORDED)) == "≈ 640"
