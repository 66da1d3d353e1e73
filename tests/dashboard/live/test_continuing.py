"""A turn on a connection that was tested: continued exactly, echo or not, its numbers are certain and come true."""

import pytest

from agentcore import Certainty
from agentcore.sufficient_max_tokens import END_AT_MOST
from agentcore.verdict import verdict
from dashboard.agents.models import Connection
from dashboard.agents.probes import Finding
from dashboard.live.probe_service import connection_probe
from dashboard.live.services import turn_start
from dashboard.replay.rerun_service import turn_rerun
from dashboard.replay.services import turn_what_if
from dashboard.simulator.texts import WHAT_WAS, count_tokens
from dashboard.turns.models import Turn
from tests.dashboard.driving import AgentOf, drive
from tests.together import together

pytestmark = pytest.mark.django_db(transaction=True)

WHOLE = count_tokens(WHAT_WAS)
MODELS = {"sim-prefill": Finding.CONTINUES, "sim-prefill-echo": Finding.ECHOES}


@pytest.fixture(params=MODELS)
def turn(request: pytest.FixtureRequest, connection: Connection, agent_of: AgentOf) -> Turn:
    """Cut after seven tokens, and continued."""
    model = str(request.param)
    assert connection_probe(connection=connection, model=model).finding is MODELS[model]
    agent = agent_of(model, max_tokens=7, connection=connection)
    return drive(turn_start(agent=agent, input_text="Tell me what was."))


def verdict_of(turn: Turn) -> str:
    final = turn_what_if(turn=turn, overrides={}).recording.final
    assert final is not None
    return verdict(final)


def test_an_exactly_continued_answer_has_no_duplicated_words_and_names_the_number(turn: Turn) -> None:
    assert 7 < WHOLE <= 14, "two calls"
    assert (turn.status, turn.attempts, turn.output_text) == ("completed", 2, WHAT_WAS)
    assert turn.output_tokens == WHOLE, "an echo is not counted"
    assert (
        f"With Max tokens per call (max_tokens) ≥ {WHOLE + END_AT_MOST}, one call would have been enough"
        in verdict_of(turn)
    )


@together
@pytest.mark.parametrize(
    ("cap", "certainty", "attempts"),
    [
        (WHOLE + 50, Certainty.CERTAIN, 1),
        (WHOLE + END_AT_MOST, Certainty.CERTAIN, 1),
        (WHOLE + END_AT_MOST - 1, Certainty.ESTIMATED, 1),
        (WHOLE + 1, Certainty.ESTIMATED, 1),
        (WHOLE, Certainty.UNDECIDABLE, 1),
        (WHOLE - 1, Certainty.UNDECIDABLE, 2),
        (8, Certainty.ESTIMATED, 2),
        (7, Certainty.RECORDED, 2),
    ],
)
def test_what_ifs_at_and_around_that_number_come_true(
    turn: Turn, cap: int, certainty: Certainty, attempts: int
) -> None:
    imagined = turn_what_if(turn=turn, overrides={"max_tokens": cap}).recording
    # Which characters a cap between two recorded ones would have left to the second call is not recorded. Whether the
    # end of an answer takes tokens of its own is not, either: close to the whole answer both endings are given.
    assert imagined.certainty is certainty
    endings = [(one.final.spent.attempts, one.final.output_text) for one in imagined.endings or [imagined] if one.final]
    assert (attempts, WHAT_WAS) in endings
    child = drive(turn_rerun(turn=turn, overrides={"max_tokens": cap}))
    assert (child.status, child.attempts, child.output_text) == ("completed", attempts, WHAT_WAS)


@pytest.mark.parametrize("model", ["sim-prefill-ignored", "sim-prefill-refused"])
def test_a_server_that_does_not_continue_gets_a_hint_after_its_test(
    connection: Connection, agent_of: AgentOf, model: str
) -> None:
    connection_probe(connection=connection, model=model)
    turn = drive(turn_start(agent=agent_of(model, max_tokens=7, connection=connection), input_text="Tell me what was."))
    assert turn.status == "completed"
    assert "one call would have been enough" not in verdict_of(turn), "nothing is certain after a hint"
