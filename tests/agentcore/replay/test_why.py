"""Why a what-if is undecidable, and endings that a recording decides although it does not hold the whole answer."""

import random
from dataclasses import replace

import pytest

from agentcore import Certainty, ErrorPolicy, what_if
from agentcore.replay import Why
from tests.agentcore.playbook import Playbook
from tests.agentcore.replay.examining import begun, came_true, run
from tests.agentcore.replay.model_server import Model
from tests.agentcore.replay.texts import prose

TEXT = (prose(random.Random(1), 200),)
BOOK = {"extra": {"prefill": True}, "error_policy": ErrorPolicy.stop_on_any_error()}


def asked(had, wanted, **model):
    """What a turn under one policy says of another, and the real turn under that."""
    server = Model(1, TEXT, prefill=True, **model)
    recorded, other = run(begun(Playbook(**BOOK, **had)), server), Playbook(**BOOK, **had | wanted)
    policy = replace(other.policy, max_tokens=wanted.get("max_tokens", had["max_tokens"]))
    return what_if(recorded.recording, policy), run(begun(other), server)


@pytest.mark.parametrize(
    ("had", "wanted", "model"),
    [
        ({"max_tokens": 100}, {"max_tokens": 50}, {"fails": {2: "500"}}),
        ({"max_tokens": 30, "max_continuations": 1}, {"max_tokens": 400, "max_total_output_chars": 100}, {}),
        ({"max_tokens": 4000, "max_seconds": 1.0}, {"max_tokens": 3000}, {}),
    ],
    ids=[
        "the text before a call that failed in silence is cut by a smaller cap",
        "the recorded text alone is more than max_total_output_chars allows",
        "a smaller cap is not reached before max_seconds ends the call",
    ],
)
def test_an_ending_is_estimated_where_the_unknown_rest_of_an_answer_does_not_matter(had, wanted, model):
    imagined, truth = asked(had, wanted, **model)
    assert (imagined.certainty, imagined.why) == (Certainty.ESTIMATED, None)
    assert came_true(imagined, truth)


@pytest.mark.parametrize(
    ("had", "wanted", "why"),
    [
        ({"max_tokens": 30, "max_continuations": 0}, {"max_tokens": 400}, Why.MORE_TEXT),
        ({"max_tokens": 4000, "max_seconds": 1.0}, {"max_tokens": 50}, Why.TIMED_OUT),
        (
            {"max_tokens": 30, "max_continuations": 0},
            {"max_tokens": 400, "max_total_output_chars": 50},
            Why.ASSUMPTIONS,  # it ends soon, as a whole answer, or its cap cuts it, and nothing may be continued
        ),
    ],
)
def test_an_undecidable_result_gives_its_reason(had, wanted, why):
    imagined, _ = asked(had, wanted)
    assert (imagined.certainty, imagined.why) == (Certainty.UNDECIDABLE, why)
    assert bool(imagined.endings) == (why is Why.ASSUMPTIONS)
