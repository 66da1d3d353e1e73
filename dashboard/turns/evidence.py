"""What a stored history says, compared with what else is stored of it: the provider's bytes and the attempts' rows.

A replay proves that the decisions follow from the events. This proves that the events follow from the bytes: each
answer is decoded again and compared, field by field, with the event that carries it and with the attempt that shows it.
A fault is a sentence, with the record it is about.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

from agentcore import serial
from agentcore.errors import DecodeError
from agentcore.events import CancelRequested, Event, Interrupted, ModelFailed, ModelResponded, Setup
from agentcore.messages import ChatResponse, Message
from agentcore.providers import PROVIDERS, get_provider
from agentcore.reasons import NormalizedStopReason
from agentcore.replay import Record
from dashboard.platform.fields import storable_text
from dashboard.turns.models import Attempt

#: Of an answer, what its bytes must give again. What versions of a codec may word otherwise is not among it.
ANSWER = ("text", "tool_calls", "broken_tool_calls", "usage", "raw_stop_reason", "stop_reason", "refusal")
SHOWN = "shown"
#: What else they give by the codec of the version that read them; an error is compared with the attempt's.
REST = (*(field.name for field in fields(ChatResponse) if field.name not in {*ANSWER, "answered_by", "error"}), SHOWN)
#: What an attempt's row has where nothing was answered.
NOTHING: Mapping[str, Any] = {"stop_reason": None, "raw_stop_reason": None, "usage": None, "text": "", "tool_calls": []}
#: Of an error answer, what its bytes must give again; what its headers said is not all stored.
ERROR = ("kind", "message")
NAMES: Mapping[str, str] = {
    "text": "text",
    "tool_calls": "tool calls",
    "broken_tool_calls": "broken tool calls",
    "usage": "token usage",
    "raw_stop_reason": "raw stop reason",
    "stop_reason": "stop reason",
    "refusal": "refusal",
    "reasoning_content": "reasoning",
    "kind": "error kind",
    "message": "error message",
    "error": "error",
    SHOWN: "text shown while it came",
}

OTHERWISE = (
    "This version reads the provider's bytes of attempt {index} differently from the version that recorded them "
    "({names}), so these values cannot be compared."
)

#: What ends a call.
ENDS = ModelResponded | ModelFailed | Interrupted | CancelRequested
#: Characters of a turn's input that no writer of turns cuts off; a longer one may be the beginning of what was asked.
WHOLE_INPUT = 50_000


@dataclass(frozen=True, slots=True)
class Fault:
    """What does not agree, in a sentence. `seq`: of the record it is about."""

    seq: int
    words: str


class StoredAnswer(NamedTuple):
    """What is stored of an answer as it came: all its bytes, and the text that was shown meanwhile."""

    raw: bytes = b""
    shown: str = ""


@dataclass(frozen=True, slots=True)
class EndedCall:
    """A call that has ended: the record that ended it, and the attempt's row."""

    record: Record
    attempt: Attempt


def faults_of(
    records: Iterable[Record],
    attempts: Iterable[Attempt],
    raws: Mapping[int, StoredAnswer],
    ours: Collection[int] = (),
) -> Iterator[Fault]:
    """Every stored answer that differs from its bytes or its row, or has none. `raws`: the bytes that are stored, by
    attempt; `ours`: the records that this version of the core wrote, whose answers are compared whole."""
    records, attempts = list(records), list(attempts)
    yield from _left_out(records, attempts)
    ended = set[int]()
    for answered in _answered(records, attempts):
        ended.add(answered.attempt.index)
        yield from _row_faults(answered)
        kept = raws.get(answered.attempt.index, StoredAnswer())
        if kept.raw and answered.attempt.provider in PROVIDERS:
            yield from _byte_faults(answered, kept, whole=answered.record.seq in ours)
    for attempt in attempts:
        if attempt.index not in ended and (attempt.error is not None or _differing_columns(attempt, NOTHING)):
            yield Fault(len(records), f"Attempt {attempt.index} has an answer, but no record of it exists.")


