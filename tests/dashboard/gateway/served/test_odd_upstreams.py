"""Upstreams that answer in ways nobody promised: no 500, no wrong reason, nothing said that did not come.

Here are the ways that have a name; `test_mangled_upstreams` breaks real answers of every dialect by chance, and
`test_fuzzed_upstreams` makes streams of anything.
"""

import re

import pytest

from agentcore import verify
from agentcore.providers import PROVIDERS
from dashboard.live import body_reader
from dashboard.turns.history import recording_of
from tests.dashboard.gateway.served.client_results import heard
from tests.dashboard.gateway.served.conftest import BASES, ConnectionTo, turn_of
from tests.dashboard.gateway.served.gate import Answer, Gate
from tests.dashboard.gateway.served.odd_answers import BROKEN, MEANT, NONE, SSE, STOP, WELL, WELL_WHOLE
from tests.dashboard.gateway.served.raw_provider import DONE, OPEN, RawProvider, Steps, event, head
from tests.dashboard.gateway.served.real_answers import simulated


def asked(gate: Gate, raw: RawProvider, steps: Steps, *, mode: str, stream: bool) -> Answer:
    """What a client gets; its turn is stored, has ended, and verifies."""
    raw.streams["odd"] = raw.bodies["odd"] = steps
    answer = gate.ask(model=mode, stream=stream)
    turn = turn_of(answer)
    assert turn.finished_at is not None
    assert verify(recording_of(turn)).verified
    return answer


def test_a_successful_unusual_answer_is_relayed_as_standard(gate: Gate, raw: RawProvider, subtests: pytest.Subtests):
    for name, steps in [*WELL.items(), *WELL_WHOLE.items()]:
        for stream in (True, False):
            with subtests.test(name, stream=stream):
                assert heard(asked(gate, raw, steps, mode="continue", stream=stream)) == "stop: whole"


def test_an_interrupted_answer_is_relayed_as_far_as_it_arrived(gate: Gate, raw: RawProvider, subtests: pytest.Subtests):
    for name, steps in BROKEN.items():
        for stream in (True, False):
            with subtests.test(name, stream=stream):
                assert heard(asked(gate, raw, steps, mode="continue", stream=stream)) == "length: half"


def test_an_invalid_upstream_answer_is_an_upstream_error(gate: Gate, raw: RawProvider, subtests: pytest.Subtests):
    for name, steps in NONE.items():
        for stream in (True, False):
            with subtests.test(name, stream=stream):
                answer = asked(gate, raw, steps, mode="continue", stream=stream)
                assert heard(answer).startswith("error 50")
                assert answer.status in {502, 503}


def test_an_unusual_format_is_relayed_with_its_meaning(gate: Gate, raw: RawProvider, subtests: pytest.Subtests):
    for name, (steps, meant) in MEANT.items():
        with subtests.test(name):
            assert heard(asked(gate, raw, steps, mode="continue", stream=True)) == meant


def test_an_observed_stream_is_relayed_byte_for_byte(gate: Gate, raw: RawProvider, subtests: pytest.Subtests):
    for name, steps in {**WELL, **{name: steps for name, (steps, _) in MEANT.items()}}.items():
        with subtests.test(name):
            answer = asked(gate, raw, steps, mode="observe", stream=True)
            assert answer.status == 200
            head, *bodies = b"".join(step for step in steps if isinstance(step, bytes)).split(b"\r\n\r\n")
            if len(bodies) == 1 and b"-Encoding:" not in head:
                assert b"".join(re.split(rb": whystop .*\n\n", answer.body)) == bodies[0]


def test_an_observed_stream_that_breaks_off_ends_in_its_error(gate: Gate, raw: RawProvider, subtests: pytest.Subtests):
    for name, steps in BROKEN.items():
        with subtests.test(name):
            answer = asked(gate, raw, steps, mode="observe", stream=True)
            words = heard(answer, ours=False)
            assert words.startswith("half, then error ")
            errors = [chunk for chunk in answer.chunks if chunk.get("error")]
            assert len(errors) == 1
            assert "[DONE]" not in answer.events[:-1]


def test_an_invalid_observed_answer_is_never_a_500(gate: Gate, raw: RawProvider, subtests: pytest.Subtests):
    for name, steps in [*NONE.items(), *BROKEN.items(), *WELL_WHOLE.items()]:
        for stream in (True, False):
            with subtests.test(name, stream=stream):
                assert asked(gate, raw, steps, mode="observe", stream=stream).status in {200, 502, 503}


def test_a_huge_chunk_passes_and_text_beyond_the_cap_of_a_turn_is_cut(gate: Gate, raw: RawProvider):
    huge = "x" * 3_000_000
    steps = [SSE + event({"content": huge}) + STOP + DONE]
    assert asked(gate, raw, steps, mode="observe", stream=True).text == huge
    answer = asked(gate, raw, steps, mode="continue", stream=True)
    assert (len(answer.text), answer.finish_reasons) == (120_000, ["length"])


#: The dialects whose streams have a closing event; Gemini's end with their connection.
CLOSING = sorted(PROVIDERS.keys() - {"gemini"})


@pytest.mark.parametrize("dialect", CLOSING)
def test_an_answer_ends_with_its_closing_event_even_if_the_connection_stays_open(
    gate: Gate,
    raw: RawProvider,
    connected: ConnectionTo,
    simulator_url: str,
    monkeypatch: pytest.MonkeyPatch,
    dialect: str,
):
    monkeypatch.setattr(body_reader, "AFTER_ITS_END", 0.05)
    connected(dialect, base_url=raw.url + BASES[dialect], name="open")
    said, _ = simulated(dialect, simulator_url.removesuffix("/v1") + BASES[dialect], stream=True)
    raw.always = [head(said.content_type), said.body, OPEN]
    for stream in (True, False):
        answer = gate.ask(model="open/m", max_tokens=60, stream=stream)
        assert heard(answer).startswith("length: ")
        assert turn_of(answer).model_stop_reason == "max_tokens"
