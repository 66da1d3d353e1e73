"""`manage.py bench core`: the core's rates, each beside a bound in plain Python, and what importing it takes."""

import json
from collections.abc import Iterator
from functools import partial

from agentcore.events import Event, ModelResponded, Setup, Started
from agentcore.machine.advance import advance
from agentcore.messages import ChatResponse, Message, Role, TokenUsage
from agentcore.policy import Policy
from agentcore.providers import get_provider
from agentcore.reasons import NormalizedStopReason
from agentcore.replay import Record, Recording, recording_from_json, recording_to_json, verify, what_if
from agentcore.snapshot import Snapshot
from agentcore.states import TRANSITIONS, State
from dashboard.bench.measurements import Rate, interpreter, rate

_WORDS = "The quick brown fox jumps over the lazy dog while the agent waits for its tokens to run dry. "
_CHUNKS = 400
AIM = 5000  #: what-ifs a second of turns of three attempts, where one end suffices


def rows() -> Iterator[str]:
    """Each figure as a line, with the bound it is compared to."""
    lookups = rate("dict look-ups", "look-ups/s", _look_up)
    recording = _recording(repeats=True)
    yield lookups.line()
    yield rate("transitions", "transitions/s", lambda: _advance(recording)).line(lookups)
    stream = _stream()
    loads = rate("split lines and json.loads", "bytes/s", lambda: _loads(stream))
    yield loads.line()
    yield rate("stream decoding (openai)", "bytes/s", lambda: _decode(stream)).line(loads)
    yield rate("verify", "turns/s", lambda: _verify(recording)).line()
    stored = json.dumps(recording_to_json(_recording()))
    yield rate("recording read from JSON", "turns/s", lambda: _read(stored)).line()
    yield rate("the same, and what-if asked first", "turns/s", lambda: _read_and_asked(stored)).line()
    yield from _all_what_ifs(recording, lookups)
    start = interpreter("interpreter start", "pass")
    yield start.line()
    yield interpreter("import agentcore", "import agentcore").line(start)


def _all_what_ifs(repeating: Recording, lookups: Rate) -> Iterator[str]:
    """Where one end of what is assumed suffices, in look-ups too, for those depend less on the machine; and beside it
    what two ends cost: three calls, or four."""
    yield f"The aim of {AIM:,} turns/s is about “what-if, asked first”: totals only, of a recording in memory."
    one, two = Policy(max_tokens=400), Policy(max_tokens=40)
    freely = list(_what_ifs("what-if", _recording(), one))
    yield from (rate.line(lookups) for rate in freely)
    bound = list(_what_ifs("what-if, limits bind", _recording(prefill=True), two))
    yield from (rate.line(lookups) for rate in bound)
    for what, policy, beside in (("what-if, two ends", one, freely), ("what-if, two ends, limits bind", two, bound)):
        twice = _what_ifs(what, repeating, policy)
        yield from (rate.line(other) for rate, other in zip(twice, beside, strict=True))


def _what_ifs(what: str, recording: Recording, policy: Policy) -> Iterator[Rate]:
    """With a trace; totals only, of a recording never asked before; and once more of one that was."""
    yield rate(f"{what}, traced", "turns/s", partial(_what_if_first, recording, policy, trace=True))
    yield rate(f"{what}, asked first", "turns/s", partial(_what_if_first, recording, policy, trace=False))
    yield rate(f"{what}, asked again", "turns/s", partial(_what_if, recording, policy, trace=False))


def _look_up() -> float:
    table = TRANSITIONS
    for _ in range(100):
        for state in State:
            table.get(state)
    return 100.0 * len(State)


def _events(*, prefill: bool, repeats: bool) -> list[Event]:
    """A turn of three attempts: cut, cut, whole. `prefill`: the connection really continues an assistant message, so
    that a smaller limit needs no assumption with two ends. `repeats`: a continuation begins with words that may be a
    repeat, which makes two ends of a larger limit too."""
    usage = TokenUsage(20, 60)
    cut = ChatResponse(_WORDS * 3, usage=usage, stop_reason=NormalizedStopReason.MAX_TOKENS, raw_stop_reason="length")
    last = ChatResponse(
        "And so it ends, as all of it did before. " * 6,
        usage=usage,
        stop_reason=NormalizedStopReason.END_TURN,
        raw_stop_reason="stop",
    )
    setup = Setup("turn", "openai", "model", 60, extra={"prefill": True} if prefill else {})
    started = Started(0.0, setup, (Message(Role.USER, "Why do agents stop?"),))
    more = ChatResponse(
        (_WORDS[-40:] if repeats else "") + "Then it went on with other words. " * 6,
        usage=usage,
        stop_reason=NormalizedStopReason.MAX_TOKENS,
        raw_stop_reason="length",
    )
    return [started, ModelResponded(1.0, cut), ModelResponded(2.0, more), ModelResponded(3.0, last)]


def _recording(*, prefill: bool = False, repeats: bool = False) -> Recording:
    policy, snapshot, records = Policy(), Snapshot(), []
    for seq, event in enumerate(_events(prefill=prefill, repeats=repeats), start=1):
        step = advance(snapshot, event, policy)
        records.append(Record.of(seq, event, step))
        snapshot = step.snapshot
    return Recording(policy, Snapshot(), tuple(records))


def _advance(recording: Recording) -> float:
    snapshot, transitions = recording.base_snapshot, 0
    for record in recording.records:
        step = advance(snapshot, record.event, recording.policy)
        snapshot, transitions = step.snapshot, transitions + len(step.transitions)
    return float(transitions)


def _verify(recording: Recording) -> float:
    assert verify(recording).verified, "the benchmark's own recording verifies"
    return 1.0


def _read(stored: str) -> float:
    assert recording_from_json(json.loads(stored)).records, "the benchmark's own recording is read"
    return 1.0


def _read_and_asked(stored: str) -> float:
    return _what_if(recording_from_json(json.loads(stored)), Policy(max_tokens=400), trace=False)


def _what_if_first(recording: Recording, policy: Policy, *, trace: bool) -> float:
    fresh = Recording(recording.policy, recording.base_snapshot, recording.records)
    return _what_if(fresh, policy, trace=trace)


def _what_if(recording: Recording, policy: Policy, *, trace: bool) -> float:
    imagined = what_if(recording, policy, trace=trace)
    assert imagined.endings or not imagined.undecidable, "the benchmark's own recording is closed"
    return 1.0


def _stream() -> bytes:
    """An answer of the OpenAI wire, a chunk for every few characters."""
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "model"}
    deltas = [{"content": _WORDS[i % 80 : i % 80 + 8]} for i in range(_CHUNKS)]
    chunks = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"


def _loads(stream: bytes) -> float:
    for line in stream.split(b"\n\n"):
        if line.startswith(b"data: {"):
            json.loads(line[6:])
    return float(len(stream))


def _decode(stream: bytes) -> float:
    decoder = get_provider("openai").stream_decoder()
    for start in range(0, len(stream), 4096):
        decoder.feed(stream[start : start + 4096])
    decoder.close()
    return float(len(stream))
