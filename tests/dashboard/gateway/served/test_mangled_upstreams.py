"""Real answers of every dialect, broken by chance on their way: an answer that was cut never ends well.

What the client hears is held against what the same bytes mean to the dialect's codec, read in one piece.
"""

import random
from collections.abc import Callable

import pytest

from agentcore import verify
from agentcore.errors import DecodeError
from agentcore.messages import ChatResponse
from agentcore.providers import PROVIDERS, get_provider
from agentcore.reasons import NormalizedStopReason as Reason
from dashboard.agents.selectors import project_default
from dashboard.agents.services import agent_create
from dashboard.policies.policy_creation import policy_create
from dashboard.turns.history import recording_of
from tests.dashboard.gateway.served.client_results import heard
from tests.dashboard.gateway.served.conftest import BASES, ConnectionTo, turn_of
from tests.dashboard.gateway.served.gate import Answer, Gate
from tests.dashboard.gateway.served.raw_provider import CUT, RawProvider, head
from tests.dashboard.gateway.served.real_answers import RealAnswer, in_pieces, mangled, recorded, simulated
from tests.nightly import nightly

MODES = ("continue", "observe")
FORMS = pytest.mark.parametrize("stream", [pytest.param(True, id="stream"), nightly(False, id="whole")])
ENDED_WELL = {Reason.END_TURN, Reason.TOOL_CALL}
#: Reasons that are told of an answer only where it came to its end.
WELL = ("stop: ", "tool_calls: ")
ITS_END = "to its end"  #: words that cannot be read were handed on, and nothing was said of a break
ROUNDS = 2  #: for each of some four answers of a dialect, in each form and mode


AtRaw = Callable[[str], RawProvider]


@pytest.fixture
def at_raw(raw: RawProvider, connected: ConnectionTo) -> AtRaw:
    """The raw provider, with a connection to it in a dialect and an agent for each mode, named as both."""

    def make(dialect: str) -> RawProvider:
        connection = connected(dialect, base_url=raw.url + BASES[dialect])
        policy = policy_create(
            project=project_default(), name=f"{dialect}-no-more", limits={"max_continuations": 0}
        ).policy
        about = {"connection": connection, "model": "odd", "max_tokens": 60, "policy": policy}
        for mode in MODES:
            agent_create(project=connection.project, name=f"{dialect}-{mode}", gateway_mode=mode, **about)
        return raw

    return make


def said(gate: Gate, answer: RealAnswer, *, mode: str, stream: bool) -> str:
    """What a client hears; never an error of ours, and the turn is stored and verifies."""
    told: Answer = gate.ask(model=f"{answer.dialect}-{mode}", stream=stream)
    assert told.status in {200, 400, 413, 422, 429, 502, 503, 504}, told.body[:500]
    assert verify(recording_of(turn_of(told))).verified
    if told.status == 200 and mode == "observe" and answer.dialect == "openai":
        return _handed_on(told)
    return heard(told)


def _handed_on(told: Answer) -> str:
    """The upstream's own bytes, not all of which can be read: whether we vouch for their end."""
    try:
        return heard(told, ours=False)
    except (ValueError, KeyError, TypeError):
        vouched = b"data: [DONE]" in told.body and b'"upstream_error"' not in told.body
        return ITS_END if vouched else "handed on"


def meant(answer: RealAnswer, body: bytes) -> ChatResponse | None:
    """What the bytes mean; None: nothing."""
    decoder = get_provider(answer.dialect).stream_decoder(max_tokens=60)
    try:
        decoder.feed(body)
        return decoder.close()
    except DecodeError:
        return None


def first_half(answer: RealAnswer, dice: random.Random) -> bytes:
    """The answer as far as it had come when no dialect can have told its end."""
    return answer.body[: dice.randrange(1, len(answer.body) // 2)]


@FORMS
def test_a_truncated_or_corrupted_answer_never_ends_successfully(
    gate: Gate, at_raw: AtRaw, simulator_url: str, subtests: pytest.Subtests, stream: bool
):
    for dialect in PROVIDERS:
        with subtests.test(dialect):
            raw, dice = at_raw(dialect), random.Random(f"{dialect} {stream}")
            answers = list(simulated(dialect, simulator_url.removesuffix("/v1") + BASES[dialect], stream=stream))
            more = list(recorded(dialect, stream=stream))
            for answer in [*answers, *dice.sample(more, min(2, len(more)))]:
                for body in [first_half(answer, dice), *(mangled(answer.body, dice) for _ in range(ROUNDS))]:
                    raw.always = [head(answer.content_type), *in_pieces(body, dice), *dice.choice([[], [], [CUT]])]
                    for mode in MODES:
                        is_true(answer, body, said(gate, answer, mode=mode, stream=stream))


def is_true(answer: RealAnswer, body: bytes, words: str) -> None:
    """No client hears of a good end where there was none."""
    response, case = meant(answer, body), (answer.name, words[:200], body)
    if words.startswith((*WELL, ITS_END)):
        assert len(body) > len(answer.body) // 2 or not answer.body.startswith(body), case
        assert response is not None, case
        assert not response.incomplete_stream, case
    if words.startswith(WELL) and response is not None:
        assert response.stop_reason in {*ENDED_WELL, Reason.UNKNOWN}, case