def other_beginning(provider: str, input_text: str, setup: Setup, messages: Iterable[Message]) -> str:
    """Which of the two is not the one that a turn began with; empty where both are."""
    if provider != setup.provider:
        return "provider"
    texts = [storable_text(message.text) for message in messages]
    cut = len(input_text) > WHOLE_INPUT and any(text.startswith(input_text) for text in texts)
    return "" if cut or input_text in texts else "input"


def unproven(records: Iterable[Record], attempts: Iterable[Attempt], raws: Mapping[int, StoredAnswer]) -> list[int]:
    """The attempts whose answer cannot be compared, because no bytes of it are stored or nobody here can read them."""
    return [
        answered.attempt.index
        for answered in _answered(records, attempts)
        if not answered.attempt.answered_by
        and not (raws.get(answered.attempt.index, StoredAnswer()).raw and answered.attempt.provider in PROVIDERS)
        and (_response(answered.record.event) is not None or _told_without_bytes(answered))
    ]


def _told_without_bytes(answered: EndedCall) -> bool:
    """Whether an error answer says more than one without a body does."""
    event, row = answered.record.event, answered.attempt
    if _may_answer(row) or not isinstance(event, ModelFailed):
        return False
    return row.provider not in PROVIDERS or bool(_differing_error(event, row, b""))


def otherwise(
    records: Iterable[Record], attempts: Iterable[Attempt], raws: Mapping[int, StoredAnswer], ours: Collection[int]
) -> Iterator[str]:
    """What of an answer may be as another version of the codec read it, or was invented, each in a sentence."""
    for answered in _answered(records, attempts):
        kept, row = raws.get(answered.attempt.index, StoredAnswer()), answered.attempt
        is_read = kept.raw and row.provider in PROVIDERS and not row.answered_by and _may_answer(row)
        if (
            is_read
            and answered.record.seq not in ours
            and (names := _differing_answer(answered.record.event, row, kept, REST))
        ):
            yield OTHERWISE.format(index=row.index, names=", ".join(NAMES.get(name, name) for name in names))


def _may_answer(attempt: Attempt) -> bool:
    return attempt.status_code is None or 200 <= attempt.status_code < 300


def _answered(records: Iterable[Record], attempts: Iterable[Attempt]) -> Iterator[EndedCall]:
    rows = {attempt.index: attempt for attempt in attempts}
    for record, calling in _calls_ended(records):
        if calling in rows:
            yield EndedCall(record, rows[calling])


def _calls_ended(records: Iterable[Record]) -> Iterator[tuple[Record, int]]:
    """The records that end a call, with the number of its attempt."""
    calling: int | None = None
    for record in records:
        if calling is not None and isinstance(record.event, ENDS):
            yield record, calling
        calling = record.command.get("attempt") if record.command.get("type") == "call_model" else None


def _left_out(records: Iterable[Record], attempts: Iterable[Attempt]) -> Iterator[Fault]:
    """Answers without an attempt: whoever leaves one out has left out the bytes that it is compared with."""
    stored = {attempt.index for attempt in attempts}
    for record, calling in _calls_ended(records):
        if calling not in stored and _response(record.event) is not None:
            yield Fault(record.seq, f"Attempt {calling}, whose answer is recorded, is not stored.")


def _response(event: Event) -> ChatResponse | None:
    match event:
        case ModelResponded(response=response):
            return response
        case ModelFailed(partial=partial) | Interrupted(partial=partial) | CancelRequested(partial=partial):
            return partial
    return None


def _row_faults(answered: EndedCall) -> Iterator[Fault]:
    """The attempt's row shows what its event says."""
    event, row = answered.record.event, answered.attempt
    response = _response(event)
    said_of = dict(NOTHING) if response is None else answer_columns(response)
    if isinstance(event, ModelFailed):
        said_of["error"] = serial.to_json(event.error)
    elif isinstance(event, ModelResponded):
        said_of["error"] = None if event.response.error is None else serial.to_json(event.response.error)
    if response is not None and row.answered_by != response.answered_by:
        words = f"Attempt {row.index} and its record differ on who injected the response."
        yield Fault(answered.record.seq, words)
    for name in _differing_columns(row, said_of):
        yield Fault(answered.record.seq, f"The {NAMES[name]} of attempt {row.index} differs from its record.")
    if not _may_have(event, row.status_code):
        words = f"Attempt {row.index} has status {row.status_code}, which does not match its answer."
        yield Fault(answered.record.seq, words)


