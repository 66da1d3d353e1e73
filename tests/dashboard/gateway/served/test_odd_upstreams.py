"""Answers of upstreams that are broken in every way: never a 500, a reason that nobody gave, or a lost turn."""

import gzip
import json
import random

import pytest

from agentcore import verify
from dashboard.turns.history import recording_of
from tests.dashboard.gateway.served.conftest import turn_of
from tests.dashboard.gateway.served.upstream import DONE, Reply, chunk, said, whole

WORDS = ("Agents ", "stop for ", "reasons, and “most” ", "of them — 👩‍👩‍👧 — are dull.")
REASONS = {"stop", "length", "content_filter", "tool_calls"}


def mangled(data: bytes, dice: random.Random) -> bytes:
    """Some bytes taken out, doubled, changed or cut off."""
    for _ in range(dice.randint(1, 3)):
        at = dice.randrange(len(data))
        span = dice.randint(1, 40)
        match dice.randrange(5):
            case 0:
                data = data[:at] + data[at + span :]
            case 1:
                data = data[:at] + data[at : at + span] + data[at:]
            case 2:
                data = data[:at] + bytes([dice.randrange(256)]) + data[at + 1 :]
            case 3:
                data = data[:at] + dice.choice([b"\n\n", b"\r", b"data: ", b"\x00", b"[DONE]", b"}"]) + data[at:]
            case _:
                data = data[: max(1, at)]
    return data or b"x"


def judged(answer, case):
    """What must hold of any answer."""
    assert answer.status in (200, 400, 502), case
    if answer.status != 200:
        assert answer.json["error"]["message"], case
        return
    turn = turn_of(answer)
    assert verify(recording_of(turn)).verified, case
    assert turn.status in ("completed", "partial", "aborted", "failed"), case


@pytest.mark.parametrize("seed", range(3))
def test_mangled_answers(gate, upstream, continued, watched, seed):
    dice = random.Random(seed)
    for number in range(14):
        stream = bool(number % 2)
        data = mangled(b"".join(said(*WORDS)) if stream else whole("".join(WORDS)), dice)
        cuts = sorted(dice.randrange(len(data) + 1) for _ in range(3))
        pieces = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
        kind = "text/event-stream" if stream else "application/json"
        for model in ("continued", "watched"):
            upstream.says(Reply(pieces, content_type=kind, breaks=bool(dice.randrange(2))))
            answer = gate.ask(model=model, stream=stream)
            judged(answer, (seed, number, model, data))
            if model == "continued" and answer.status == 200:
                told = answer.finish_reasons if stream else [answer.choice["finish_reason"]]
                assert len(told) == 1
                assert set(told) <= REASONS
                if told == ["stop"]:
                    assert turn_of(answer).status in ("completed", "partial")


def test_odd_ways_of_sending_a_good_answer(gate, upstream, continued):
    text = "".join(WORDS)
    stream = said(*WORDS)
    data = b"".join(stream)
    good = {
        "no closing event": stream[:-1],
        "each byte by itself": [bytes([byte]) for byte in data],
        "all at once": [data],
        "comments in between": [piece for event in stream for piece in (b": hm\n\n", event)],
        "other line ends": [data.replace(b"\n", b"\r\n")],
        "something after the end": [*stream, b'data: {"choices": []}\n\n'],
        "the reason twice": [*stream[:-1], chunk({}, "stop"), DONE],
        "empty reasons": [piece.replace(b'"finish_reason": null', b'"finish_reason": ""') for piece in stream],
    }
    for how, pieces in good.items():
        upstream.says(pieces)
        answer = gate.ask(model="continued", stream=True)
        assert (answer.text, answer.finish_reasons) == (text, ["stop"]), how
    upstream.says(Reply(stream, content_type="text/plain"))
    assert gate.ask(model="continued", stream=True).text == text
    for stream_ in (False, True):
        body = gzip.compress(data if stream_ else whole(text))
        kind = "text/event-stream" if stream_ else "application/json"
        upstream.says(Reply([body], content_type=kind, headers={"content-encoding": "gzip"}))
        answer = gate.ask(model="continued", stream=stream_)
        assert (answer.text if stream_ else answer.choice["message"]["content"]) == text


def test_a_stream_that_says_nothing_of_its_end_never_ends_well(gate, upstream, continued):
    upstream.says(said(*WORDS)[:3])
    answer = gate.ask(model="continued", stream=True)
    assert answer.finish_reasons == ["length"]
    upstream.says([b": nothing\n\n"])
    assert gate.ask(model="continued", stream=True).status == 502


def test_huge_pieces_pass_and_an_answer_without_end_is_cut_off(gate, upstream, watched, continued):
    huge = "x" * 3_000_000
    upstream.says(said(huge))
    answer = gate.ask(model="watched", stream=True)
    assert len(answer.text) == len(huge)
    answer = gate.ask(model="continued", stream=True)
    assert (len(answer.text), answer.finish_reasons) == (120_000, ["length"])
    assert json.loads(answer.events[-2])["choices"][0]["finish_reason"] == "length"