def _differing_columns(row: Attempt, said_of: Mapping[str, Any]) -> list[str]:
    return [name for name, said in said_of.items() if getattr(row, name) != said]


def _may_have(event: Event, status: int | None) -> bool:
    """Whether a call that ended so came with this status. A call may end before there is one, and after."""
    match event:
        case ModelResponded():
            return status is None or 200 <= status < 300
        case ModelFailed(error=error) if error.status is not None:
            return status == error.status
        case ModelFailed():
            return status is None or 200 <= status < 300
    return True


def answer_columns(response: ChatResponse) -> dict[str, Any]:
    """What an answer says of its attempt."""
    calls = (*response.tool_calls, *response.broken_tool_calls)
    raw = response.raw_stop_reason
    return {
        "stop_reason": response.stop_reason.value,
        "raw_stop_reason": None if raw is None else storable_text(raw),
        "usage": None if response.usage is None else serial.to_json(response.usage),
        "text": storable_text(response.text),
        "tool_calls": [serial.to_json(call) for call in calls],
    }


def _byte_faults(answered: EndedCall, kept: StoredAnswer, *, whole: bool) -> Iterator[Fault]:
    """The event says what the bytes say."""
    event, attempt = answered.record.event, answered.attempt
    if attempt.answered_by:
        return
    if _may_answer(attempt):
        differing = _differing_answer(event, attempt, kept, (*ANSWER, *REST) if whole else ANSWER)
    else:
        differing = [*_differing_error(event, attempt, kept.raw), *([SHOWN] if whole and kept.shown else [])]
    if differing:
        names = ", ".join(NAMES.get(name, name) for name in differing)
        words = f"The provider's bytes of attempt {attempt.index} do not give the recorded answer: {names}."
        yield Fault(answered.record.seq, words)


def _differing_error(event: Event, attempt: Attempt, raw: bytes) -> list[str]:
    if isinstance(event, ModelResponded):
        return ["an answer where the provider sent an error"]
    if not isinstance(event, ModelFailed) or event.error.kind in {"redirect", "timeout", "connection"}:
        return []
    headers = attempt.response_headers or {}
    found = get_provider(attempt.provider).decode_error(attempt.status_code or 0, headers, raw)
    return [name for name in ERROR if getattr(found, name) != getattr(event.error, name)]


def _differing_answer(event: Event, attempt: Attempt, kept: StoredAnswer, names: Iterable[str]) -> list[str]:
    said = _response(event)
    try:
        decoder = get_provider(attempt.provider).stream_decoder(max_tokens=attempt.max_tokens)
        shown = storable_text("".join(delta.text for delta in decoder.feed(kept.raw)))
        found = decoder.close()
    except DecodeError:
        return [] if said is None else ["an answer where the bytes are none of this provider"]
    if said is None:
        unread = isinstance(event, ModelFailed) and event.error.kind == "not_dialect"
        return ["no answer where the bytes hold one"] if unread else []
    # Who imports an answer has its bytes: nothing was shown while they came, or the text is kept as a whole.
    differs = {SHOWN: kept.shown not in {"", shown, storable_text(said.text)}}
    return [name for name in names if (differs[name] if name in differs else not _same(name, said, found))]


def _same(name: str, said: ChatResponse, found: ChatResponse) -> bool:
    one, other = getattr(said, name), getattr(found, name)
    if name == "stop_reason" and one is NormalizedStopReason.CONTEXT_WINDOW_EXCEEDED:
        # A full window is told from the connection's size, which is not in the bytes (`beside_window`).
        return other in {one, NormalizedStopReason.MAX_TOKENS}
    if name == "usage" and one is not None and other is not None and one.no_reasoning is None:
        return bool(one == replace(other, no_reasoning=None))  # recorded before the codecs read that
    return bool(one == other)
